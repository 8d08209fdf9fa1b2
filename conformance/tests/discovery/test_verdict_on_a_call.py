"""The verdict on one call of a check: endings, settling, second targets, and what is kept of it."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.world import USER, server, tool, world
from mcp_proxy_conformance.discovery.arming import Armed
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.driven_proxy import DrivenProxy
from mcp_proxy_conformance.discovery.remediation import judge as judge_text
from mcp_proxy_conformance.discovery.settled import judge
from mcp_proxy_conformance.discovery.targets.effects import Effects, Lag
from mcp_proxy_conformance.discovery.targets.embedded import embedded
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.targets.target import AdapterError, Refused, Unsupported
from mcp_proxy_conformance.verdict.result import (
    Breach,
    DeclarationFault,
    Finding,
    Inconclusive,
    Misshapen,
    NotApplicable,
)
from mcp_proxy_conformance.wire.faults import Unreachable
from mcp_proxy_conformance.wire.transcript import Transcript
from mcp_proxy_mutants.discovery.changed import Changed


@dataclass
class FakeTarget:
    """A target with only the settle time, in seconds, that `judge` reads."""

    settle_s: float = 0.0


@dataclass
class FakeStarted:
    """A started target without any process behind it."""

    target: FakeTarget = field(default_factory=FakeTarget)
    transcript: Transcript = field(default_factory=Transcript)
    last_change: float = field(default_factory=time.monotonic)
    settled_from: float = field(default_factory=time.monotonic)
    answers: dict[tuple[object, ...], object] = field(default_factory=dict)
    effects: Effects = field(default_factory=lambda: Effects(Lag(), 5.0))

    @property
    def settled_at(self) -> float:
        """Return the time from which the target is settled: `settled_from` plus its settle time."""
        return self.settled_from + self.target.settle_s

    def taken(self) -> tuple[Finding, ...]:
        """Return no breaches of schemas."""
        return ()


@dataclass
class FakeBench:
    """A bench that only carries its started target."""

    started: FakeStarted = field(default_factory=FakeStarted)
    states: dict[object, object] = field(default_factory=dict)
    armed: Armed = field(default_factory=lambda: Armed(states={}))


def bench(settle_s: float = 0.0) -> Bench:
    """Return a bench on a fake target that settles within `settle_s` seconds from now."""
    return cast("Bench", FakeBench(FakeStarted(FakeTarget(settle_s))))


def raising(error: BaseException) -> Callable[[], Any]:
    """Return a check that raises this error."""

    def check() -> None:
        """Raise the error that was given."""
        raise error

    return check


@pytest.mark.parametrize(
    ("error", "verdict", "blame"),
    [
        (AssertionError("x"), "fail", "target"),
        (Breach({"x": 1}), "fail", "target"),
        (Misshapen("x", "FR-003.members"), "fail", "target"),
        (Misshapen("x"), "inconclusive", "target"),
        (Inconclusive("x"), "inconclusive", ""),
        (NotApplicable("x"), "not_applicable", ""),
        (Refused("x"), "not_applicable", ""),
        (Unsupported("x"), "inconclusive", ""),
        (AdapterError("x"), "error", "adapter"),
        (Unreachable("peer", "connect", "x", 0.1), "error", "network"),
        (DeclarationFault("x"), "error", "declaration"),
        (ZeroDivisionError("x"), "error", "suite"),
    ],
)
def test_each_way_of_ending_has_its_verdict(error: BaseException, verdict: str, blame: str) -> None:
    """`attempt` of a check that raises this error returns this verdict and blame."""
    ending = attempt(raising(error))

    assert (ending.verdict, ending.blame) == (verdict, blame)


def test_an_interruption_is_no_verdict() -> None:
    """`attempt` lets a KeyboardInterrupt that a check raises pass."""
    with pytest.raises(KeyboardInterrupt):
        attempt(raising(KeyboardInterrupt()))


def test_a_claim_may_hold_late_within_the_settle_time() -> None:
    """A check that fails twice and then passes, within the settle time of 5 s, passes."""
    claims = iter([False, False, True])

    def check(_: Bench) -> None:
        """Fail at the first two calls, pass at the third."""
        assert next(claims)

    ending = judge(check, bench(settle_s=5.0), None)

    assert ending.verdict == "pass"


@pytest.mark.timeout(20)
def test_looking_at_a_lock_again_and_again_grants_no_more_time() -> None:
    """A check that fails, and begins the settle time again at each call, fails in the end."""

    def check(current: Bench) -> None:
        """Begin the settle time again, and fail."""
        current.started.settled_from = time.monotonic()  # what `refused` and `reached` do
        raise AssertionError

    ending = judge(check, bench(settle_s=0.2), None)

    assert ending.verdict == "fail"


def test_a_claim_has_its_time_from_when_its_lock_is_there() -> None:
    """The settle time of 0.5 s begins when a check first fails, not while it is inconclusive.

    A check that is inconclusive for 0.4 s, then fails until 0.8 s, passes.
    """
    began = time.monotonic()

    def check(current: Bench) -> None:
        """Begin the settle time again; be inconclusive for 0.4 s, fail until 0.8 s, then pass."""
        current.started.settled_from = time.monotonic()  # what `refused` and `reached` do
        if time.monotonic() - began < 0.4:
            time.sleep(0.15)
            raise Inconclusive("the lock had no effect")
        assert time.monotonic() - began > 0.8

    ending = judge(check, bench(settle_s=0.5), None)

    assert ending.verdict == "pass"


def test_a_check_that_acted_is_not_called_again() -> None:
    """A check that changes something as the operator, and fails, is called once only."""
    calls = []

    def check(on: Bench) -> None:
        """Count the call, note a change by the operator, and fail."""
        calls.append(1)
        on.started.last_change = time.monotonic()
        raise AssertionError

    ending = judge(check, bench(settle_s=5.0), None)

    assert (ending.verdict, len(calls)) == ("fail", 1)


def test_a_failure_is_judged_from_answers_of_its_own() -> None:
    """A check that fails on answers kept from another check is called again without them."""
    on = bench()
    on.started.answers[("old",)] = cast("Any", "answer")

    def check(it: Bench) -> None:
        """Fail if answers of an earlier check are kept."""
        assert not it.started.answers

    ending = judge(check, on, None)

    assert ending.verdict == "pass"


@pytest.mark.parametrize(
    ("second", "verdict"), [(True, "inconclusive"), (False, "fail")], ids=["passes", "fails"]
)
def test_a_shared_failure_counts_only_when_a_second_target_shows_it(
    second: bool, verdict: str
) -> None:
    """A failure on a shared target counts if a second target fails, too.

    If the second passes it is inconclusive.
    """
    first = bench()
    other = bench()

    def check(on: Bench) -> None:
        """Fail on the first target, and on the second unless `second` is true."""
        assert on is other and second  # noqa: PT018 - one condition

    ending = judge(check, first, lambda: other)

    assert ending.verdict == verdict


@pytest.mark.parametrize(
    ("fresh", "verdict"), [("fails", "fail"), ("passes", "inconclusive")], ids=["fails", "passes"]
)
def test_a_target_that_a_check_has_broken_is_judged_by_a_fresh_one(
    fresh: str, verdict: str
) -> None:
    """If a check fails, and then finds nothing on that target, a fresh target decides.

    A failure there counts; a pass is inconclusive.
    """
    first, other = bench(), bench()
    first.started.answers[("old",)] = cast("Any", "answer")
    broken: list[Bench] = []

    def check(on: Bench) -> None:
        """At the first call on a target, break it and fail; be inconclusive on a broken one.

        On the fresh target the first call passes if `fresh` says so.
        """
        if on in broken:
            raise Inconclusive("it finds nothing any more")
        broken.append(on)
        assert on is other and fresh == "passes"  # noqa: PT018 - one condition

    ending = judge(check, first, lambda: other)

    assert (ending.verdict, broken) == (verdict, [first, other])


def test_a_breach_needs_no_second_look() -> None:
    """A check that raises a Breach fails at once, and no second target is asked for."""
    confirmations = []

    def check(_: Bench) -> None:
        """Raise a Breach: the call of a locked tool reached its upstream."""
        raise Breach({"calls of forge:drop": 1})

    def confirm() -> Bench:
        """Count that a second target was asked for, and return one."""
        confirmations.append(1)
        return bench()

    ending = judge(check, bench(settle_s=5.0), confirm)

    assert (ending.verdict, confirmations) == ("fail", [])


def test_an_ending_says_where_its_call_began() -> None:
    """If one message was recorded before a check, the check's ending has `since` 1."""
    on = bench()
    on.started.transcript.record(
        edge="client", direction="sent", peer="p", raw=b"", note="", headers=()
    )

    ending = judge(lambda _: None, on, None)

    assert ending == Ending(verdict="pass", since=1)


