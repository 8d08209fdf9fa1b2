"""Lanes: checks that are judged side by side, each place by itself, in pytest's order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from _pytest.assertion import util

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.run import lanes as lanes_module
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.deadline import OutOfTime
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.run.lane_number import MOST, lanes_for
from mcp_proxy_conformance.run.lanes import Lanes
from mcp_proxy_conformance.run.subject import Check, Subject
from mcp_proxy_conformance.targets.adapter import AdapterError

LONG_S = 20.0
BROKEN = "broken"


@dataclass(frozen=True, eq=False)
class FakeItem:
    """A check of pytest's, at a place of that name."""

    place: str
    check: Callable[[Any], object] = lambda _: None
    ihook: Any = None


@dataclass(eq=False)
class FakeSubject(Subject):
    """A subject whose bench is the place's name; it notes what it is told is done."""

    done: list[str] = field(default_factory=list)

    def lacking(self, place: Place) -> None:
        """Lack nothing."""

    def open(self, place: Place) -> str:
        """Return the place's name; raise for a broken place."""
        if place.name == BROKEN:
            raise AdapterError("it did not start")
        return place.name

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call the check once."""
        del place
        return attempt(lambda: check(bench))

    def done_with(self, place: Place) -> None:
        """Note the end of a check."""
        self.done.append(place.name)


Begin = Callable[..., Lanes]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Return a function that begins to judge fake items in so many lanes; close them at the end."""
    begun: list[Lanes] = []

    def place(item: FakeItem) -> Place:
        """Return the place of a fake item."""
        return Place(name=item.place, world=World(servers=()), fresh=False, needs=())

    def begin_lanes(*items: FakeItem, number: int = 2, subject: Subject | None = None) -> Lanes:
        """Begin to judge the items."""
        begun.append(Lanes(subject or FakeSubject(), cast("Any", items), number))
        return begun[-1]

    monkeypatch.setattr(lanes_module, "_check", lambda item: item.check)
    monkeypatch.setattr(lanes_module, "place_of", place)
    monkeypatch.setattr(lanes_module, "explaining", lambda _: iter([None]))
    yield begin_lanes
    for lanes in begun:
        lanes.close()


def judged(lanes: Lanes, item: FakeItem) -> str:
    """Return the verdict of an item, once it is judged."""
    lanes.opened(cast("Any", item))
    return lanes.judged(cast("Any", item)).ending.verdict


def test_checks_of_two_places_are_judged_side_by_side(begin: Begin) -> None:
    """Two checks that wait for each other both pass, if each is in a lane of its own."""
    meeting = threading.Barrier(2)
    items = [FakeItem(name, lambda _: meeting.wait(LONG_S)) for name in ("plain", "mixed")]

    lanes = begin(*items)

    assert [judged(lanes, item) for item in items] == ["pass", "pass"]


def test_checks_of_one_place_are_judged_one_after_another(begin: Begin) -> None:
    """Of several checks at one place none begins before the one before it has ended."""
    running, seen = set[int](), list[tuple[int, int]]()

    def check(number: int) -> None:
        """Note the number of the check, and how many run beside it."""
        running.add(number)
        seen.append((number, len(running)))
        running.remove(number)

    items = [FakeItem("mixed", lambda _, n=number: check(n)) for number in range(20)]  # type: ignore[misc]
    lanes = begin(*items, number=4)

    assert [judged(lanes, item) for item in items] == ["pass"] * 20
    assert seen == [(number, 1) for number in range(20)]


def test_a_target_that_does_not_start_is_told_where_its_bench_is_awaited(begin: Begin) -> None:
    """The error of the set-up is raised to who asks for the bench; the place counts as done."""
    subject, item = FakeSubject(), FakeItem(BROKEN)
    lanes = begin(item, subject=subject)

    with pytest.raises(AdapterError, match="did not start"):
        lanes.opened(cast("Any", item))
    lanes.close()

    assert subject.done == [BROKEN]


def test_after_a_check_that_does_not_end_those_behind_it_are_judged(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the time of a check is over, another lane takes the checks of its place that follow."""
    ends = threading.Event()
    endless, following = FakeItem("mixed", lambda _: ends.wait(LONG_S)), FakeItem("mixed")
    lanes = begin(endless, following, number=1)
    entry = lanes._entries[cast("Any", endless)]
    assert lanes.opened(cast("Any", endless)) == "mixed"

    def over() -> None:
        """Raise what the alarm raises in the thread that waits."""
        raise OutOfTime("the check did not end within 1 s", of_run=False)

    monkeypatch.setattr(entry.judged, "exception", over)
    with pytest.raises(OutOfTime):
        lanes.judged(cast("Any", endless))

    assert judged(lanes, following) == "pass"
    ends.set()


def test_after_a_stop_no_check_begins(begin: Begin) -> None:
    """A check behind one that runs when lanes are stopped is never called."""
    runs, ends, called = threading.Event(), threading.Event(), list[str]()

    def first(_: Any) -> None:
        """Run until the lanes are stopped."""
        runs.set()
        ends.wait(LONG_S)

    lanes = begin(FakeItem("mixed", first), FakeItem("mixed", called.append), number=1)
    runs.wait(LONG_S)
    lanes.stop()
    ends.set()
    lanes.close()

    assert called == []


def test_comparisons_are_explained_while_pytest_runs_no_item(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """From the first check to the stop, pytest explains comparisons between items as in them."""
    monkeypatch.setattr(lanes_module, "_check", lambda _: lambda _bench: None)
    place = Place(name="plain", world=World(servers=()), fresh=False, needs=())
    monkeypatch.setattr(lanes_module, "place_of", lambda _: place)
    monkeypatch.setattr(util, "_reprcompare", None)

    lanes = Lanes(FakeSubject(), [request.node], 1)
    explained = util._reprcompare
    lanes.close()

    assert explained is not None
    assert util._reprcompare is None


@pytest.mark.parametrize(
    ("waited_s", "processors", "load", "expected"),
    [
        (0.1, 2, 0.0, 2),  # a target that answers at once keeps a processor busy itself
        (2.6, 2, 0.0, 4),
        (2.6, 2, 2.0, 4),
        (2.6, 2, 4.0, 2),
        (2.6, 2, 9.0, 1),
        (0.1, 1, 0.0, 1),
        (2.6, 64, 0.0, MOST),
    ],
)
def test_waits_make_lanes_and_a_busy_machine_takes_them(
    waited_s: float, processors: int, load: float, expected: int
) -> None:
    """A target that is waited for gets two lanes for each processor; other load takes them."""
    assert lanes_for(waited_s, processors, load) == expected
