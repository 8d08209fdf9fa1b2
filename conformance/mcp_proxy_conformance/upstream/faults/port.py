"""One port of fault servers: with a listener, held without listening, or with a full queue."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

from mcp_proxy_conformance.upstream.faults.behaviour import Backlog, ClosedPort
from mcp_proxy_conformance.upstream.faults.connections import hang_up, play_whole, send
from mcp_proxy_conformance.upstream.faults.faulty_server import (
    LOOPBACK,
    STDIO,
    FaultyServer,
    prefix,
)
from mcp_proxy_conformance.upstream.faults.replies import ScriptedReply
from mcp_proxy_conformance.upstream.http import (
    BACKLOG,
    MOST_BODY,
    MOST_HEAD,
    HttpRequest,
    Listener,
    read_request,
)

LINUX = sys.platform == "linux"
MOST_WAITING = 4
"""Connections that fill a queue of length 0; Linux accepts one, and drops later ones."""
_STUCK_S = 0.03


async def _nothing() -> None:
    """Do nothing."""


async def _beside(hearing: Coroutine[Any, Any, None], sending: Coroutine[Any, Any, bool]) -> bool:
    """Hear while sending; return what sending returns. The end of the peer ends both."""
    task = asyncio.ensure_future(sending)
    try:
        await hearing
        return await task
    finally:
        task.cancel()


class Port:
    """Serves the fault servers of one origin; the first one's script decides about connections."""

    def __init__(self, servers: Sequence[FaultyServer], numbers: Iterator[int]) -> None:
        """Open nothing yet; `numbers` yields the numbers of connections, for the logs."""
        self._first = servers[0]
        self._servers = servers
        self._numbers = numbers
        self._speaks_lines = servers[0].script.transport == STDIO
        self._listener = Listener(self._serve, MOST_BODY if self._speaks_lines else MOST_HEAD)
        self.connected = 0
        self._held: socket.socket | None = None
        self._waiting: list[socket.socket] = []

    async def open(self) -> None:
        """Bind a loopback port and set `port` of its servers; listen unless the fault is not to.

        For the fault of a full queue, connections that fill it are opened too. Raises OSError.
        """
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # it may be held later
        try:
            bound.bind((LOOPBACK, 0))
            match self._first.whole:
                case ClosedPort():
                    self._held = bound
                case Backlog():
                    self._held = bound
                    bound.listen(0)
                    await self._fill(bound)
                case _:
                    bound.listen(BACKLOG)
                    self._listener.take(bound)
        except OSError:
            bound.close()
            raise
        for server in self._servers:
            server.port = bound.getsockname()[1]

    async def close(self) -> None:
        """Close the listener and every connection, and free the port."""
        self._release()
        if self._held is not None:
            self._held.close()
            self._held = None
        await self._listener.close()

    def heal(self) -> None:
        """Begin to listen and serve, if not listening was the fault; a filled queue is emptied."""
        self._release()
        if self._held is not None:
            self._held.listen(BACKLOG)
            self._listener.take(self._held)
            self._held = None

    def _release(self) -> None:
        """Close the connections that fill the queue."""
        for sock in self._waiting:
            sock.close()
        self._waiting.clear()

    async def _fill(self, listening: socket.socket) -> None:
        """Open connections until the queue is full, at most four; on Linux only."""
        loop = asyncio.get_running_loop()
        for _ in range(MOST_WAITING if LINUX else 0):
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            sock.setblocking(False)
            self._waiting.append(sock)
            try:
                await asyncio.wait_for(
                    loop.sock_connect(sock, listening.getsockname()), timeout=_STUCK_S
                )
            except TimeoutError:
                self._waiting.pop().close()
                return

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection: play the behaviour of whole connections, or answer its requests.

        Each request goes to the server that its path names. It ends after a request or a reply that
        does not keep the connection.
        """
        self.connected += 1
        try:
            await self._converse(reader, writer, next(self._numbers))
        finally:
            self.connected -= 1

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        writer.transport.set_write_buffer_limits(0)  # drained bytes have reached the peer
        if (whole := self._first.whole) is not None:
            self._first.connected(connection)
            with self._first.log.answers():
                await play_whole(whole, reader, writer)
            return
        keeps = True
        while keeps:
            request = await self._request(reader)
            server, keeps = self._server(request), request.keeps
            reply = server.reply(request, connection)
            awaited = server.log.answers() if reply.fails else nullcontext()
            del request  # frees its body while waiting for the next one
            if reply.closes:
                self._held, keeps = self._listener.refuse(), False
            heard = self._hear(reader, reply, connection) if self._speaks_lines else _nothing()
            with awaited:
                keeps = await _beside(heard, send(reply, reader, writer)) and keeps
        if self._speaks_lines and not writer.is_closing():
            await hang_up(reader, writer)

    async def _hear(
        self, reader: asyncio.StreamReader, reply: ScriptedReply, connection: int
    ) -> None:
        """Take the lines of a process until those that the reply waits for have come."""
        while not reply.answered.is_whole:
            request = await self._request(reader)
            self._server(request).reply(request, connection)

    async def _request(self, reader: asyncio.StreamReader) -> HttpRequest:
        """Read one request, or one line of a process that is not blank, as a request."""
        if not self._speaks_lines:
            return await read_request(reader)
        while not (line := await reader.readuntil()).strip():
            pass
        return HttpRequest(method=STDIO, path="", headers=(), body=line)

    def _server(self, request: HttpRequest) -> FaultyServer:
        """Return the server that a request's path and authorization name, else the first one.

        The first one answers a path that is not its own with 404.
        """
        named = [each for each in self._servers if each.prefix == prefix(request.path)]
        given = request.header("authorization")
        own = [each for each in named if each.script.authorization == given]
        return [*own, *named, self._first][0]
