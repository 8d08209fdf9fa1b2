"""Loader mutants of the tools: another server's, too many, too few, or for a failed server."""

from collections.abc import Callable
from typing import Any

from mcp_proxy_mutants.loader.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.loader.pieces import OutcomeEntry, each, is_in, not_available, when
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal


def _with_tools(change: Callable[[list[str]], list[str]]) -> Any:
    """Return a hook `tell` that changes the tools of each outcome."""
    return each(lambda outcome: outcome | {"tools": change(outcome["tools"])})


def _everywhere(answer: Json, request: Json) -> Json:
    """Return the answer with the tools of all servers for each available one."""
    del request
    all_tools = [tool for outcome in answer["outcomes"] for tool in outcome["tools"]]
    return when(is_in("available"), tools=all_tools)(answer, {})


def _moved_on(answer: Json, request: Json) -> Json:
    """Return the answer with the next server's tools for each available one."""
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
    """Return the answer with another server's tool for each denied one."""
    del request
    some = [tool for outcome in answer["outcomes"] for tool in outcome["tools"]][:1]
    return when(is_in("denied"), tools=some)(answer, {})


def _invented(outcome: OutcomeEntry) -> OutcomeEntry:
    return (
        outcome | {"tools": [f"{outcome['server_id']}_tool"]} if not_available(outcome) else outcome
    )


def _status_tool(outcome: OutcomeEntry) -> OutcomeEntry:
    """Return a failed outcome with a tool `why_unavailable`."""
    return outcome | {"tools": ["why_unavailable"]} if not_available(outcome) else outcome


def _capped(most: int) -> Any:
    return _with_tools(lambda tools: tools[:most])


async def _available_after_failure(
    connection: Connection, connect: Connect
) -> tuple[list[Json], Session]:
    """Attempt; if the handshake or the list fails by a 5xx or a cut, return no tools.

    The server is then reported as available. Another failure is raised as usual.
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
    """Attempt; a server whose list fails after the handshake is available without tools."""
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


async def _no_tools(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """Attempt as usual, but report no tools."""
    _, session = await std.attempt(connection, connect)
    return [], session


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("tools-invented", "A failed server has a tool named after its id.",
                "O3.no-tools", "S2.no-tools", tell=each(_invented)),
    load_mutant("tools-that-explain", "A failed server has a tool whose name explains the failure.",
                "O3.no-tools", "S2.no-tools", tell=each(_status_tool)),
    load_mutant("denied-has-tools", "A denied server has a tool of another server.",
                "O3.no-tools", "S2.no-tools", tell=_to_the_denied),
    load_mutant("transient-has-tools", "A transient server keeps a tool.",
                "O3.no-tools", "S2.no-tools", tell=when(is_in("transient"), tools=["add"])),
    load_mutant("first-tool-only", "Only the first tool is loaded.",
                "O3.loaded", tell=_capped(1)),
    load_mutant("two-tools-at-most", "Only two tools are loaded.",
                "O3.loaded", tell=_capped(2)),
    load_mutant("last-tool-lost", "The last of several tools is lost.",
                "O3.loaded", tell=_with_tools(lambda t: t[:-1] if len(t) > 1 else t)),
    load_mutant("tools-told-twice", "Each tool is listed twice.",
                "O3.own-tools", "O3.loaded", tell=_with_tools(lambda tools: [*tools, *tools])),
    load_mutant("first-tool-again", "Each tool is replaced by the first.",
                "O3.loaded", "O3.own-tools", tell=_with_tools(lambda t: t[:1] * len(t))),
    load_mutant("tools-everywhere", "Every available server has the tools of all.",
                "O3.own-tools", "I1.isolated", tell=_everywhere),
    load_mutant("tools-of-the-next", "Each available server has the tools of the next one.",
                "O3.own-tools", tell=_moved_on),
    load_mutant("tools-with-an-undeclared-prefix",
                "Tool names have their server's id as an undeclared prefix.",
                "O3.own-tools",
                tell=each(lambda outcome: outcome | {
                    "tools": [f"{outcome['server_id']}_{tool}" for tool in outcome["tools"]]})),
    load_mutant("tools-in-capitals", "Tool names are reported in capitals.",
                "O3.own-tools", "O3.loaded", tell=_with_tools(lambda t: [*map(str.upper, t)])),
    load_mutant("tools-shortened", "Tool names are cut after eight letters.",
                "O3.own-tools", tell=_with_tools(lambda tools: [tool[:8] for tool in tools])),
    load_mutant("tools-not-loaded", "An available server has no tools.",
                "O3.loaded", attempt=_no_tools),
    load_mutant("failed-list-is-no-tools",
                "A server whose list of tools fails is available without tools.",
                "T3.server-error", "T2.cut", attempt=_available_after_failure),
    load_mutant("open-session-is-available", "A server is available once its session is open.",
                "D1.denied", "T1.timeout", "T3.server-error", attempt=_opened),
    load_mutant("twenty-tools-at-most", "Only twenty tools are loaded.",
                "O3.loaded", tell=_capped(20)),
    load_mutant("failed-with-a-map",
                "The tools of a failed server are an object instead of a list.",
                "O3.no-tools", tell=when(not_available, tools={"add": {}})),
)  # fmt: skip
