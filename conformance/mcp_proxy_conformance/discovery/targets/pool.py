"""Pool of targets started ahead of their use: shared stages once, fresh worlds for each check."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.target import AdapterError, without_frames
from mcp_proxy_conformance.targets.waits import Arrival, Setup, during

GET_S, EVERY_S = 120.0, 0.5
"""Seconds that a target may take to be set up; seconds between polls of the others meanwhile."""
LEAD_S = 9.0
"""Seconds of its lifetime that a prepared target must have left, or its age is ignored."""
CHECK_S = 4.0
"""Seconds of its lifetime that a target must have left when a check gets it for itself."""
MARGIN_S = 3.0
"""Seconds beyond a target's preparation time by which its successor starts before its end."""
EARLY_S = 15.0
"""Seconds before the estimated first use at which short-lived targets are started."""
PACE_S, WEIGHT = 1.0, 0.2
"""Assumed seconds of the first checks; the weight of each check in the running mean."""
ENDERS = 32
"""Targets that are ended at once; each waits for a program that may react to SIGKILL only."""
MOST_AHEAD, PER_LAG_S = 12, 4
"""Targets that are started at once, at most; how many more with each second of the target's lag."""
NEXT = "~next"
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Ready(Generic[P]):
    """A started target, the result of its preparation, and the duration of both in seconds."""

    started: Started
    prepared: P
    seconds: float

    @property
    def age_s(self) -> float:
        """Seconds since the target was started."""
        return time.monotonic() - self.started.started_at


@dataclass(frozen=True, slots=True)
class Wanted:
    """A target that the run will need: its world, and the place by which checks request it.

    `at` is the number of checks before the first that requests it; a `spare` one is not requested
    by every check of its place; only checks that leave it as it is have a `shared` one.
    """

    place: str
    world: World
    at: int = 0
    spare: bool = False
    shared: bool = True


