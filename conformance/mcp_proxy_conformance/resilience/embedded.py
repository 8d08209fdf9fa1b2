"""Loader run in the suite's own process, as mutants of the reference loader are tried."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, Protocol

from mcp_proxy_conformance.resilience.loader import Loaded, asked_for, never, read_answer, received
from mcp_proxy_conformance.targets.target import AdapterError

END_S = 5.0
Load = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class ChangedLoader(Protocol):
    """A changed loader, which can be started any number of times."""

    def start(self) -> Load:
        """Start a new loader; return the async function that answers its load requests."""


class LoaderHost:
    """An event loop in one background thread, for every load of a run."""

    def __init__(self) -> None:
        """Start a daemon thread that runs the loop."""
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel the loads in progress and end the loop and its thread; nothing if done before.

        It waits up to 5 s for each. Raises TimeoutError if the loads do not end.
        """
        if self.loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._give_up(), self.loop).result(END_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(END_S)
        if not self._thread.is_alive():
            self.loop.close()

    async def _give_up(self) -> None:
        """Cancel every other task of the loop, and wait until they have ended."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class EmbeddedLoader:
    """One changed loader on the host's event loop, used like a loader program."""

    def __init__(self, changed: ChangedLoader, host: LoaderHost, *, patience: float = 1.0) -> None:
        """Keep all; the first load starts the loader, and so does one after a hang.

        `patience` scales deadlines.
        """
        self._changed = changed
        self._host = host
        self._patience = patience
        self._number = 0
        self._load: Load | None = None
        self._loading: Future[bytes] | None = None

    def load(
        self,
        servers: Sequence[Mapping[str, Any]],
        *,
        max_attempts: int,
        base_backoff_s: float,
        deadline_s: float,
        late_s: float = 0.0,
        is_stuck: Callable[[], bool] = never,
    ) -> Loaded:
        """Load these servers and wait for the answer, which is encoded and read as a program's is.

        The result is `hung` if `deadline_s` seconds, scaled, pass, or it `is_stuck`; then the next
        load starts a new loader. It is `broke` if the loader raises. Raises AdapterError if it
        raised without servers, BadAnswer if its answer has not the form of
        schemas/LOADER.md.
        """
        del late_s  # a task of this process is ended at once
        self._load = self._load or self._changed.start()
        self._number += 1
        members = {"max_attempts": max_attempts, "base_backoff_s": base_backoff_s}
        request = json.loads(json.dumps(asked_for(self._number, servers, **members)))
        began = time.monotonic()
        loading = asyncio.run_coroutine_threadsafe(self._answer(request), self._host.loop)
        self._loading = loading

        def receive(seconds: float) -> None:
            """Wait for the end of the load; TimeoutError if it does not come."""
            if not wait([loading], seconds).done:
                raise TimeoutError

        try:
            received(receive, deadline_s * self._patience, is_stuck)
        except TimeoutError:
            loading.cancel()
            self._load = None
            return Loaded(seconds=time.monotonic() - began, hung=True)
        try:
            line = loading.result()
        except Exception as error:
            broke = f"the loader broke: {type(error).__name__}: {error}"
            if not servers:
                raise AdapterError(broke) from error
            return Loaded(seconds=time.monotonic() - began, broke=broke)
        seconds = time.monotonic() - began
        return Loaded(answer=read_answer(line, self._number), line=line, seconds=seconds)

    async def _answer(self, request: dict[str, Any]) -> bytes:
        """Have the loader answer a request; return the line that a program would print."""
        assert self._load is not None
        answer = await self._load(request)
        return json.dumps({"id": request["id"], "ok": answer}, ensure_ascii=False).encode()

    def leave(self) -> bool:
        """Return True: it has no end of its own, so that what it started must have ended before."""
        return True

    def stop(self, patience_s: float = END_S) -> None:
        """Cancel the load in progress, if any; `patience_s` is ignored."""
        del patience_s
        if self._loading is not None:
            self._loading.cancel()
