"""A pool of short-lived targets: started near their use, followed by successors, closed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from mcp_proxy_conformance.catalogue.world import LockKind, Step, World, server, tool, world
from mcp_proxy_conformance.discovery.targets import pool as pool_module
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.pool import EARLY_S, PACE_S, Pool, Ready, Wanted
from mcp_proxy_conformance.targets.target import AdapterError, without_frames
from mcp_proxy_conformance.targets.waits import poll

LASTING = world(server("forge", tool("zorvik_list")))
WORLD = structs.replace(LASTING, steps=(Step(lock="quarantine", server="forge"),))
LASTS_S, ARMED_S = 27.0, 5.0
FADING = frozenset[LockKind]({"quarantine"})
FAR = round(EARLY_S / PACE_S) + 1
"""Checks that take longer than a target is started before its use."""


@dataclass(eq=False)
class FakeStarted:
    """A target with the time of its start on the clock; it records that it was closed."""

    started_at: float
    world: World
    closed: bool = False

    def close(self) -> None:
        """Record that the target was closed."""
        self.closed = True


@dataclass
class Clocked:
    """A pool of targets that start instantly, on a clock that only tests advance."""

    pool: Pool[None]
    now: float = 0.0
    made: list[FakeStarted] = field(default_factory=list)

    def make(self, of: World) -> Ready[None]:
        """Return a new target, started at the clock's time, which says that its start took 5 s."""
        self.made.append(FakeStarted(self.now, of))
        return Ready(cast("Any", self.made[-1]), None, ARMED_S)

    def after(self, seconds: float, place: str) -> FakeStarted:
        """Advance the clock, and return the target that the pool then hands out for the place.

        Starts that are pending are awaited first.
        """
        self.known()
        self.now += seconds
        return cast("FakeStarted", self.pool.get(place, WORLD).started)

    def known(self) -> dict[str, float]:
        """Return {place: time of its target's start}, after all pending starts."""
        made = self.pool._made
        return {place: future.result().started.started_at for place, future in made.items()}


@pytest.fixture
def clocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clocked]:
    """Yield a pool of fake targets whose quarantine lasts 27 s, on a clock that tests advance.

    It is closed after the test.
    """
    target = ProxyTarget(
        kind="command", make=cast("Any", None), lasts_s=LASTS_S, fading=FADING, ahead=4
    )
    clocked_pool = Clocked(Pool(target, tmp_path, lambda _: None))
    monkeypatch.setattr(pool_module, "time", SimpleNamespace(monotonic=lambda: clocked_pool.now))
    monkeypatch.setattr(clocked_pool.pool, "_make", clocked_pool.make)
    yield clocked_pool
    clocked_pool.pool.close()


def test_a_target_is_started_when_its_use_is_near(clocked: Clocked) -> None:
    """A target of a far use is not started ahead until two checks of usual length are over."""
    clocked.pool.plan([Wanted("near", WORLD), Wanted("far", WORLD, FAR)])

    assert list(clocked.known()) == ["near"]
    for _ in range(2):
        clocked.after(PACE_S, "near")
    assert list(clocked.known()) == ["near", "far"]


def test_quick_checks_bring_a_use_nearer(clocked: Clocked) -> None:
    """After twenty checks of a twentieth of the usual time, a target ten times as far starts."""
    clocked.pool.plan([Wanted("near", WORLD), Wanted("far", WORLD, 10 * FAR)])

    for _ in range(20):
        clocked.after(PACE_S / 20, "near")

    assert list(clocked.known()) == ["near", "far"]


def test_what_grew_old_before_its_use_is_followed_in_time(clocked: Clocked) -> None:
    """A target that is nearly too old gets a successor, which the next use is given.

    The old one is closed.
    """
    clocked.pool.plan([Wanted("near", WORLD), Wanted("later", WORLD, 3)])
    clocked.after(0.0, "near")
    clocked.after(LASTS_S - 1, "near")

    assert clocked.known()["later~next"] == LASTS_S - 1
    assert clocked.after(2.0, "later").started_at == LASTS_S - 1
    assert _closed_soon(clocked.made[1])


def test_a_spare_is_followed_too_and_counts_for_no_check(clocked: Clocked) -> None:
    """Ten uses of a spare target bring no other use nearer.

    A spare target that is nearly too old gets a successor, too.
    """
    plan = [Wanted("stage", WORLD), Wanted("stage#second", WORLD, spare=True)]
    clocked.pool.plan([*plan, Wanted("far", WORLD, FAR + 10)])
    for _ in range(10):
        clocked.after(0.0, "stage#second")
    assert "far" not in clocked.known()

    clocked.after(LASTS_S - 1, "stage")
    assert clocked.known()["stage#second~next"] == LASTS_S - 1


def test_a_successor_that_is_too_old_itself_is_not_handed_out(clocked: Clocked) -> None:
    """If target and successor are both too old at the next use, a new target is made for it.

    All older ones are closed.
    """
    clocked.pool.plan([Wanted("stage", WORLD)])
    clocked.after(0.0, "stage")
    clocked.after(LASTS_S - 1, "stage")
    assert "stage~next" in clocked.known()

    assert clocked.after(2 * LASTS_S, "stage").started_at == clocked.now
    assert all(_closed_soon(made_target) for made_target in clocked.made[:-1])


def test_only_a_shared_target_whose_locks_last_is_kept(clocked: Clocked) -> None:
    """A shared target without a lock that fades is handed out at any age.

    One for a single check, which may set such a lock, is replaced.
    """
    clocked.pool.plan([Wanted("stage", LASTING), Wanted("check", LASTING, shared=False)])
    clocked.known()
    clocked.now += 10 * LASTS_S

    kept, new = (clocked.pool.get(place, LASTING, shared=place == "stage").started
                 for place in ("stage", "check"))  # fmt: skip

    assert [kept.started_at, new.started_at] == [0.0, clocked.now]


def _closed_soon(started: FakeStarted) -> bool:
    """Return whether the target is closed within 5 s; the pool closes in the background."""
    return poll(lambda: started.closed, bool, 5)


def test_a_pool_in_a_hurry_ends_what_is_open_and_is_still_closed_in_order(clocked: Clocked) -> None:
    """After `hurry`, twice, `release` and `close` raise nothing, and the open target is closed."""
    clocked.pool.plan([Wanted("near", WORLD)])
    near = clocked.after(0, "near")
    clocked.pool._open.add(cast("Any", near))

    clocked.pool.hurry()
    clocked.pool.hurry()
    clocked.pool.release("near")
    clocked.pool.close()

    assert near.closed


def test_a_failure_that_is_kept_holds_nothing_that_was_answered() -> None:
    """`without_frames` returns the error without its traceback, context and cause."""

    def answered() -> None:
        """Raise an AdapterError while a ValueError is handled."""
        try:
            int("from here")
        except ValueError:
            raise AdapterError("and here")  # noqa: B904 - as it may come

    with pytest.raises(AdapterError) as failure:
        answered()
    bare = without_frames(failure.value)

    assert (bare.__traceback__, bare.__context__, bare.__cause__) == (None, None, None)