def test_a_reason_that_quotes_a_target_is_no_longer_than_a_reader_reads() -> None:
    """A reason of a million characters is cut below 20,000, and ends with its true length."""

    def check() -> None:
        """Raise Inconclusive with a reason of a million characters."""
        raise Inconclusive("x" * 1_000_000)

    reason = attempt(check).reason

    assert len(reason) < 20_000
    assert reason.endswith("... (1000000 characters)")


class _Large:
    """A stand-in for a large answer, which must be freed."""


@pytest.mark.parametrize("kind", [Misshapen, Inconclusive, NotApplicable, KeyError])
def test_an_ending_lets_go_of_what_was_answered(kind: type[Exception]) -> None:
    """The ending of a check that raised while it handled an answer does not keep the answer.

    The answer is freed.
    """
    held: list[weakref.ref[_Large]] = []

    def read(answer: _Large) -> None:
        """Note a weak reference to the answer, and raise a ValueError that holds it."""
        held.append(weakref.ref(answer))
        raise ValueError(answer)

    def check() -> None:
        """Read a large answer, and raise `kind` while the ValueError is handled."""
        try:
            read(_Large())
        except ValueError:
            raise kind("it cannot be read") from None

    ending = attempt(check)

    assert ending.reason
    assert [reference() for reference in held] == [None]


