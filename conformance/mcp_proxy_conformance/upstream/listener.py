"""A listening port that closes at once and in silence, with every connection it has."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIMIT = 64 << 20
BACKLOG = 256
_ENDED = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError)


class Listener:
    """Serves each connection with `serve(reader, writer)`, which returns when it is done.

    Not `asyncio.start_server`: that one reports cancelled handlers as errors, and loses a
    connection which it is accepting while it is closed.
    """

    def __init__(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> None:
        self._serve = serve
        self._socket: socket.socket | None = None
        self._live: dict[asyncio.Task[None], socket.socket | asyncio.WriteTransport] = {}
        self.port = 0

    async def open(self, host: str, port: int = 0) -> None:
        """Listen."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.take(socket.create_server((host, port), family=family, backlog=BACKLOG))

    def take(self, listening: socket.socket) -> None:
        """Serve the connections of a socket that listens already; it is closed with the rest."""
        self._socket = listening
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
        live = [*self._live]
        for task in live:
            task.cancel()
        await asyncio.gather(*live, return_exceptions=True)

    def _accept(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):  # gone again before it was accepted
            sock, _ = listening.accept()
            sock.setblocking(False)
            # asyncio does this only for sockets that it opened itself; without, 40 ms an answer
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = asyncio.get_running_loop().create_task(self._connection(sock))
            self._live[task] = sock
            task.add_done_callback(self._ended)

    async def _connection(self, sock: socket.socket) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        reader = asyncio.StreamReader(limit=LIMIT, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        with contextlib.suppress(*_ENDED):
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, sock)
            self._live[task] = transport
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            try:
                await self._serve(reader, writer)
            finally:
                writer.close()
            await writer.wait_closed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Here, for a task that is cancelled before its first step runs no `finally`."""
        connection = self._live.pop(task)
        if isinstance(connection, socket.socket):
            connection.close()
        else:
            connection.abort()
