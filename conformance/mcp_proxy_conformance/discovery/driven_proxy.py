"""A proxy as subject of a run: stages on started targets; failures confirmed on a second one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.own_case import OwnCase
from mcp_proxy_conformance.discovery import presence
from mcp_proxy_conformance.discovery.arming import Armed, arm
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.laws.clauses import CLAUSES
from mcp_proxy_conformance.discovery.played_scenarios import PlayedScenarios
from mcp_proxy_conformance.discovery.scenarios import ScenarioCase, cases_of, played_space
from mcp_proxy_conformance.discovery.settled import judge
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.pool import Pool, Ready, Wanted
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.run.space.covering import given
from mcp_proxy_conformance.run.space.space import Scenario
from mcp_proxy_conformance.run.subject import Check, Probed, Rests, Subject
from mcp_proxy_conformance.targets.state_folder import remove
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.cited import CitedLocks, CitedStage
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.outcome import DECLARATION, VIOLATED, Outcome, broke
from mcp_proxy_conformance.verdict.result import Misshapen, NotApplicable
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

PASS_EXCERPT, PRESENCE_EXCERPT = 4, 8
SECOND = "#second"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One target that was started for a stage or a fresh world, with its proven locks.

    `name` is that of the place whose checks use it; `place` is its own: with a number from the
    second target of that place on.
    """

    place: str
    name: str
    stage: str
    ready: Ready[Armed]

    def cited(self) -> CitedStage:
        """Return the stage as a report cites it: locks, proven or why not; current credentials."""
        armed, access = self.ready.prepared, self.ready.started.access
        return CitedStage(
            place=self.place,
            name=self.name,
            stage=self.stage,
            armed=CitedLocks(
                called=sorted(map(str, armed.called)),
                refused=sorted(map(str, armed.refused)),
                skipped={str(k): v.reason for k, v in sorted(armed.skipped.items())},
                unproven={str(k): v.reason for k, v in sorted(armed.unproven.items())},
            ),
            seconds=self.ready.seconds,
            credentials=(dict(access.headers), *map(dict, access.agents.values())),
        )


class ScenarioBench:
    """Access of a check to the scenarios of a run."""

    def __init__(self, scenarios: PlayedScenarios) -> None:
        """Keep the scenarios."""
        self._scenarios = scenarios

    def compared(self, case: ScenarioCase) -> Comparison:
        """Play a scenario, if that was not done; return what laws say of it, not concluded.

        That is of the case's clauses alone.
        """
        return self._scenarios.compared(case.id).only(case.clauses)


