"""Faults of the tools: whose they are, how many, and where they do not belong."""

from collections.abc import Callable
from typing import Any

from mcp_proxy_mutants.loader.mutant import LoadMutant, load_mutant
from mcp_proxy_mutants.loader.pieces import Told, each, is_in, not_available, when
from mcp_proxy_reference import loader as std
from mcp_proxy_reference.loader import Connect, Connection, Json, Session, Signal


def _told_by(change: Callable[[list[str]], list[str]]) -> Any:
    """The tools of each outcome are told otherwise."""
    return each(lambda one: one | {"tools": change(one["tools"])})


def _everywhere(told: Json, asked: Json) -> Json:
    """Each available server has the tools of all of them."""
    del asked
    every = [tool for one in told["outcomes"] for tool in one["tools"]]
    return when(is_in("available"), tools=every)(told, {})


def _moved_on(told: Json, asked: Json) -> Json:
    """The tools of available servers are told of the next one."""
    del asked
    well = [one for one in told["outcomes"] if one["status"] == "available"]
    tools = [one["tools"] for one in well]
    moved = dict(zip([one["server_id"] for one in well], [*tools[1:], *tools[:1]], strict=True))
    return each(lambda one: one | {"tools": moved.get(one["server_id"], [])})(told, {})


def _to_the_denied(told: Json, asked: Json) -> Json:
    """What others have is told of the denied."""
    del asked
    some = [tool for one in told["outcomes"] for tool in one["tools"]][:1]
    return when(is_in("denied"), tools=some)(told, {})


def _invented(one: Told) -> Told:
    return one | {"tools": [f"{one['server_id']}_tool"]} if not_available(one) else one


def _status_tool(one: Told) -> Told:
    """A tool that tells of the failure stands in for those that are missing."""
    return one | {"tools": ["why_unavailable"]} if not_available(one) else one


def _capped(most: int) -> Any:
    return _told_by(lambda tools: tools[:most])


async def _healed(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """When the first page fails, the session is taken for one without tools."""
    session = await connect(connection)
    try:
        return await std.handshake(session), session
    except Signal as signal:
        if signal.kind not in ("http_5xx", "reset"):
            await session.close()
            raise
        return [], session


async def _opened(connection: Connection, connect: Connect) -> tuple[list[Json], Session]:
    """A server whose session is open is available, whatever becomes of its list."""
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
    """A server is available once it can be connected to; its list is asked for later."""
    _, session = await std.attempt(connection, connect)
    return [], session


MUTANTS: tuple[LoadMutant, ...] = (
    load_mutant("tools-invented", "A server that failed has a tool made of its id.",
                "O3.no-tools", "S2.no-tools", tell=each(_invented)),
    load_mutant("tools-that-explain", "A server that failed has a tool that says so.",
                "O3.no-tools", "S2.no-tools", tell=each(_status_tool)),
    load_mutant("denied-has-tools", "A denied server has tools of another.",
                "O3.no-tools", "S2.no-tools", tell=_to_the_denied),
    load_mutant("transient-has-tools", "A server that may pass keeps a tool.",
                "O3.no-tools", "S2.no-tools", tell=when(is_in("transient"), tools=["add"])),
    load_mutant("first-tool-only", "Of the tools the first is loaded.",
                "O3.loaded", tell=_capped(1)),
    load_mutant("two-tools-at-most", "Of the tools two are loaded.",
                "O3.loaded", tell=_capped(2)),
    load_mutant("last-tool-lost", "The last of several tools is lost.",
                "O3.loaded", tell=_told_by(lambda t: t[:-1] if len(t) > 1 else t)),
    load_mutant("tools-told-twice", "Each tool is told twice.",
                "O3.own-tools", "O3.loaded", tell=_told_by(lambda tools: [*tools, *tools])),
    load_mutant("first-tool-again", "In the place of each tool stands the first.",
                "O3.loaded", "O3.own-tools", tell=_told_by(lambda t: t[:1] * len(t))),
    load_mutant("tools-everywhere", "Every available server has the tools of all.",
                "O3.own-tools", "I1.isolated", tell=_everywhere),
    load_mutant("tools-of-the-next", "The tools of a server are told of the one before it.",
                "O3.own-tools", tell=_moved_on),
    load_mutant("tools-with-an-undeclared-prefix", "Tools have their server's id before them.",
                "O3.own-tools",
                tell=each(lambda one: one | {
                    "tools": [f"{one['server_id']}_{tool}" for tool in one["tools"]]})),
    load_mutant("tools-in-capitals", "The names of tools are told in capitals.",
                "O3.own-tools", "O3.loaded", tell=_told_by(lambda t: [*map(str.upper, t)])),
    load_mutant("tools-shortened", "Names of tools end after eight letters.",
                "O3.own-tools", tell=_told_by(lambda tools: [tool[:8] for tool in tools])),
    load_mutant("tools-not-loaded", "An available server has no tools yet.",
                "O3.loaded", attempt=_no_tools),
    load_mutant("failed-list-is-no-tools", "A server that breaks over its list has no tools.",
                "T3.server-error", "T2.cut", attempt=_healed),
    load_mutant("open-session-is-available", "A server is available once its session is open.",
                "D1.denied", "T1.timeout", "T3.server-error", attempt=_opened),
    load_mutant("twenty-tools-at-most", "Of the tools twenty are loaded.",
                "O3.loaded", tell=_capped(20)),
    load_mutant("failed-with-a-map", "A server that failed has a map of tools.",
                "O3.no-tools", tell=when(not_available, tools={"add": {}})),
)  # fmt: skip
