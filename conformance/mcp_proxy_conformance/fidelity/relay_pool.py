"""Pool of a run's started relays: started ahead, taken by one group of checks at a time, reused."""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from mcp_proxy_conformance.fidelity.relay_target import RelayTarget
from mcp_proxy_conformance.fidelity.started_relay import StartedRelay
from mcp_proxy_conformance.targets.target import TargetNotStarted
from mcp_proxy_conformance.upstream.relayed import Relayed


class RelayPool:
    """Relays by the data of the server behind them; any thread may take one and give it back."""

    def __init__(self, target: RelayTarget, scratch: Path) -> None:
        """Start none yet; each has a folder of its own in `scratch`."""
        self._target, self._scratch = target, scratch
        self._lock = threading.Lock()
        self._folders = 0
        self._crew = ThreadPoolExecutor(1, "relays")
        self._ahead: list[tuple[Relayed, Future[StartedRelay]]] = []
        self._idle: list[StartedRelay] = []
        self._has_started = False
        self._failure: TargetNotStarted | None = None

    @property
    def ahead(self) -> int:
        """The number of relays that were started ahead, and that nobody has taken yet."""
        return len(self._ahead)

    def begin(self, given: Relayed) -> None:
        """Begin to start a relay in front of that data, in the background, one after the other."""
        with self._lock:
            self._ahead.append((given, self._starting(given)))

    def expect(self, given: Relayed) -> None:
        """Begin to start a relay in front of that data, unless one not taken is there or starts."""
        with self._lock:
            waiting = [*(each for each, _ in self._ahead), *(relay.given for relay in self._idle)]
            if not any(each is given for each in waiting):
                self._ahead.append((given, self._starting(given)))

    def take(self, given: Relayed, *, new: bool = False) -> tuple[StartedRelay, bool]:
        """Return (a relay in front of that data, whether it is new), started if there is none.

        It waits until the relay runs. One that was used before serves as at first, as far as
        `StartedRelay.renew` can tell, and is ended if not; with `new` it was never used. Raises
        TargetNotStarted.
        """
        while not new and (used := self._used(given)) is not None:
            if used.renew():
                return used, False
            self.end(used)
        with self._lock:
            found = next((each for each in self._ahead if each[0] is given), None)
            if found is None:
                starting = self._starting(given)
            else:
                self._ahead.remove(found)
                starting = found[1]
        return starting.result(), True

    def give_back(self, relay: StartedRelay) -> None:
        """Keep a relay, unchanged, for a later `take` of the same data."""
        with self._lock:
            self._idle.append(relay)

    def end(self, relay: StartedRelay) -> None:
        """End a relay in the background."""
        self._crew.submit(relay.close)

    def keep(self, wanted: Collection[Relayed]) -> None:
        """End the relays that were given back, except for those in front of the data `wanted`."""
        with self._lock:
            ends = [each for each in self._idle if not any(each.given is one for one in wanted)]
            self._idle = [each for each in self._idle if each not in ends]
        for relay in ends:
            self.end(relay)

    def close(self) -> None:
        """End every relay that is not taken, and wait; those that have not begun do not start."""
        self.keep(())
        begun = [starting for _, starting in self._ahead if not starting.cancel()]
        for starting in begun:
            if starting.exception() is None:
                starting.result().close()
        self._crew.shutdown()

    def _used(self, given: Relayed) -> StartedRelay | None:
        """Take out a relay that was given back, in front of that data; None without one."""
        with self._lock:
            found = next((each for each in self._idle if each.given is given), None)
            if found is not None:
                self._idle.remove(found)
            return found

    def _starting(self, given: Relayed) -> Future[StartedRelay]:
        self._folders += 1
        folder = self._scratch / f"relay-{self._folders}"
        return self._crew.submit(self._start, given, folder)

    def _start(self, given: Relayed, folder: Path) -> StartedRelay:
        """Start a relay; raise TargetNotStarted if that fails.

        If the pool's very first start fails, each later one raises the same error at once.
        """
        if self._failure is not None:
            raise self._failure
        try:
            relay = StartedRelay(self._target, given, folder)
        except TargetNotStarted as error:
            self._failure = None if self._has_started else error
            raise
        self._has_started = True
        return relay
