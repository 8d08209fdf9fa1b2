"""Script of a fault server: its tools, and one behaviour for each attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import msgspec

from mcp_proxy_conformance.upstream.dialect import PLAIN, Dialect
from mcp_proxy_conformance.upstream.faults import behaviour as do
from mcp_proxy_conformance.upstream.faults.behaviour import Behaviour, FieldValue, Whole
from mcp_proxy_conformance.upstream.tools import Cursors

_OVER_STDIO = (
    do.Healthy, do.Stream, do.Slow, do.Silence, do.Chatter, do.Reset, do.Close, do.CutJson, do.Html,
    do.BrokenJson, do.Empty, do.JsonrpcError, do.OtherResult, do.MalformedConnection,
    do.StdioMissing, do.StdioExits, do.StdioGarbage, do.Exits,
)  # fmt: skip
_WELL = (do.Healthy, do.Stream, do.Slow, do.SetCookie, do.HandSession)


class BadScript(ValueError):
    """A script cannot be played; one sentence with the server and the repair."""


class ServerScript(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server of a load: its id, tools, and the script of its behaviour.

    Attributes:
        server_id: Its id, any text.
        tools: The names of the tools that it lists when it is healthy.
        gone: Those that it lists before them in an attempt that is not healthy or, if all are,
            until it is healed.
        page_size: Tools on one page of its listing; None is all on one.
        timeout_s: The timeout in seconds that the loader is given for it.
        script: One behaviour for each attempt; the last one repeats.
        same_origin_as: The id of the server whose port it shares, on a path of its own.
        same_url_as: The id of the server whose URL it shares; requests with its `authorization`
            are its own, all others are that server's.
        authorization: What the loader is given for it, in that header.
        header: The name of that header.
        transport: Whether it has a URL or a command, which speaks lines.
        dialect: How it puts its right answers on the wire.
        cursors: How the pages of its list are made.
        program: Over stdio, whether it writes much to standard error, needs what it was given, or
            ends only by force.
        guarded: Whether each request without its `authorization` gets a 401.
        path: A segment of its URL's path, percent-encoded; `slash`: whether that path ends in one.
        query: The query of its URL. Requests with another path or query than its URL's get a 404.
        odd_schemas: Whether the schema of its last tool has all that JSON Schema allows.
    """

    server_id: str
    tools: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    page_size: Annotated[int, msgspec.Meta(gt=0)] | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    script: Annotated[tuple[Behaviour, ...], msgspec.Meta(min_length=1)]
    same_origin_as: str | None = None
    same_url_as: str | None = None
    authorization: FieldValue | None = None
    header: str = "Authorization"
    transport: Literal["http", "stdio"] = "http"
    dialect: Dialect = PLAIN
    odd_schemas: bool = False
    cursors: Cursors = "plain"
    program: Literal["quiet", "chatty", "particular", "stubborn", "wrapped"] = "quiet"
    guarded: bool = False
    path: str | None = None
    slash: bool = False
    query: str | None = None

    @property
    def host(self) -> str:
        """The id of the server whose port it has: its own, unless it shares another's."""
        return self.same_origin_as or self.same_url_as or self.server_id

    @property
    def refuses(self) -> bool:
        """Whether its port stops listening in some attempt."""
        return any(isinstance(step, do.Refuses) for step in self.script)

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
    """Raise BadScript if a script contradicts itself or the other scripts of its load."""
    name, words = script.server_id, [behaviour.word for behaviour in script.script]
    if len(words) > 1 and any(isinstance(behaviour, Whole) for behaviour in script.script):
        alone = next(each.word for each in script.script if isinstance(each, Whole))
        raise BadScript(f"the script of {name!r} has other behaviours beside {alone}; remove them")
    for before, step in zip((do.Healthy(), *script.script), script.script, strict=False):
        if script.transport == "stdio" and not isinstance(step, _OVER_STDIO):
            raise BadScript(f"{name!r} is a command, for which {step.word} has no meaning")
        if isinstance(step, do.Refuses) and isinstance(before, _WELL):
            raise BadScript(f"{name!r} refuses after no failure; put a failing behaviour before")
        if isinstance(step, do.Redirect) and step.to not in do.OWN_PATHS:
            other = by_id.get(step.to)
            if other is None or not _has_url(other):
                raise BadScript(
                    f"{name!r} redirects to {step.to!r}; name a server that answers over HTTP"
                )
    if script.same_origin_as is None and script.same_url_as is None:
        return
    place, host = "origin" if script.same_url_as is None else "URL", by_id.get(script.host)
    if host is None or host is script or host.host != host.server_id:
        raise BadScript(f"{name!r} shares the {place} of {script.host!r}; name one with its own")
    if not (_has_url(host) and _has_url(script)):
        raise BadScript(f"{name!r} and {host.server_id!r} share an {place}; make both speak HTTP")
    if place == "URL" and script.authorization in (None, host.authorization):
        raise BadScript(f"{name!r} has the URL of {host.server_id!r}; give it an authorization")


def _has_url(script: ServerScript) -> bool:
    return script.whole is None and script.transport == "http"
