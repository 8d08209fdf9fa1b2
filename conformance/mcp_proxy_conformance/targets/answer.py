"""The answers of an adapter: their form, what is wrong with one, and how one is quoted."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from mcp_proxy_conformance.wire.client import Client
from mcp_proxy_conformance.wire.http import check_header
from mcp_proxy_conformance.wire.transcript import Transcript

QUOTED = 300
SECRET = ("headers", "agents", "env")
"""Members of an answer that hold credentials."""


class Stdio(msgspec.Struct, frozen=True, kw_only=True):
    """A command line that serves the same configuration over stdio."""

    command: tuple[str, ...]
    env: dict[str, str] = {}


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The `ok` of an answer; what is None has not changed."""

    url: str | None = None
    headers: dict[str, str] | None = None
    agents: dict[str, dict[str, str]] | None = None
    stdio: Stdio | None = None
    count: Annotated[int, msgspec.Meta(ge=0)] | None = None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One answer; exactly one of its last four members is there."""

    id: int
    ok: Accepted | None = None
    refused: str | None = None
    unsupported: bool | None = None
    error: str | None = None


def fault_of(told: Accepted) -> str | None:
    """What of a way in cannot be used, as the client itself would find, and how to mend it."""
    if told.url is not None:
        try:
            Client(told.url, transcript=Transcript())  # it connects only when it is first used
            (urlsplit(told.url).hostname or "").encode("idna")
        except ValueError as error:
            return f"the url {_cut(told.url)!r} ({_cut(error)}); give an http one"
    sets = [("headers", told.headers or {})]
    sets += [(f"agents.{name}", headers) for name, headers in (told.agents or {}).items()]
    for place, headers in sets:
        for name, value in headers.items():
            try:
                check_header(name, value)
            except ValueError as error:
                return f"in {_cut(place)} what cannot be sent: {_cut(error)}; take it out"
    return _fault_of_stdio(told.stdio) if told.stdio is not None else None


def _fault_of_stdio(told: Stdio) -> str | None:
    if not told.command or not told.command[0]:
        return "a stdio.command that names no program; name one, or leave stdio out"
    if not all(map(_is_plain, told.command)):
        return "a stdio.command that no program can be started with; take the odd characters out"
    for name, value in told.env.items():
        if not name or "=" in name or not _is_plain(name) or not _is_plain(value):
            return f"in stdio.env the variable {_cut(name)!r}, which no program takes; mend it"
    return None


def _is_plain(word: str) -> bool:
    """Whether the system takes it as an argument."""
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def quoted(line: bytes) -> str:
    """A line for a complaint: not too much of it, and without the credentials of an answer."""
    told = line.decode("utf-8", "replace").rstrip("\r\n")
    try:
        parsed = json.loads(told)
        if isinstance(parsed, dict | list):
            told = json.dumps(_redacted(parsed), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        pass
    return repr(_cut(told))


def _cut(told: object) -> str:
    text = str(told)
    return text if len(text) <= QUOTED else text[:QUOTED] + "…"


def _redacted(value: Any, *, secret: bool = False) -> Any:
    if isinstance(value, dict):
        return {
            name: _redacted(one, secret=secret or name in SECRET) for name, one in value.items()
        }
    if isinstance(value, list):
        return [_redacted(one, secret=secret) for one in value]
    return "(redacted)" if secret and value is not None else value
