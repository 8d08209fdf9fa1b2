"""Registry of threads' waits (for a target, a lock, a reply), shown in a run's progress line."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A wait of one thread, of at most `within_s` seconds; 0 is without a limit."""

    within_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Wait):
    """The first look at a target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup(Wait):
    """The target of a place: this thread starts it and proves its locks."""

    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival(Wait):
    """The target of a place that another thread sets up."""

    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools(Wait):
    """The tools of an upstream, until they are listed and callable."""

    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock(Wait):
    """The refusal of calls of a tool that was locked."""

    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class News(Wait):
    """The tools that an upstream has added or changed, until the target knows them."""

    server: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling(Wait):
    """Answers that show the last action of the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEnd(Wait):
    """The end of a load, while `others` have not ended either."""

    case: str
    others: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Wait):
    """The answer of a running endpoint to a request, of at most `most`."""

    number: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition(Wait):
    """The confirmation of a failure, and the search for a smaller example, of a law."""

    law: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End(Wait):
    """The end of the targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A wait that has begun `since` (monotonic); `beside` threads set up other targets."""

    wait: Wait
    since: float
    beside: int = 0


_WAITS: dict[int, list[Waiting]] = {}
"""The open waits of each thread, the outermost first."""
_LOCK = threading.Lock()


@contextmanager
def during(wait: Wait) -> Iterator[None]:
    """Register, during the block, that this thread waits for something; such blocks may nest.

    `waiting_in` shows it to other threads; nothing is waited for or limited here.
    """
    thread, waiting = threading.get_ident(), Waiting(wait=wait, since=time.monotonic())
    with _LOCK:
        _WAITS.setdefault(thread, []).append(waiting)
    try:
        yield
    finally:
        with _LOCK:
            _WAITS[thread].remove(waiting)
            if not _WAITS[thread]:
                del _WAITS[thread]


def waiting_in(thread: int) -> Waiting | None:
    """Return the innermost wait of a thread, None if there is none.

    A wait for a target that another thread sets up is replaced by what that thread waits for.
    """
    with _LOCK:
        own = _WAITS.get(thread, [None])[-1]
        if own is None or not isinstance(own.wait, Arrival):
            return own
        setups = [stack for stack in _WAITS.values() if isinstance(stack[0].wait, Setup)]
        for stack in setups:
            first, last = stack[0].wait, stack[-1]
            if isinstance(first, Setup) and first.place == own.wait.place:
                return Waiting(wait=last.wait, since=last.since, beside=len(setups) - 1)
    return own


T = TypeVar("T")
EVERY_S, RARELY_S, PART = 0.02, 0.25, 8
"""The least and most seconds between observations; between, it is this part of the time waited."""


def poll(observe: Callable[[], T], until: Callable[[T], bool], within_s: float) -> T:
    """Observe until the predicate holds or the time is up; return the last value.

    It observes at least once: every 20 ms at first, then after each eighth of the time waited, at
    least four times a second.
    """
    began = time.monotonic()
    while True:
        observation = observe()
        waited = time.monotonic() - began
        if until(observation) or waited >= within_s:
            return observation
        del observation  # it may be large
        time.sleep(min(RARELY_S, max(EVERY_S, waited / PART), within_s - waited))


def awaited(wait: Wait, observe: Callable[[], T], until: Callable[[T], bool]) -> T:
    """Observe until the predicate holds or `wait.within_s` is up; return the last value.

    The wait is registered meanwhile, for whoever shows what a run waits for.
    """
    with during(wait):
        return poll(observe, until, wait.within_s)
