"""Script of a fault server: its tools, and one behaviour for each attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from mcp_proxy_conformance.upstream.faults.behaviour import (
    HEALTHY_PATH,
    MISSING_PATH,
    Behaviour,
    Redirect,
    Whole,
)


class BadScript(ValueError):
    """A script cannot be played; one sentence with the server and the repair."""


class ServerScript(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server of a load: its id, tools, and the script of its behaviour.

    Attributes:
        server_id: Its id, any text.
        tools: The names of the tools that it lists when it is healthy.
        page_size: Tools on one page of its listing; None is all on one.
        timeout_s: The timeout in seconds that the loader is given for it.
        script: One behaviour for each attempt; the last one repeats.
        same_origin_as: The id of the server whose port it shares, on a path of its own.
    """

    server_id: str
    tools: tuple[str, ...] = ()
    page_size: Annotated[int, msgspec.Meta(gt=0)] | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=600)] = 1.0
    script: Annotated[tuple[Behaviour, ...], msgspec.Meta(min_length=1)]
    same_origin_as: str | None = None

    @property
    def whole(self) -> Whole | None:
        """The behaviour of whole connections; None if requests are answered."""
        first = self.script[0]
        return first if isinstance(first, Whole) else None

    def of(self, attempt: int) -> Behaviour:
        """Return the behaviour of an attempt, counted from 1 (0 counts as 1).

        The last one repeats.
        """
        return self.script[min(max(attempt, 1), len(self.script)) - 1]


msgspec.convert([], tuple[ServerScript, ...])
# At import, in one thread: msgspec builds its information on a type at first use, and two threads
# that build it at once crash the interpreter.


def read_scripts(documents: Iterable[Mapping[str, Any]]) -> tuple[ServerScript, ...]:
    """Return the servers of one load from plain data, after checking that they can be played.

    Raises:
        BadScript: The place of the defect, and the defect.
    """
    try:
        return checked(msgspec.convert([*documents], tuple[ServerScript, ...]))
    except msgspec.ValidationError as error:
        raise BadScript(str(error)) from None


def checked(scripts: Iterable[ServerScript]) -> tuple[ServerScript, ...]:
    """Return the scripts of one load, in their order, after checking that they fit together.

    Raises:
        BadScript: Two servers with one id, a redirect or shared origin that cannot be, or further
            words beside one that must be alone.
    """
    by_id: dict[str, ServerScript] = {}
    for script in scripts:
        if script.server_id in by_id:
            raise BadScript(f"two servers have the id {script.server_id!r}; rename one")
        by_id[script.server_id] = script
    for script in by_id.values():
        _check(script, by_id)
    return tuple(by_id.values())


def _check(script: ServerScript, by_id: Mapping[str, ServerScript]) -> None:
    """Raise BadScript if a script contradicts itself or the other scripts of its load.

    That is a word that must be alone beside others, a redirect to a server that answers no
    requests, or an origin shared with a server that is unknown, the same one, or on another's port
    itself. Both servers of a shared origin must answer requests.
    """
    name, words = script.server_id, [behaviour.word for behaviour in script.script]
    if len(words) > 1 and any(isinstance(behaviour, Whole) for behaviour in script.script):
        alone = next(each.word for each in script.script if isinstance(each, Whole))
        raise BadScript(f"the script of {name!r} has other behaviours beside {alone}; remove them")
    for step in script.script:
        if isinstance(step, Redirect) and step.to not in (HEALTHY_PATH, MISSING_PATH):
            other = by_id.get(step.to)
            if other is None or other.whole is not None:
                raise BadScript(
                    f"{name!r} redirects to {step.to!r}; name a server that answers over HTTP"
                )
    if script.same_origin_as is None:
        return
    host = by_id.get(script.same_origin_as)
    if host is None or host is script or host.same_origin_as is not None:
        raise BadScript(
            f"{name!r} shares the origin of {script.same_origin_as!r}; name one with its own"
        )
    if host.whole is not None or script.whole is not None:
        raise BadScript(f"{name!r} and {host.server_id!r} share an origin; make both speak HTTP")
