"""One port of fault servers: with a listener, held without listening, or with a full queue."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator, Sequence

from mcp_proxy_conformance.upstream.faults.behaviour import Backlog, ClosedPort
from mcp_proxy_conformance.upstream.faults.connections import play_whole, send
from mcp_proxy_conformance.upstream.faults.faulty_server import LOOPBACK, FaultyServer, prefix
from mcp_proxy_conformance.upstream.http import BACKLOG, HttpRequest, Listener, read_request

LINUX = sys.platform == "linux"
MOST_WAITING = 4
"""Connections that fill a queue of length 0; Linux accepts one, and drops later ones."""
_STUCK_S = 0.03


class Port:
    """Serves the fault servers of one origin; the first one's script decides about connections."""

    def __init__(self, servers: Sequence[FaultyServer], numbers: Iterator[int]) -> None:
        """Open nothing yet; `numbers` yields the numbers of connections, for the logs."""
        self._first = servers[0]
        self._servers = {server.prefix: server for server in servers}
        self._numbers = numbers
        self._listener = Listener(self._serve)
        self._held: socket.socket | None = None
        self._waiting: list[socket.socket] = []

    async def open(self) -> None:
        """Bind a loopback port and set `port` of its servers; listen unless the fault is not to.

        For the fault of a full queue, connections that fill it are opened too. Raises OSError.
        """
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
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
        for server in self._servers.values():
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
        connection = next(self._numbers)
        writer.transport.set_write_buffer_limits(0)  # drained bytes have reached the peer
        if (whole := self._first.whole) is not None:
            self._first.connected(connection)
            await play_whole(whole, reader, writer)
            return
        keeps = True
        while keeps:
            request = await read_request(reader)
            reply, keeps = self._server(request).reply(request, connection), request.keeps
            del request  # frees its body while waiting for the next one
            keeps = await send(reply, reader, writer) and keeps

    def _server(self, request: HttpRequest) -> FaultyServer:
        """Return the server that a request's path names, else the first one, which answers 404."""
        return self._servers.get(prefix(request.path), self._first)