class DrivenProxy(Subject):
    """A proxy that an adapter starts and drives.

    `clauses`: those of the profile; if the first probe shows one to be broken, the run ends.
    `confirm`: a failure is confirmed on a second target; `trial`: the run may end at the first
    failure, and scenarios are played one by one; `keep`: the targets' scratch folders are
    kept; `examples`: how many scenarios are drawn from the space besides the committed ones,
    `seed`: the generator's, `version`: that of the space; `asked`: the only clauses to judge, if
    only some are; `excuses`: whether some failures are known and excused; `own`: the only cases to
    run, each with its stage; `scratch`: the folder for the targets' files meanwhile.
    """

    target: ProxyTarget

    def __init__(
        self, target: ProxyTarget, out: Path, scratch: Path, *, clauses: frozenset[str],
        confirm: bool = True, trial: bool = False, keep: bool = False, examples: int = 0,
        seed: int = 0, version: int | None = None, asked: frozenset[str] | None = None,
        excuses: bool = False, own: Sequence[OwnCase] = (),
    ) -> None:  # fmt: skip
        """Keep the settings, which the class describes; start nothing yet."""
        self.target, self.scratch = target, scratch
        self.own_cases = own
        self._clauses, self._version = clauses, version
        self._confirm, self._trial, self._keep = confirm, trial, keep
        can = target.capabilities
        mine = [Scenario(id=each.case.id, rows=each.case.rows) for each in own
                if isinstance(each.case, ScenarioCase)]  # fmt: skip
        known = mine or given(played_space(), can, version, examples=examples, seed=seed)
        self.scenarios = [] if own else [case.own() for each in known for case in cases_of(each)]
        self._named = {case.own().world.id: each.id for each in known for case in cases_of(each)}
        laws = [name for name, its in CLAUSES.items() if asked is None or asked & {*its}]
        self._scenarios = PlayedScenarios(target, scratch, out, {each.id: each for each in known},
                                          laws=laws, confirm=confirm and not trial,
                                          excuses=excuses)  # fmt: skip
        self._records: dict[str, StageRecord] = {}
        self._current: dict[str, StageRecord] = {}
        self._uses = Counter[str]()
        self._pool: Pool[Armed] | None = None

    @property
    def pool(self) -> Pool[Armed]:
        """The pool that starts this run's targets, made at first use."""
        if self._pool is None:
            self._pool = Pool(self.target, self.scratch, arm, keep=self._keep)
        return self._pool

    @property
    def stages(self) -> Sequence[CitedStage]:
        """The records of all started stages, with their credentials as of now."""
        return [record.cited() for record in self._records.values()]

    def probe(self) -> Probed:
        """Start a small world, look for the feature, note server and wire, and end the target.

        The feature is the discovery of locked tools. The result stops the run if the target does
        not start or answer, is wrongly declared, or, as violated, lacks the feature in a clause of
        the profile. A misshapen answer is left to the checks.
        """
        try:
            started = Started(self.target, presence.WORLD, self.scratch, keep=self._keep)
        except AdapterError as error:
            return Probed(stopped=broke(str(error)))
        try:
            with started.expected_alive():
                missing = presence.missing(started)
            self.wire = started.client(endpoint=self.target.surface.endpoints[0]).wire
            return self._probed(missing, started)
        except (AdapterError, Unreachable, ProtocolFault) as error:
            return Probed(stopped=broke(str(error)))
        except Misshapen:
            return Probed()  # the checks report it in detail
        finally:
            self.server = started.client(endpoint=self.target.surface.endpoints[0]).server
            started.close()

    def _probed(self, missing: presence.Missing | None, started: Started) -> Probed:
        """Return the probe's result for what is `missing`: the feature, a name, or nothing.

        The run is stopped by a wrong declaration, or as violated if the profile has the
        broken clause; otherwise only the last eight messages are kept.
        """
        if missing is None:
            return Probed()
        excerpt = started.transcript.since(0)[-PRESENCE_EXCERPT:]
        messages = {f"{presence.WORLD.id}/{message.id}": message.cited() for message in excerpt}
        if not missing.violated:
            stopped = Outcome("error in the declaration", DECLARATION, missing.why)
            return Probed(stopped=stopped, messages=messages)
        if missing.clause not in self._clauses:
            return Probed(messages=messages)
        place = presence.WORLD.id
        breach = presence.breach(missing.why, place, tuple(messages), missing.clause)
        return Probed(
            stopped=Outcome("violated", VIOLATED, missing.why),
            messages=messages,
            results=(breach,),
        )

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Count the checks of each applicable place, and start the first targets ahead.

        So are the scenarios, but in a trial, which the first failure may end. `partial_run` changes
        nothing.
        """
        del partial_run
        places = self.applicable(places)
        self.count(places)
        self.soon(places)

    def count(self, places: Sequence[Place]) -> None:
        """Set how many checks use each place, forgetting earlier counts.

        After the last one `done_with` ends its target.
        """
        self._uses = Counter(place.name for place in places)

    def soon(self, places: Sequence[Place]) -> None:
        """Have the pool start these places' targets ahead, in order, and play their scenarios.

        If failures are confirmed and targets have a limited lifetime, each shared stage also gets a
        second target as a spare.
        """
        first: dict[str, Wanted] = {}
        slow = self._confirm and not math.isinf(self.target.lasts_s)
        staged = [each for each in places if each.name not in self._named]
        for at, place in enumerate(staged):
            wanted = Wanted(place.name, place.world, at, shared=not place.fresh)
            first.setdefault(place.name, wanted)
            if slow and not place.fresh:  # starting the second one on demand would delay the run
                second = place.name + SECOND
                first.setdefault(second, Wanted(second, place.world, at, spare=True))
        self.pool.plan(list(first.values()))
        if not self._trial:
            self._scenarios.begin([self._named[each.name] for each in places
                                   if each.name in self._named])  # fmt: skip

    def lacking(self, place: Place) -> NotApplicable | None:
        """Return why a place's checks do not apply (option or capability); None if they do."""
        if "soak" in place.needs and not self.target.soak_s:
            return not_asked("--soak SECONDS")
        if "baseline" in place.needs and self.target.baseline is None:
            return not_asked("--baseline FOLDER")
        return self.not_declared(word for word in place.needs if word not in ("soak", "baseline"))

    def open(self, place: Place) -> Any:
        """Return a bench on the place's target, started if needed; a ScenarioBench for scenarios.

        A target that replaced an earlier one there gets a record with a number. Raises
        AdapterError if it does not start, and whatever proving its locks raised.
        """
        if place.name in self._named:
            return ScenarioBench(self._scenarios)
        ready = self.pool.get(place.name, place.world, shared=not place.fresh)
        current = self._current.get(place.name)
        if current is None or current.ready is not ready:
            number = sum(record.name == place.name for record in self._records.values()) + 1
            name = place.name if number == 1 else f"{place.name} {number}"
            stage = place.world.id or place.name
            current = StageRecord(place=name, name=place.name, stage=stage, ready=ready)
            self._records[name] = self._current[place.name] = current
        return Bench(ready.started, ready.prepared)

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call a check until settled; confirm a failure on a second target.

        A scenario is played once, and again on a fresh target if it fails.
        """
        if (name := self._named.get(place.name)) is not None:
            ending = attempt(partial(check, bench))
            return self._scenarios.confirmed(name, ending) if self._confirm else ending
        second = partial(self._second, place) if self._confirm else None
        return judge(check, bench, second, trial=not self._confirm)

    def _second(self, place: Place) -> Bench:
        """Return a bench on the second target of the place, started if needed.

        It is patient: what no call has shown is waited for as long as it may take.
        """
        ready = self.pool.get(place.name + SECOND, place.world, shared=not place.fresh)
        ready.started.effects.patient = True
        bench = Bench(ready.started, ready.prepared)
        if ready.started.effects.due:
            bench.settle()
        return bench

    def rests(self, place: Place, ending: Ending, cited: Collection[str]) -> Rests:
        """Return the ending with the messages since the call that counted, and paths not compared.

        Messages `cited` from before it precede them. A pass has only the last four messages; a
        failure or error has the target's log kept. A failed scenario has lines on its symptoms
        instead.
        """
        if (name := self._named.get(place.name)) is not None:
            if self._trial or ending.verdict != "fail":
                return Rests(ending=ending)
            lines = dict.fromkeys(self._scenarios.story(name, ending.findings(())))
            return Rests(ending=ending, lines=tuple(lines),
                         messages=self._scenarios.messages(name))  # fmt: skip
        record = self._current.get(place.name)
        if record is None:
            return Rests(ending=ending)
        started = record.ready.started
        started.log_wanted |= ending.verdict in ("fail", "error")
        excerpt = () if ending.since is None else started.transcript.since(ending.since)
        if ending.verdict == "pass":
            excerpt = excerpt[-PASS_EXCERPT:]
        earlier = sorted(int(each) for each in {*cited} - {str(each.id) for each in excerpt})
        excerpt = (*map(started.transcript.get, earlier), *excerpt)
        wire = started.client().wire
        self.wire = self.wire or (wire if wire != "unopened" else "")
        cut = tuple(sorted(started.cut))
        started.cut.clear()
        return Rests(
            ending=_with_log(ending, started),
            messages={f"{record.place}/{message.id}": message.cited() for message in excerpt},
            cut=cut,
        )

    def stage(self, name: str) -> CitedStage | None:
        """Return the stage last opened at the place of that name; None if none was."""
        record = self._current.get(name)
        return None if record is None else record.cited()

    def done_with(self, place: Place) -> None:
        """Count down a place's checks; after the last one end its target and second target.

        Places of scenarios are ignored.
        """
        if place.name in self._named:
            return
        self._uses[place.name] -= 1
        if self._uses[place.name] <= 0:
            self.pool.release(place.name)
            self.pool.release(place.name + SECOND)

    def hurry(self) -> None:
        """Have the pool begin to end its targets, without waiting; begin no other scenario."""
        self._scenarios.hurry()
        if self._pool is not None:
            self._pool.hurry()

    def coverage(self) -> Coverage | None:
        """Return what the scenarios of this run looked at of the space."""
        return self._scenarios.coverage(self.target.capabilities, self._version)

    def close(self) -> None:
        """End every target, those of scenarios included, and release the target's host.

        Then remove the scratch folder, unless it is kept.
        """
        self._scenarios.close()
        if self._pool is not None:
            self._pool.close()
        self.target.close()
        if not self._keep:
            remove(self.scratch)


def not_asked(option: str) -> NotApplicable:
    """Return the NotApplicable for a check whose option was not given, with advice to give it."""
    return NotApplicable(f"not asked for; add {option}", cause="not_asked")


def _with_log(ending: Ending, started: Started) -> Ending:
    """Return the ending, the log's end added to its reason if the target's end may explain it.

    That is if it blames the network and the target has ended.
    """
    if ending.blame != "network" or started.adapter.alive():
        return ending
    tail = started.adapter.log().strip()
    return replace(
        ending, reason=f"{ending.reason}; the target has ended, and its log ends with: {tail}"
    )
