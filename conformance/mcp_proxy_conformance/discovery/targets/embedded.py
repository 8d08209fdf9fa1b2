"""Reference proxies as targets inside this process, on one event loop, with a mutant's changes.

A changed proxy opens itself, so nothing of the reference is imported here.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES, ProxyTarget
from mcp_proxy_conformance.discovery.targets.kinds import operator_surface
from mcp_proxy_conformance.discovery.targets.launch import REFERENCE
from mcp_proxy_conformance.discovery.targets.operator import OperatorAdapter
from mcp_proxy_conformance.targets.process import Process
from mcp_proxy_conformance.targets.target import TargetNotStarted

START_S, END_S = 10.0, 5.0
READY_S = 6.0
"""Arming waits this long three times for missing tools: within a check's time in a trial."""


class ChangedProxy(Protocol):
    """The reference proxy with the changes of a mutant; it can be opened any number of times."""

    @property
    def id(self) -> str:
        """The name by which its program over stdio is started."""

    @property
    def over_stdio(self) -> bool:
        """Whether the proxy also serves stdio, and is changed there only."""

    def open(self, config: Path, data_dir: Path) -> AbstractAsyncContextManager[Any]:
        """Start a proxy with this configuration and data folder; the result has a `url`."""


class Embedded(Process):
    """One reference proxy on the host's event loop, with the interface of a `Process`."""

    def __init__(self, url: str, end: Callable[[], None], log: Path) -> None:
        """Describe a proxy that serves at `url` until `end` is called."""
        super().__init__(0, log)
        self._url = url
        self._end = end
        self._running = True

    def alive(self) -> bool:
        """Whether `end` has not been called yet."""
        return self._running

    def first_line(self, deadline: float) -> str:
        """Return at once, as a line of JSON, the URL that the reference would print.

        `deadline` is ignored.
        """
        del deadline
        return json.dumps({"url": self._url})

    def end(self, patience_s: float = END_S, *, at_once: bool = False) -> None:
        """Stop the proxy and close its connections; a second call does nothing.

        `patience_s` and `at_once` are ignored.
        """
        del patience_s, at_once
        if self._running:
            self._running = False
            self._end()


class EmbeddedHost:
    """Opens proxies on one loop in one background thread."""

    def __init__(self, changed: ChangedProxy) -> None:
        """Start the loop in a daemon thread; every proxy of the host has this change."""
        self._changed = changed
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, arguments: Sequence[str], *, env: Mapping[str, str], log: Path) -> Process:
        """Open a proxy with the config and data folder in `arguments`; `env` is ignored.

        Raises TargetNotStarted if it breaks, or takes over 10 s.
        """
        del env
        options = dict(
            argument.removeprefix("--").split("=", 1) for argument in arguments if "=" in argument
        )
        opened: Future[str] = Future()
        over = asyncio.Event()
        paths = Path(options["config"]), Path(options["data-dir"])
        serving = asyncio.run_coroutine_threadsafe(self._serve(*paths, opened, over), self._loop)
        try:
            url = opened.result(START_S)
        except Exception as error:  # noqa: BLE001 - whatever a changed proxy breaks with
            raise TargetNotStarted(f"the reference does not start: {error!r}") from None

        def end() -> None:
            """Have the proxy close; its error is not raised, but TimeoutError after 5 s."""
            self._loop.call_soon_threadsafe(over.set)
            serving.exception(END_S)

        return Embedded(url, end, log)

    async def _serve(
        self, config: Path, data: Path, opened: Future[str], over: asyncio.Event
    ) -> None:
        """Run a proxy with that config and data folder until `over` is set.

        Its URL, or the error of its start, is put into `opened`; a later error is raised.
        """
        try:
            async with self._changed.open(config, data) as proxy:
                opened.set_result(proxy.url)
                await over.wait()
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)

    def close(self) -> None:
        """Stop the loop and wait up to 5 s for its thread; a second call does nothing.

        Its proxies have been ended by their starters.
        """
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(END_S)
        if not self._thread.is_alive():
            self._loop.close()


def embedded(changed: ChangedProxy, **members: Any) -> ProxyTarget:
    """Return a target of kind `reference`; its proxies run in this process, changed by `changed`.

    Their event loop runs from now until the target's `close`. `members` override those of Target.
    Over stdio each is a program of its own.
    """
    host = EmbeddedHost(changed)
    command = (sys.executable, "-m", "mcp_proxy_mutants.over_stdio", changed.id)
    launch = replace(REFERENCE, command=command, serves_stdio=changed.over_stdio, host=())
    return ProxyTarget(
        kind="reference",
        make=partial(OperatorAdapter, launch, host),
        close=host.close,
        surface=operator_surface(),
        capabilities=CAPABILITIES,
        **{"ready_s": READY_S, **members},
    )
