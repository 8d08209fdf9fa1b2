"""One upstream server: loaded, refreshed and called over whichever session is open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mcp_proxy_reference.config import Server
from mcp_proxy_reference.http_session import HttpSession
from mcp_proxy_reference.loader import (
    MEANING,
    Connection,
    Json,
    Outcome,
    Session,
    Signal,
    list_tools,
    load,
)
from mcp_proxy_reference.stdio_session import StdioSession

SESSION_LOST = {"http_404", "http_4xx"}


async def connect(connection: Connection, changed: Callable[[], None]) -> Session:
    """A session over the connection's transport that has not sent anything yet."""
    if connection.url:
        return HttpSession(connection)
    return await StdioSession.connect(connection, changed)


async def load_all(
    connections: Sequence[Connection], *, max_attempts: int = 3, base_backoff: float = 0.25
) -> list[Outcome]:
    """One outcome for each server, in order; all are loaded at once and closed again."""

    async def one(connection: Connection) -> Outcome:
        async def plain(connection: Connection) -> Session:
            return await connect(connection, lambda: None)

        outcome, session = await load(
            connection, plain, max_attempts=max_attempts, base_backoff=base_backoff
        )
        if session is not None:
            await session.close()
        return outcome

    return list(await asyncio.gather(*map(one, connections)))


class UpstreamError(Exception):
    """A call did not come back with a result; the message is one sentence for the caller."""


def connection(server: Server) -> Connection:
    """How the operator says that the server is reached."""
    return Connection(
        server_id=server.name,
        url=server.url,
        command=server.command,
        args=server.args,
        env=server.env,
        headers=server.headers,
    )


class Upstream:
    """Holds at most one open session; `changed` is called when the server's list has changed."""

    def __init__(self, connection: Connection, changed: Callable[[], None]) -> None:
        self.connection = connection
        self.outcome: Outcome | None = None
        self.loaded = asyncio.Event()
        self._changed = changed
        self._closed = False
        self._session: Session | None = None
        self._lock = asyncio.Lock()

    async def load(self) -> Outcome:
        """The server's tools as they are now, over the open session or over a new one."""
        async with self._lock:
            try:
                if (outcome := await self._listed()) is None:
                    outcome, self._session = await load(self.connection, self._connect)
                self.outcome = outcome
            finally:
                self.loaded.set()
            if self._closed:
                await self._end()
            return outcome

    async def call(self, tool: str, arguments: Json) -> Json:
        """The server's result, as it is; a lost session is opened again once."""
        params = {"name": tool, "arguments": arguments}
        try:
            return await (await self._open()).request("tools/call", params)
        except Signal as signal:
            await self._drop_if_lost(signal)
            if signal.kind not in SESSION_LOST:
                raise _error(signal) from None
        try:
            return await (await self._open()).request("tools/call", params)
        except Signal as signal:
            raise _error(signal) from None

    async def close(self) -> None:
        """End the session, and the process behind it, for good."""
        self._closed = True
        self.loaded.set()
        await self._end()

    async def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _connect(self, connection: Connection) -> Session:
        return await connect(connection, self._changed)

    async def _open(self) -> Session:
        async with self._lock:
            if self._session is None:
                self.outcome, self._session = await load(
                    self.connection, self._connect, max_attempts=1
                )
            if self._session is None:
                raise UpstreamError(str(self.outcome.error) if self.outcome else "")
            return self._session

    async def _listed(self) -> Outcome | None:
        if self._session is None:
            return None
        try:
            tools = await list_tools(self._session)
        except Signal:
            await self._end()
            return None
        name = self.connection.server_id
        return Outcome(server_id=name, status="available", attempts=1, tools=tools)

    async def _drop_if_lost(self, signal: Signal) -> None:
        if signal.kind in SESSION_LOST or (signal.kind == "reset" and self.connection.command):
            await self._end()


def _error(signal: Signal) -> UpstreamError:
    if signal.kind == "rpc_error" and signal.detail:
        return UpstreamError(f"The server refused the call: {signal.detail}")
    return UpstreamError(MEANING[signal.kind][1])
