"""A listening port that closes at once and in silence, with every connection it has."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LIMIT = 64 << 20
_ENDED = (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError)


class Listener:
    """Serves each connection with `serve(reader, writer)`, which returns when it is done."""

    def __init__(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> None:
        self._serve = serve
        self._server: asyncio.Server | None = None
        self._live: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self, host: str, port: int = 0) -> None:
        """Listen. asyncio binds, so that accepted connections send without delay."""
        self._server = await asyncio.start_server(self._connected, host, port, limit=LIMIT)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
        live = [*self._live]
        for task in live:
            task.cancel()
        await asyncio.gather(*live, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Start the task ourselves: asyncio reports a cancelled one of its own as an error."""
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._live.add(task)
        task.add_done_callback(self._live.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(*_ENDED):
                await self._serve(reader, writer)
            writer.close()
        finally:
            if not writer.is_closing():
                writer.transport.abort()  # nobody waits for a peer that does not read
