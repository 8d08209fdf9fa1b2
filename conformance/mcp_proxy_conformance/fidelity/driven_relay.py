"""A relay as subject of a run: a relay started per stage, failures confirmed on a second one.

Also the bench of checks of laws, which try them on generated values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proxy_conformance.catalogue.own_case import OwnCase, parameter
from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.offers import FEATURES, STATELESS
from mcp_proxy_conformance.fidelity.relay_case import RelayCase, relay_cases
from mcp_proxy_conformance.fidelity.relay_pool import RelayPool
from mcp_proxy_conformance.fidelity.relay_target import RelayTarget
from mcp_proxy_conformance.fidelity.stages import GENERATED, RELAYED, given_at
from mcp_proxy_conformance.fidelity.started_relay import StartedRelay
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt, confirmed
from mcp_proxy_conformance.run.subject import Check, Probed, Rests, Subject
from mcp_proxy_conformance.targets.state_folder import keep_log, remove
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.upstream.relayed import Relayed
from mcp_proxy_conformance.verdict.cited import CitedLocks, CitedStage
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.outcome import broke
from mcp_proxy_conformance.wire.faults import Unreachable

if TYPE_CHECKING:
    from mcp_proxy_conformance.run.laws.engine import Laws


class ValueBench:
    """Access of a check of laws to the laws of the generated values."""

    def __init__(self, laws: Laws[RelayCase]) -> None:
        """Keep the laws."""
        self._laws = laws

    def law(self, name: str) -> Comparison:
        """Try the law of this name on the generated values; return a Comparison, not concluded.

        Raises Inconclusive if no value was answered, NotApplicable if the client's revision lacks
        what the law is about.
        """
        return self._laws.compared(name)


SECOND = "#second"
PASS_EXCERPT, EXCERPT = 4, 80
EARLY = 2
"""Checks that wait at once, each on a relay of its own, while others run."""
SETTLED = ("pass", "not_applicable")
"""Verdicts of a first call that count, on a relay that others have used too."""
AHEAD = 4
"""Relays that are started before their first check, while earlier checks wait."""
UNLOCKED = CitedLocks(called=[], refused=[], skipped={}, unproven={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Early:
    """The ending of a check that began early, its relay, and its part of the relay's transcript."""

    ending: Ending
    relay: StartedRelay
    is_new: bool
    messages: slice


