"""Loader mutants of tools: too many, too few, another server's; failed servers pass as loaded."""

from collections.abc import Callable

from mcp_proxy_mutants.resilience.changed import Edit
from mcp_proxy_mutants.resilience.mutant import Fresh, LoadMutant, load_mutant
from mcp_proxy_mutants.resilience.pieces import (
    Attempt,
    Ear,
    OutcomeEntry,
    each,
    is_in,
    not_available,
    when,
    wrapping,
)
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import MEANING, Connect, Connection, Json, Session, Signal

OPEN = ("http_4xx", "http_429", "redirect", "malformed", "rpc_error", "command")
"""Kinds of signals that the mapping does not name."""
UNUSED = Connection(server_id="unused", url="http://127.0.0.1:9/")
"""The connection of a session that stands for one that could not be opened."""


def _with_tools(change: Callable[[list[str]], list[str]]) -> Edit:
    """Return a hook `edit` that passes the tool names of each outcome through `change`."""
    return each(lambda outcome: outcome | {"tools": change(outcome["tools"])})


def _everywhere(answer: Json, request: Json) -> Json:
    """Return the answer; each available server has the tools of all servers."""
    del request
    all_tools = [tool for outcome in answer["outcomes"] for tool in outcome["tools"]]
    return when(is_in("available"), tools=all_tools)(answer, {})


def _moved_on(answer: Json, request: Json) -> Json:
    """Return the answer; each available server has the tools of the next available one.

    The last has the first's; failed servers have none.
    """
    del request
    well = [outcome for outcome in answer["outcomes"] if outcome["status"] == "available"]
    tools = [outcome["tools"] for outcome in well]
    moved = dict(
        zip([outcome["server_id"] for outcome in well], [*tools[1:], *tools[:1]], strict=True)
    )
    return each(lambda outcome: outcome | {"tools": moved.get(outcome["server_id"], [])})(
        answer, {}
    )


def _to_the_denied(answer: Json, request: Json) -> Json:
    """Return the answer; denied servers have the first tool of the load, if there is any."""
    del request
    some = [tool for outcome in answer["outcomes"] for tool in outcome["tools"]][:1]
    return when(is_in("denied"), tools=some)(answer, {})


def _invented(outcome: OutcomeEntry) -> OutcomeEntry:
    """Return the outcome; a failed server has a tool named after its id."""
    return (
        outcome | {"tools": [f"{outcome['server_id']}_tool"]} if not_available(outcome) else outcome
    )


def _status_tool(outcome: OutcomeEntry) -> OutcomeEntry:
    """Return the outcome; one that is not available has only the tool `why_unavailable`."""
    return outcome | {"tools": ["why_unavailable"]} if not_available(outcome) else outcome


def _capped(most: int) -> Edit:
    """Return a hook `edit` that keeps the first `most` tools of each server in the answer."""
    return _with_tools(lambda tools: tools[:most])