class Pool(Generic[P]):
    """Starts and prepares targets ahead of their use, as many at once as the target allows."""

    def __init__(
        self,
        target: ProxyTarget,
        scratch: Path,
        prepare: Callable[[Started], P],
        *,
        keep: bool = False,
    ) -> None:
        """Make threads in which `plan` and `get` start targets.

        `prepare` is called on each started target; `keep` keeps scratch folders.
        """
        self._prepare = prepare
        self._target = target
        self._scratch = scratch
        self._keep = keep
        self._queue: list[Wanted] = []
        self._made: dict[str, Future[Ready[P]]] = {}
        self._crew = ThreadPoolExecutor(max(target.ahead, MOST_AHEAD), thread_name_prefix="pool")
        self._enders = ThreadPoolExecutor(ENDERS, thread_name_prefix="ending")
        self._open: set[Started] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._wanted: dict[str, Wanted] = {}
        self._requested, self._pace = 0, PACE_S
        self._last: float | None = None

    @property
    def _ahead(self) -> int:
        """How many targets to start at once: more of a target whose operations take effect late."""
        more = round(PER_LAG_S * self._target.lag.usual_s)
        return max(self._target.ahead, min(MOST_AHEAD, self._target.ahead + more))

    def plan(self, wanted: Sequence[Wanted]) -> None:
        """Replace the queue by the wanted targets, in order of first request; begin to start some.

        As many as the limits allow are begun. Targets that are already made stay; nothing is waited
        for.
        """
        self._queue = [each for each in wanted if each.place not in self._made]
        self._wanted |= {each.place: each for each in wanted}
        self._start_ahead()

    def get(self, place: str, world: World, *, shared: bool = True) -> Ready[P]:
        """Return the target of a place, waiting until it is prepared; begin further ones.

        One that was not planned is started now. One older than the target's `lasts_s` (4 s less
        unless it is `shared`) is replaced, except for a shared one without locks that fade, and if
        a new one would be too old once it is prepared.

        Raises:
            AdapterError: It did not start, or not within 120 s.
            RuntimeError: The pool is closed.
            Exception: Whatever its preparation raised.
        """
        wanted = self._wanted.get(place)
        if wanted is None or not wanted.spare:
            self._count()
        future = self._made.get(place)
        if future is None:
            self._queue = [each for each in self._queue if each.place != place]
            future = self._submit(place, world)
        ready = self._result(place, future)
        lasts = self._lasts_s(ready, shared=shared)
        if ready.age_s > lasts:
            self._drop(place)
            following = _there(self._made.get(place + NEXT))
            if following is not None and following.age_s > lasts:
                self._drop(place + NEXT)
            future = self._made.pop(place + NEXT, None) or self._submit(place, world)
            self._made[place] = future
            ready = self._result(place, future)
        self._start_ahead()
        return ready

    def _result(self, place: str, future: Future[Ready[P]]) -> Ready[P]:
        """Wait up to 120 s for a target and return it; meanwhile start and renew other targets.

        Raises AdapterError after that time, else the error with which its start or preparation
        failed.
        """
        deadline = time.monotonic() + GET_S
        with during(Arrival(place=place, within_s=GET_S)):
            while not wait([future], EVERY_S).done:
                if time.monotonic() > deadline:
                    raise AdapterError(f"the target was not set up within {GET_S:g} s")
                self._start_ahead()
        if (failure := future.exception()) is not None:
            raise failure.with_traceback(None)  # it is raised once for each check of the stage
        return future.result()

    def _count(self) -> None:
        """Count a request of a check, and update the running mean of the time between them."""
        self._requested += 1
        now = time.monotonic()
        if self._last is not None:
            self._pace += WEIGHT * (now - self._last - self._pace)
        self._last = now

    def _ahead_s(self, wanted: Wanted) -> float:
        """Return the estimated seconds until a target is first requested; 0 if that is past."""
        return max(0, wanted.at - self._requested) * self._pace

    def _lasts_s(self, ready: Ready[P], *, shared: bool) -> float:
        """Return the age in seconds up to which a target is used, by `lasts_s` of its kind.

        It is 4 s less for one that is not shared. It is infinite for a shared one without locks
        that fade, if `fading` names such kinds, and if a new one takes so long to prepare that it
        would be too old as well.
        """
        fading, locks = self._target.fading, {step.lock for step in ready.started.world.steps}
        if shared and fading is not None and not fading & locks:
            return math.inf
        lasts = self._target.lasts_s - (0.0 if shared else CHECK_S)
        if ready.seconds > lasts - LEAD_S:
            return math.inf  # another one would be too old as well by the time it is prepared
        return lasts

    def release(self, place: str) -> None:
        """End a place's target and replacement, want it no more, start the next planned ones.

        Nothing is waited for.
        """
        for name in (place, place + NEXT):
            self._drop(name)
        self._wanted.pop(place, None)
        self._start_ahead()

    def _drop(self, place: str) -> None:
        """Forget a place's target, if any.

        Cancel its start or, if that has begun, end it in a thread.
        """
        future = self._made.pop(place, None)
        if future is not None and not future.cancel():
            self._enders.submit(self._end, future)

    def _end(self, future: Future[Ready[P]]) -> None:
        """Wait until a target is started, and close it.

        One that failed to start has ended itself.
        """
        if future.exception() is not None:
            return
        started = future.result().started
        with self._lock:
            self._open.discard(started)
        started.close()

    def hurry(self) -> None:
        """Begin to end every started target, without waiting; from now on none is started.

        It may be called on any thread; a second call does nothing.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for started in self._open:
                self._enders.submit(started.close)

    def close(self) -> None:
        """End every target, those still being started included, and wait until all have ended.

        From now on none is started.
        """
        with self._lock:
            self._closed = True
        self._queue = []
        for future in self._made.values():
            future.cancel()
        with self._lock:
            remaining, self._open = list(self._open), set()
        for started in remaining:
            self._enders.submit(started.close)
        self._crew.shutdown(wait=True, cancel_futures=True)
        self._enders.shutdown(wait=True)
        with self._lock:
            late, self._open = list(self._open), set()
        for started in late:
            started.close()

    def _start_ahead(self) -> None:
        """Begin to replace targets soon too old, then to start queued ones, as many as allowed.

        No queued one is begun while `_ahead` are being started, or more exist. Short-lived ones are
        started at most 15 s before their estimated use.
        """
        self._renew()
        early = math.inf if math.isinf(self._target.lasts_s) else EARLY_S
        waiting = sum(not future.done() for future in self._made.values())
        while self._queue and len(self._made) < self._ahead + 1 and waiting < self._ahead:
            if self._ahead_s(self._queue[0]) > early:
                return
            wanted = self._queue.pop(0)
            self._submit(wanted.place, wanted.world)
            waiting += 1

    def _renew(self) -> None:
        """Begin to start replacements of targets soon too old, still wanted and needed soon."""
        for place, future in list(self._made.items()):
            wanted, ready = self._wanted.get(place), _there(future)
            if wanted is None or ready is None or place + NEXT in self._made:
                continue
            lead = ready.seconds + MARGIN_S
            lasts = self._lasts_s(ready, shared=wanted.shared)
            if ready.age_s > lasts - lead and self._ahead_s(wanted) <= lead:
                self._submit(place + NEXT, wanted.world)

    def _submit(self, place: str, world: World) -> Future[Ready[P]]:
        """Begin to start a target in a thread; return its future, kept under the place."""
        future = self._crew.submit(self._made_for, place, world)
        self._made[place] = future
        return future

    def _register(self, started: Started) -> None:
        """Note a target that is being started, so that `close` ends it.

        Raises RuntimeError if the run is over.
        """
        with self._lock:
            self._open.add(started)
        if self._closed:
            raise RuntimeError("the run is over")

    def _made_for(self, place: str, world: World) -> Ready[P]:
        """Start and prepare a target, shown meanwhile as this thread's wait for its place."""
        with during(Setup(place=place.removesuffix(NEXT))):
            return self._make(world)

    def _make(self, world: World) -> Ready[P]:
        """Start and prepare a target, in a thread of the pool, and return it with its duration.

        If that fails, end it, keep its log, and raise without frames; RuntimeError if the run is
        over.
        """
        if self._closed:
            raise RuntimeError("the run is over")
        started = Started(
            self._target, world, self._scratch, keep=self._keep, register=self._register
        )
        try:
            with started.expected_alive():
                prepared = self._prepare(started)
        except BaseException as error:  # noqa: BLE001 - raised again, without frames
            with self._lock:
                self._open.discard(started)
            started.log_wanted = True
            started.close()
            raise without_frames(error) from None
        return Ready(started, prepared, time.monotonic() - started.started_at)


def _there(future: Future[Ready[P]] | None) -> Ready[P] | None:
    """Return the target if it is started and prepared by now, else None; None for None."""
    if future is None or not future.done() or future.exception() is not None:
        return None
    return future.result()
