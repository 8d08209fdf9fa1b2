"""Effects of operator actions: which calls show one, and how long the others are given."""

import time

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.targets.effects import Act, Effects, Lag

WIPE, LIST = ToolKey("forge", "wipe"), ToolKey("forge", "list")
ENFORCE_S = 5.0
LOCK = Act("lock user", "user", "forge", ("wipe",))
LIFT = Act("unlock user", "user", "forge", ("wipe",))
REFRESH = Act("refresh", "refresh", "forge")


@pytest.fixture
def effects() -> Effects:
    """Effects of a target on which a lock took 0.2 s at most, with two tools that were called."""
    made = Effects(Lag({"lock user": [(0.1, True), (0.2, True), (0.1, True)]}), ENFORCE_S)
    made.called(WIPE, reached=True)
    made.called(LIST, reached=True)
    return made


def test_a_lock_is_shown_by_the_first_refusal_of_a_tool_that_it_names(effects: Effects) -> None:
    """Not by a call that is still reached, nor by the refusal of another tool."""
    effects.done(LOCK)

    effects.called(WIPE, reached=True)
    effects.called(LIST, reached=False)
    before = effects.due
    effects.called(WIPE, reached=False)

    assert (before > 0, effects.due) == (True, 0.0)


def test_a_second_lock_is_shown_by_no_refusal(effects: Effects) -> None:
    """The first lock refused the call already; so the second is given the target's lag."""
    effects.done(LOCK)
    effects.called(WIPE, reached=False)
    effects.done(LOCK)
    laid = time.monotonic()

    effects.called(WIPE, reached=False)

    assert effects.due - laid == pytest.approx(0.3, abs=0.05)


def test_two_locks_at_once_are_not_both_shown_by_one_refusal(effects: Effects) -> None:
    """One change of the outcome shows one action: the earliest."""
    effects.done(LOCK)
    effects.done(LOCK)

    effects.called(WIPE, reached=False)

    assert effects.due > 0


def test_a_lift_before_its_lock_took_effect_is_shown_by_no_reached_call(effects: Effects) -> None:
    """The call was reached before, too; the lock may come into force yet."""
    effects.done(LOCK)
    effects.done(LIFT)

    effects.called(WIPE, reached=True)

    assert effects.due > 0


def test_a_list_is_shown_by_a_tool_that_turns_up_or_a_changed_one_that_is_refused(
    effects: Effects,
) -> None:
    """A tool that no upstream had was not reached before."""
    fresh = ToolKey("forge", "fresh")
    effects.called(fresh, reached=False)

    effects.done(REFRESH)
    effects.called(fresh, reached=True)
    turned_up = effects.due
    effects.called(WIPE, reached=True)
    effects.done(REFRESH)
    effects.called(WIPE, reached=False)

    assert (turned_up, effects.due) == (0.0, 0.0)


def test_a_lag_that_was_seen_is_kept_for_every_target() -> None:
    """Without one, and on a patient target, an effect is given all of the time."""
    lag = Lag()
    first, second = Effects(lag, ENFORCE_S), Effects(lag, ENFORCE_S)
    second.done(LOCK)
    unknown = second.due - time.monotonic()

    for reached in (False, True, False):
        first.called(WIPE, reached=not reached)
        first.done(LIFT if reached else LOCK)
        first.called(WIPE, reached=reached)
    lag.seen(LOCK.operation, 0.01, polled=False)
    known = second.due - time.monotonic()
    second.patient = True

    assert (unknown > 4, known < 1, second.due - time.monotonic() > 4) == (True, True, True)


def test_the_lag_of_one_operation_says_nothing_of_another(effects: Effects) -> None:
    """After prompt locks of the user, a lift is given all of the time."""
    effects.done(LIFT)
    laid = time.monotonic()

    assert effects.due - laid == pytest.approx(ENFORCE_S, abs=0.05)


def test_each_tool_of_an_act_is_due_to_it_and_to_no_later_one() -> None:
    """After a lock of two tools the refusal of the second says nothing of a lock after it."""
    effects = Effects(Lag(), ENFORCE_S)
    for key in (WIPE, LIST):
        effects.called(key, reached=True)

    effects.done(LOCK._replace(tools=("wipe", "list")))
    effects.called(WIPE, reached=False)
    effects.done(LOCK._replace(operation="lock config", tools=("list",)))
    laid = time.monotonic()
    effects.called(LIST, reached=False)

    assert effects.due - laid == pytest.approx(ENFORCE_S, abs=0.05)


def test_three_times_of_an_operation_tell_how_long_it_takes() -> None:
    """Before, it may take all of the time. The latest counts, if thrice seen of repeated calls."""
    lag, allowed = Lag(), list[float]()

    for seconds in (0.2, 0.4, 0.3):
        allowed.append(lag.allowed("lock user", ENFORCE_S))
        lag.seen("lock user", seconds, polled=False)
    allowed.append(lag.allowed("lock user", ENFORCE_S))
    for seconds in (0.2, 0.3, 0.1):
        lag.seen("lock user", seconds, polled=True)
    allowed.append(lag.allowed("lock user", ENFORCE_S))

    assert allowed == pytest.approx([ENFORCE_S] * 3 + [0.6, 0.45])


def test_an_operation_that_was_hardly_seen_may_take_as_long_as_others_of_its_kind() -> None:
    """All locks count for one that was seen less than thrice, lifts do not."""
    lag = Lag({"unlock user": [(0.1, True)] * 3, "lock user": [(0.2, True), (0.4, True)]})
    hardly = lag.allowed("lock config", ENFORCE_S)

    lag.seen("lock config", 0.1, polled=True)

    assert (hardly, lag.allowed("lock config", ENFORCE_S)) == pytest.approx((ENFORCE_S, 0.6))


def test_what_a_restart_changes_shows_no_act(effects: Effects) -> None:
    """A call that ends otherwise only after a restart is no sign of an act before it."""
    effects.done(LOCK)
    effects.done(Act("restart", "restart"))

    effects.called(WIPE, reached=False)

    assert effects.due > 0


def test_a_reached_call_shows_every_lift_of_its_tool(effects: Effects) -> None:
    """Also of a tool that was never called before; all its locks must be lifted by then."""
    fresh = ToolKey("forge", "fresh")
    for kind in ("config", "approval"):
        effects.done(Act(f"unlock {kind}", kind, "forge", (fresh.tool,)))

    before = effects.due
    effects.called(fresh, reached=True)

    assert (before > 0, effects.due) == (True, 0.0)