async def _available_after_failure(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Attempt; after a 5xx or cut, return no tools and the session, as for an available server.

    Another failure, and one to connect, is raised as usual.
    """
    session = await connect(connection)
    try:
        return await std.handshake(session), session
    except Signal as signal:
        if signal.kind not in ("http_5xx", "reset"):
            await session.close()
            raise
        return [], session


async def _opened(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt; a server whose list fails after the handshake is available without tools.

    A failure of the handshake is raised as usual.
    """
    session = await connect(connection)
    hello = {"protocolVersion": std.REVISION, "capabilities": {}, "clientInfo": {"name": "ref"}}
    try:
        await session.request("initialize", hello)
        await session.notify("notifications/initialized")
    except Signal:
        await session.close()
        raise
    try:
        return await std.list_tools(session), session
    except Signal:
        return [], session


def _available_after(*kinds: str) -> Attempt:
    """Return a hook `attempt`: signals of `kinds` make the server available without tools.

    Its session is the opened one, or one that leads nowhere if none could be opened.
    """

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        opened: list[Session] = []

        async def connected(to: Connection) -> Session:
            opened.append(await connect(to))
            return opened[0]

        try:
            return await std.attempt(connection, connected)
        except Signal as signal:
            if signal.kind not in kinds:
                raise
            return [], opened[0] if opened else await connect(UNUSED)

    return attempt


def _unexplained(outcome: OutcomeEntry) -> OutcomeEntry:
    """Return the outcome; a failure that the source's mapping does not name becomes available.

    It is known by its error text.
    """
    unnamed = outcome["error"] in {MEANING[kind][1] for kind in OPEN}
    return outcome | {"status": "available", "error": None} if unnamed else outcome


class _Pages(Ear):
    """A session whose failing later pages are empty, if `ends` accepts the signal."""

    def __init__(self, session: Session, ends: Callable[[Signal], bool]) -> None:
        """Wrap a session; `ends` says whether a signal at a later page counts as an empty page."""
        super().__init__(session)
        self._ends = ends

    async def request(self, method: str, params: Json) -> Json:
        """Return the result; a later page of tools whose signal `ends` accepts is empty.

        Other failures are raised.
        """
        try:
            return await super().request(method, params)
        except Signal as signal:
            if method != "tools/list" or not params or not self._ends(signal):
                raise
            return {"tools": []}


def _paged(ends: Callable[[Signal], bool]) -> Attempt:
    """Return a hook `attempt`: a later page whose signal `ends` accepts ends the list of tools."""
    return wrapping(lambda session: _Pages(session, ends))


def _first_pages() -> Attempt:
    """Return a hook `attempt`: if an attempt fails, the pages of the one before are the tools.

    Without such pages it fails as usual. Pages are kept by id and URL of the server.
    """
    pages: dict[str, list[Json]] = {}

    async def attempt(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
        key = f"{connection.server_id} {connection.url}"
        session = await connect(connection)

        class Keeps(Ear):
            """A session that keeps the pages of tools."""

            async def request(self, method: str, params: Json) -> Json:
                result = await super().request(method, params)
                if method == "tools/list":
                    pages.setdefault(key, []).extend(result.get("tools", []))
                return result

        async def connected(_: Connection) -> Session:
            return Keeps(session)

        before = pages.pop(key, [])
        try:
            return await std.attempt(connection, connected)
        except Signal:
            if not before:
                raise
            return before, await connect(connection)

    return attempt


class _FirstPageOnly(Ear):
    """A session that treats a list of several pages as malformed."""

    async def request(self, method: str, params: Json) -> Json:
        """Return the result of the request; raise `malformed` if there is a further page."""
        result = await super().request(method, params)
        if "nextCursor" in result:
            raise Signal("malformed")
        return result


async def _no_tools(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt as usual, but return an empty list of tools, with the session."""
    _, session = await std.attempt(connection, connect)
    return [], session


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("tools-invented", "A failed server has a tool named after its id.",
                "O3.no-tools", edit=each(_invented)),
    load_mutant("tools-that-explain", "A failed server has a tool whose name explains the failure.",
                "O3.no-tools", "S2.no-tools", edit=each(_status_tool)),
    load_mutant("denied-has-tools", "A denied server has a tool of another server.",
                "O3.no-tools", "S2.no-tools", edit=_to_the_denied),
    load_mutant("transient-has-tools", "A transient server keeps a tool.",
                "S2.no-tools", "O3.no-tools", edit=when(is_in("transient"), tools=["add"])),
    load_mutant("first-tool-only", "Only the first tool is loaded.",
                "O3.loaded", edit=_capped(1)),
    load_mutant("two-tools-at-most", "Only two tools are loaded.",
                "O3.loaded", edit=_capped(2)),
    load_mutant("last-tool-lost", "The last of several tools is lost.",
                "O3.loaded", edit=_with_tools(lambda t: t[:-1] if len(t) > 1 else t)),
    load_mutant("tools-told-twice", "Each tool is listed twice.",
                "O3.own-tools", "O3.loaded", edit=_with_tools(lambda tools: [*tools, *tools])),
    load_mutant("first-tool-again", "Each tool is replaced by the first.",
                "O3.own-tools", "O3.loaded", edit=_with_tools(lambda t: t[:1] * len(t))),
    load_mutant("tools-everywhere", "Every available server has the tools of all.",
                "O3.own-tools", "I1.isolated", edit=_everywhere),
    load_mutant("tools-of-the-next", "Each available server has the tools of the next one.",
                "O3.own-tools", edit=_moved_on),
    load_mutant("tools-with-an-undeclared-prefix",
                "Tool names have their server's id as an undeclared prefix.",
                "O3.own-tools",
                edit=each(lambda outcome: outcome | {
                    "tools": [f"{outcome['server_id']}_{tool}" for tool in outcome["tools"]]})),
    load_mutant("tools-in-capitals", "Tool names are reported in capitals.",
                "O3.own-tools", "O3.loaded", edit=_with_tools(lambda t: [*map(str.upper, t)])),
    load_mutant("tools-shortened", "Tool names are cut after eight letters.",
                "O3.own-tools", edit=_with_tools(lambda tools: [tool[:8] for tool in tools])),
    load_mutant("tools-not-loaded", "An available server has no tools.",
                "O3.loaded", attempt=_no_tools),
    load_mutant("failed-list-is-no-tools",
                "A server whose list of tools fails is available without tools.",
                "T3.server-error", "T2.cut", attempt=_available_after_failure),
    load_mutant("open-session-is-available", "A server is available once its session is open.",
                "D1.denied", "T1.timeout", "T3.server-error", attempt=_opened),
    load_mutant("refusals-are-no-tools",
                "A server that answers with another 4xx status is available without tools.",
                "X.failed", attempt=_available_after("http_4xx", "http_429")),
    load_mutant("rpc-errors-are-no-tools",
                "A server that answers with a JSON-RPC error is available without tools.",
                "X.failed", attempt=_available_after("rpc_error")),
    load_mutant("nonsense-is-no-tools",
                "A server whose answer makes no sense is available without tools.",
                "X.failed", attempt=_available_after("malformed")),
    load_mutant("failed-programs-are-available",
                "A program that cannot be started is available without tools.",
                "X.failed", attempt=_available_after("command")),
    load_mutant("redirected-is-available", "A server that redirects is available without tools.",
                "X.failed", attempt=_available_after("redirect")),
    load_mutant("unexplained-is-available",
                "A failure that the mapping does not name is reported as available.",
                "X.failed", edit=each(_unexplained)),
    load_mutant("failing-pages-end-the-list",
                "A later page of tools that fails ends the list, as if it were empty.",
                "O3.later-page", attempt=_paged(lambda _: True)),
    load_mutant("refused-pages-end-the-list",
                "A later page of tools that is answered with an error ends the list.",
                "O3.later-page",
                attempt=_paged(lambda signal: signal.kind in ("rpc_error", "http_4xx"))),
    load_mutant("pages-of-a-failed-attempt",
                "If a second attempt fails, the pages of the first are the tools.",
                "O3.later-page", "T2.cut", "T3.server-error", attempt=Fresh(_first_pages)),
    load_mutant("one-page-or-none", "A list of several pages is treated as an invalid answer.",
                "O3.loaded", attempt=wrapping(_FirstPageOnly)),
    load_mutant("twenty-tools-at-most", "Only twenty tools are loaded.",
                "O3.loaded", edit=_capped(20)),
    load_mutant("failed-with-a-map",
                "The tools of a failed server are an object instead of a list.",
                "O3.no-tools", edit=when(not_available, tools={"add": {}})),
)  # fmt: skip