class DrivenRelay(Subject):
    """A relay that the run starts in front of scripted servers.

    `confirm`: a failure on a relay that other checks have used counts if it is seen on a new one
    too; `keep`: the folders of its output are kept.
    """

    reuses = True
    target: RelayTarget

    def __init__(
        self, target: RelayTarget, out: Path, scratch: Path, *, confirm: bool = True,
        keep: bool = False,
    ) -> None:  # fmt: skip
        """Keep the settings; start nothing yet."""
        self.target = target
        self.own_cases = [OwnCase(own, RELAYED) for own in target.cases]
        self._out, self._scratch = out, scratch
        self._confirm, self._keep = confirm, keep
        self._pool = RelayPool(target, scratch)
        self._started: dict[str, StartedRelay] = {}
        self._first = Place(RELAYED.id, RELAYED, fresh=False, needs=())
        self._coming: list[Relayed] = []
        self._early: dict[str, Future[Early]] = {}
        self._waiting = ThreadPoolExecutor(EARLY, "early checks")
        self._cited: list[CitedStage] = []
        self._uses = Counter[str]()
        self._given: dict[str, Relayed] = {}
        self._used_before = set[str]()
        self._basis: dict[str, tuple[StartedRelay, slice]] = {}
        self._worn = set[str]()
        self._silence: Unreachable | None = None
        self._laws: Laws[RelayCase] | None = None

    @property
    def laws(self) -> Laws[RelayCase]:
        """The laws of this run, on its generated values, made at first use."""
        if self._laws is None:
            # hypothesis takes a third of a second to import, and only laws need it
            from mcp_proxy_conformance.fidelity.generated_calls import GeneratedValues  # noqa: PLC0415
            from mcp_proxy_conformance.run.laws.engine import Laws  # noqa: PLC0415

            place = Place(GENERATED.id, GENERATED, fresh=False, needs=())
            values = GeneratedValues(
                lambda: RelayBench(self._relay(GENERATED.id, place)),
                examples=self.target.examples, seed=self.target.seed, out=self._out,
                again=self._confirm,
            )  # fmt: skip
            self._laws = Laws(values)
        return self._laws

    def probe(self) -> Probed:
        """Start the relay of the first check; note server and wire.

        A server with the upstream's name, which a relay may pass on, is not noted. The result stops
        the run if the relay does not start.
        """
        try:
            relay = self._relay(self._first.name, self._first)
        except AdapterError as error:
            return Probed(stopped=broke(str(error)))
        self.wire = relay.wire
        told = relay.through.main.server
        if told.name != relay.through.server.name:  # a relay may pass on the upstream's name
            self.server = told
        return Probed()

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Count the checks of each applicable place, and begin to start relays ahead.

        First one for the first place and one for each of two early checks; then, while fewer than
        four wait to be taken, one for each set of upstream data that neither needs.
        """
        del partial_run
        applicable = self.applicable(places)
        self.count(applicable)
        self._first = next(iter(applicable), self._first)
        early = [place for place in applicable if self.is_early(place)]
        for place in (self._first, *early[:EARLY]):
            self._pool.begin(given_at(place.world))
        ahead = {id(given_at(place.world)) for place in (self._first, *early)}
        every = {id(given): given for given in self._given.values()}
        self._coming = [given for key, given in every.items() if key not in ahead]
        self._start_ahead()

    def soon(self, places: Sequence[Place]) -> None:
        """Begin to start relays for the places whose upstream data no started relay has."""
        for place in places:
            given = given_at(place.world)
            if not any(relay.given is given for relay in self._started.values()):
                self._pool.expect(given)

    def is_early(self, place: Place) -> bool:
        """Whether the check of a place takes long, on a relay of its own."""
        return place.fresh and place.long

    def begin(self, checks: Sequence[tuple[Place, Check]]) -> None:
        """Begin these checks in threads, two at once, each when a relay has started for it."""
        for place, check in checks:
            self._early[place.name] = self._waiting.submit(self._attempted, place, check)

    def count(self, places: Sequence[Place]) -> None:
        """Set how many checks use each place, forgetting earlier counts."""
        self._uses = Counter(place.name for place in places)
        self._given = {place.name: given_at(place.world) for place in places}

    def open(self, place: Place) -> Any:
        """Return a bench on the place's relay, started if needed; AdapterError if it fails to.

        A check that began early is waited for. A relay that no longer served after the last check
        is ended first. At the place of generated values it is a ValueBench.
        """
        if place.name in self._early:
            early = self._early[place.name].result()
            self._cite(place, early.relay, is_new=early.is_new)
            self._basis[place.name] = early.relay, early.messages
            return RelayBench(early.relay)
        if place.name in self._worn:
            self._worn.discard(place.name)
            for relay in self._without(place.name):
                self._pool.end(relay)
        if place.name == GENERATED.id:
            return ValueBench(self.laws)
        relay = self._relay(place.name, place)
        self._basis[place.name] = relay, slice(relay.transcript.mark(), None)
        return RelayBench(relay)

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call a check, or take the ending of one that began early; call it again to confirm.

        It is called again, on a new relay, unless it passed, is not applicable, final or of a law:
        at a shared place if failures are confirmed, at a fresh one if its relay had been used
        before. A failure at a shared place keeps the clauses broken both times; any other ending is
        replaced by the second. After a list of tools that timed out, none is waited for again. A
        relay that no longer serves is replaced for the next check.
        """
        early = self._early.pop(place.name, None)
        watch = () if place.name == GENERATED.id else (bench.relay.latest,)
        ending = early.result().ending if early else attempt(partial(check, bench), *watch)
        if place.name == GENERATED.id:
            return ending
        self._silence = self._silence or bench.relay.through.silence
        if ending.verdict in SETTLED:
            return ending
        relay, basis = self._basis[place.name]
        if early is None:
            basis = slice(basis.start, relay.transcript.mark())
            self._basis[place.name] = relay, basis
        is_known = ending.error is not None and ending.error is self._silence
        again = place.name in self._used_before if place.fresh else self._confirm
        if again and not (is_known or ending.final):
            other = self._relay(place.name + SECOND, place)
            mark = other.transcript.mark()
            second = attempt(partial(check, RelayBench(other)), other.latest)
            if not place.fresh and ending.verdict == "fail":
                ending = confirmed(ending, second, "the relay")
            else:
                ending = second
                self._basis[place.name] = other, slice(mark, other.transcript.mark())
        if early is None and not bench.serves():
            self._worn.add(place.name)
        return ending

    def rests(self, place: Place, ending: Ending, cited: Collection[str]) -> Rests:
        """Return the ending with the last messages of the check: four of a pass, else up to 80.

        They are preceded by those `cited`. Messages of the direct connection to the upstream are
        left out. If the network is blamed and the relay has ended, the reason gets the end of its
        log. A law has lines on its values instead.
        """
        if place.name == GENERATED.id and self._laws is not None:
            return Rests(ending=ending, lines=(*self._laws.evidence, *self._laws.basis))
        if place.name not in self._basis:
            return Rests(ending=ending)
        relay, basis = self._basis[place.name]
        every = relay.transcript.since(0)[basis]
        passed = [message for message in every if not relay.is_direct(message)]
        most = PASS_EXCERPT if ending.verdict == "pass" else EXCERPT
        excerpt = [
            message
            for left, message in enumerate(passed, -len(passed))
            if left >= -most or str(message.id) in cited
        ]
        if ending.blame == "network" and not relay.alive():
            log = relay.log().strip()
            why = f"{ending.reason}; the target has ended, and its log ends with: {log}"
            ending = replace(ending, reason=why)
        messages = {f"{place.name}/{message.id}": message.cited() for message in excerpt}
        return Rests(ending=ending, messages=messages)

    def stage(self, name: str) -> CitedStage | None:
        """Return the record of the relay last started at the place of that name; else None."""
        return next((each for each in reversed(self._cited) if each.name == name), None)

    @property
    def stages(self) -> Sequence[CitedStage]:
        """The records of all started relays."""
        return self._cited

    def done_with(self, place: Place) -> None:
        """Count down a place's checks; after the last one its relays go back to the pool.

        The pool ends those whose upstream data no remaining place needs; others serve further
        places.
        """
        self._uses[place.name] -= 1
        if self._uses[place.name] > 0:
            return
        for relay in self._without(place.name):
            self._pool.give_back(relay)
        self._pool.keep([given for name, given in self._given.items() if self._uses[name] > 0])

    def close(self) -> None:
        """End every relay, and copy their logs beside the report.

        Then remove the scratch folder, unless it is kept.
        """
        if self._laws is not None:
            self._laws.close()
        for name in [*self._started]:
            for relay in self._without(name):
                self._pool.end(relay)
        self._waiting.shutdown()
        self._pool.close()
        for log in sorted(self._scratch.rglob("relay.*")):
            keep_log(log, self._out / LOGS / log.parent.name)
        if not self._keep:
            remove(self._scratch)

    def _without(self, name: str) -> Sequence[StartedRelay]:
        """Forget and return the relay of the place of that name, and the second one beside it."""
        both = [self._started.pop(each, None) for each in (name, name + SECOND)]
        return [relay for relay in both if relay is not None]

    def _relay(self, name: str, place: Place) -> StartedRelay:
        """Return the relay kept under this name; without one, take one from the pool for the place.

        That may have served other checks, except for a name of a second relay, which gets a new
        one. Raises AdapterError if it does not start.
        """
        if name not in self._started:
            relay, is_new = self._pool.take(given_at(place.world), new=name.endswith(SECOND))
            if not is_new:
                self._used_before.add(name)
            self._start_ahead()
            self._cite(place, relay, is_new=is_new)
            self._started[name] = relay
            if self._silence is not None:
                relay.through.expect_silence(self._silence)
            for own in self.target.cases:
                assert isinstance(own, RelayCase)
                relay.answer_as(own)
        return self._started[name]

    def _cite(self, place: Place, relay: StartedRelay, *, is_new: bool) -> None:
        """Add the record of a place's relay for the report, with the seconds of its start if new.

        From a place's second relay on, the record's own name has a number.
        """
        number = sum(cited.name == place.name for cited in self._cited) + 1
        self._cited.append(
            CitedStage(
                place=place.name if number == 1 else f"{place.name} {number}",
                name=place.name, stage=place.world.id, armed=UNLOCKED,
                seconds=round(relay.seconds, 4) if is_new else 0.0,
            )
        )  # fmt: skip

    def _start_ahead(self) -> None:
        """Begin to start relays for the next sets of upstream data; at most four wait for use."""
        while self._coming and self._pool.ahead < AHEAD:
            self._pool.begin(self._coming.pop(0))

    def _attempted(self, place: Place, check: Check) -> Early:
        """Call an early check on a relay, give that back to the pool, and return how it ended.

        A check that neither passes nor is not applicable, on a relay that others have used, is
        called once more, on a new one. Raises AdapterError if no relay starts.
        """
        for new in (False, True):
            relay, is_new = self._pool.take(given_at(place.world), new=new)
            began = 0 if is_new else relay.transcript.mark()
            ending = attempt(partial(check, RelayBench(relay)), relay.latest)
            messages = slice(began, relay.transcript.mark())
            self._pool.give_back(relay)
            if is_new or ending.verdict in SETTLED:
                break
        return Early(ending=ending, relay=relay, is_new=is_new, messages=messages)


def each_relay_case(area: str) -> pytest.MarkDecorator:
    """Return a decorator that parametrises a check's `case` with all relay cases of an area."""
    cells = [parameter(case, RELAYED) for case in relay_cases() if case.area == area]
    return pytest.mark.parametrize("case", cells)


def each_upstream_era() -> pytest.MarkDecorator:
    """Return a decorator that runs a check in front of an upstream of each era, by its bench."""
    stages = {"handshake": FEATURES, "stateless": STATELESS}
    cells = [
        pytest.param(era, marks=pytest.mark.on(stage, fresh=False, needs=()))
        for era, stage in stages.items()
    ]
    return pytest.mark.parametrize("bench", cells, indirect=True)