@pytest.mark.proof
def test_texts_that_were_judged_are_kept_with_the_ending() -> None:
    """An ending keeps the remediation texts that were unread, and the pinned ones, once each.

    They have known statuses, at most ten of 2,000 characters, and can be encoded as JSON.
    """
    odd = "Ring \ud800 upstairs."

    def check() -> None:
        """Judge pinned and unread texts, some twice or of no known status, then 1000 unread."""
        for status in (*["disabled_by_config"] * 2, "disabled_by_user", "none\n[such]"):
            judge_text(odd, status, pins={odd: frozenset({"disabled_by_user"})})
            judge_text("Ask the moon.", status)
        for number in range(1000):
            judge_text(f"Ask moon {number}." + "!" * 3 * number, "disabled_by_config")

    ending = attempt(check)

    assert {judged.status for judged in ending.unread} == {"disabled_by_config", "disabled_by_user"}
    assert [judged.status for judged in ending.pinned] == ["disabled_by_config", "disabled_by_user"]
    assert len(ending.unread) <= 10
    assert all(len(judged.text) <= 2_000 for judged in ending.unread)
    assert msgspec.json.encode([ending.unread, ending.pinned])


FORGE = world(server("forge", tool("drop", locked=USER)))


@pytest.mark.parametrize("fresh", [False, True], ids=["shared", "fresh"])
def test_a_failure_that_a_second_target_does_not_show_is_inconclusive(
    fresh: bool, tmp_path: Path
) -> None:
    """A check that fails only on the first target of its place does not accuse the target.

    So it is on a shared stage, and in a world that was made for one check.
    """
    target = embedded(Changed(id="unchanged", text="The reference itself."), settle_s=0.0)
    subject = DrivenProxy(target, tmp_path, tmp_path, clauses=frozenset())
    place = Place(name="forge", world=FORGE, fresh=fresh, needs=())
    try:
        subject.plan([place], partial_run=False)
        first = subject.open(place)

        def check(on: Bench) -> None:
            """Fail on the first target alone."""
            assert on.started is not first.started

        ending = subject.judge(cast("Any", check), first, place)
    finally:
        subject.close()

    assert (ending.verdict, ending.cause) == ("inconclusive", "disagrees")
