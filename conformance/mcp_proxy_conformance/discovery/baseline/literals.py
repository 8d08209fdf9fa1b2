"""What only this run put into answers, replaced by names: addresses, ports, folders, tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from mcp_proxy_conformance.targets.started import Started

LEAST = 4
"""Characters; a shorter literal may stand anywhere by chance."""


class Literals:
    """The literals of one started target, each with the name that stands for it."""

    def __init__(self, started: Started) -> None:
        """Those known now; a restart or a move may bring others."""
        names = dict(_known(started))
        spelled = names | {told.replace("/", r"\/"): f"{n}, escaped" for told, n in names.items()}
        longest = sorted((one for one in spelled if len(one) >= LEAST), key=len, reverse=True)
        parts = (_alone(one) if one.isdecimal() else re.escape(one) for one in longest)
        self._names = {one.encode(): f"{{{spelled[one]}}}".encode() for one in longest}
        self._any = re.compile("|".join(parts).encode())

    def replaced(self, raw: bytes) -> bytes:
        """The bytes with every literal replaced by its name in braces."""
        return self._any.sub(lambda found: self._names[found[0]], raw)


def _alone(number: str) -> str:
    return rf"(?<![0-9.]){number}(?![0-9.])"


def _known(started: Started) -> Iterator[tuple[str, str]]:
    yield str(started.folder), "folder of the target"
    for place, url in _addresses(started):
        parts = urlsplit(url)
        yield url, f"url of {place}"
        yield f"{parts.scheme}://{parts.netloc}", f"origin of {place}"
        yield parts.netloc, f"address of {place}"
        if parts.port is not None:
            yield str(parts.port), f"port of {place}"
    for agent, headers in started.access.agents.items():
        for value in headers.values():
            yield value, f"credential of {agent}"
            yield value.rpartition(" ")[2], f"token of {agent}"
    for value in started.access.headers.values():
        yield value, "credential"


def _addresses(started: Started) -> Iterator[tuple[str, str]]:
    yield "the target", started.access.url
    for name, server in started.servers.items():
        if server.url:
            yield name, server.url
