"""`Upstreams`: all upstream servers of a world, on one event loop in one background thread."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcp_proxy_conformance.wire.transcript import Transcript

PATIENCE = 10.0
"""Seconds for a listener to open or close; both take far less than one millisecond."""

_T = TypeVar("_T")


class AnyUpstream(Protocol):
    """A server that a hub can run: scripted or faulty."""

    async def open(self, transcript: Transcript, host: str, advertised_host: str) -> None:
        """Listen on `host`, and begin to answer; called on the hub's loop.

        Messages are recorded in the transcript; `advertised_host` is the host in the server's URLs.
        """

    async def close(self) -> None:
        """Stop listening and end every connection; called on the hub's loop."""


_U = TypeVar("_U", bound=AnyUpstream)


class Upstreams:
    """Runs the upstream servers: `start`, `add` servers at any time, `close`; a context manager.

    Args:
        transcript: Takes every message of every server.
        host: The address to bind to.
        advertised_host: The host in the servers' URLs, if a target reaches them by another name.
    """

    def __init__(
        self, transcript: Transcript, *, host: str = "127.0.0.1", advertised_host: str | None = None
    ) -> None:
        """Start nothing yet; bind to `host` later.

        `advertised_host` is the host in the servers' URLs, by default the same.
        """
        self._transcript = transcript
        self._host = host
        self._advertised = advertised_host or host
        self._added: list[AnyUpstream] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Start the background thread and its loop, unless they run; return self."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="upstreams", daemon=True
            )
            self._thread.start()
        return self

    def add(self, server: _U) -> _U:
        """Open a server on the loop, remember it for `close`, and return it.

        From then on it answers. RuntimeError before `start`; OSError if it cannot listen.
        """
        self.run(server.open(self._transcript, self._host, self._advertised))
        self._added.append(server)
        return server

    def remove(self, server: AnyUpstream) -> None:
        """Close one server; its port refuses connections from now on."""
        self._added.remove(server)
        self.run(server.close())

    def close(self) -> None:
        """End every server, the loop and its thread; a second call is harmless."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        try:
            for server in self._added:
                self.run(server.close())
            self.run(asyncio.sleep(0))  # aborted connections release their sockets
        finally:
            self._added.clear()
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            loop.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, work: Coroutine[None, None, _T]) -> _T:
        """Await a coroutine on the servers' thread; RuntimeError if the thread does not run.

        Return its result, raise its errors; TimeoutError after 10 seconds.
        """
        if self._loop is None:
            work.close()
            raise RuntimeError("Upstreams was not started")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)
        except TimeoutError:
            raise TimeoutError(f"{work} of the suite took over {PATIENCE:g} s") from None
