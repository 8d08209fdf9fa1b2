"""Lanes: threads that judge checks side by side, ahead of pytest's loop, as most of them wait."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from _pytest.assertion import pytest_runtest_protocol as explaining

from mcp_proxy_conformance.catalogue.resources import checks_dir
from mcp_proxy_conformance.run.collection import Place, place_of
from mcp_proxy_conformance.run.deadline import OutOfTime
from mcp_proxy_conformance.run.judgement import Ending
from mcp_proxy_conformance.run.subject import Check, Rests, Subject
from mcp_proxy_conformance.targets.waits import Judgement, Turn, during

END_S = 5.0
"""Seconds that a lane may take to end once the targets have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A judged check: how it ended, the basis of its result, and its seconds without the set-up."""

    ending: Ending
    rests: Rests
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """A check that a lane judges: its place, and the results once they are there."""

    place: Place
    check: Check
    opened: Future[Any] = field(default_factory=Future)
    judged: Future[Judged] = field(default_factory=Future)


class Lanes:
    """Judges checks in threads, in pytest's order; the checks of one place one after another.

    A check that is not in one of them is judged by pytest's loop itself.
    """

    def __init__(self, subject: Subject, items: Sequence[pytest.Item], number: int) -> None:
        """Begin to judge those of the checks that need nothing but their bench."""
        self._subject = subject
        self._entries = {
            item: Entry(place=place, check=check)
            for item in items
            if (check := _check(item)) is not None
            and (place := place_of(item)) is not None
            and subject.lacking(place) is None
        }
        units: dict[str, deque[Entry]] = {}
        for entry in self._entries.values():
            units.setdefault(entry.place.name, deque()).append(entry)
        self._units, self._running = deque(units.values()), dict[Entry, deque[Entry]]()
        self._lock, self._over = threading.Lock(), False
        self._threads: list[threading.Thread] = []
        # pytest explains comparisons, which findings are made of, only while it runs an item
        self._explained: Generator[None, object, object] | None = None
        if self._entries:
            self._explained = explaining(next(iter(self._entries)))
            next(self._explained)
        for _ in range(min(number, len(self._units))):
            self._begin()

    def _begin(self) -> None:
        """Begin another lane; a check that never ends must not keep the process from ending."""
        thread = threading.Thread(target=self._work, name="lane", daemon=True)
        self._threads.append(thread)
        thread.start()

    def __contains__(self, item: pytest.Item) -> bool:
        """Whether a lane judges the check."""
        return item in self._entries

    def opened(self, item: pytest.Item) -> Any:
        """Return the bench of a check, waiting until it is there; raises as `Subject.open`."""
        return self._awaited(item, self._entries[item].opened)

    def judged(self, item: pytest.Item) -> Judged:
        """Return a check as it was judged, waiting until it is."""
        judged: Judged = self._awaited(item, self._entries[item].judged)
        return judged

    def _awaited(self, item: pytest.Item, future: Future[Any]) -> Any:
        """Return the result of a future; if time is over first, leave the check to its lane."""
        entry = self._entries[item]
        try:
            with during(Turn(place=entry.place.name)):
                failure = future.exception()
        except OutOfTime:
            self._leave(entry)
            raise
        if failure is not None:
            raise failure.with_traceback(None)
        return future.result()

    def _leave(self, entry: Entry) -> None:
        """Have another lane judge the checks that come after one that does not end."""
        with self._lock:
            unit = self._running.get(entry)
            if unit is None:
                return
            self._units.appendleft(deque(unit))
            unit.clear()
        self._begin()

    def _work(self) -> None:
        """Judge the checks of one place after another, until there are no more."""
        while (unit := self._next_unit()) is not None:
            while (entry := self._next_of(unit)) is not None:
                with during(Judgement(place=entry.place.name)):
                    self._judge(entry)

    def _next_unit(self) -> deque[Entry] | None:
        with self._lock:
            return self._units.popleft() if self._units and not self._over else None

    def _next_of(self, unit: deque[Entry]) -> Entry | None:
        with self._lock:
            if not unit or self._over:
                return None
            entry = unit.popleft()
            self._running[entry] = unit
            return entry

    def _judge(self, entry: Entry) -> None:
        """Open the bench of a check, judge it, and release its target after its last check."""
        subject, place = self._subject, entry.place
        awaited: Future[Any] = entry.opened
        try:
            bench = subject.open(place)
            began = time.monotonic()
            entry.opened.set_result(bench)
            awaited = entry.judged
            rests = subject.rests(place, subject.judge(entry.check, bench, place))
            seconds = time.monotonic() - began
            entry.judged.set_result(Judged(ending=rests.ending, rests=rests, seconds=seconds))
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            awaited.set_exception(error)
        finally:
            with self._lock:
                self._running.pop(entry, None)
            with suppress(RuntimeError):  # the run is over
                subject.done_with(place)

    def stop(self) -> None:
        """Begin no further check."""
        self._over = True
        if self._explained is not None:
            with suppress(StopIteration):
                next(self._explained)
            self._explained = None

    def close(self) -> None:
        """Wait for the lanes, which end when their targets have ended."""
        self.stop()
        deadline = time.monotonic() + END_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _check(item: pytest.Item) -> Check | None:
    """Return an installed check, as a function of its bench; None for all other tests."""
    if not isinstance(item, pytest.Function) or not item.path.is_relative_to(checks_dir()):
        return None
    arguments = dict(item.callspec.params) if hasattr(item, "callspec") else {}
    names = set(item._fixtureinfo.argnames)  # noqa: SLF001
    return partial(_called, item.obj, arguments) if names - {*arguments} == {"bench"} else None


def _called(check: Any, arguments: dict[str, Any], bench: Any) -> None:
    """Call a check with its bench and its parameters."""
    check(bench=bench, **arguments)
