"""A loader as subject of a run: its loads, access for checks, failures confirmed by new loads."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.own_case import OwnCase, parameter
from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.resilience.busy import BUSY_S, Starts
from mcp_proxy_conformance.resilience.judged import Says, judged, to_compare, without_malformed
from mcp_proxy_conformance.resilience.load_case import SCENARIO, STDIO, LoadCase, load_cases
from mcp_proxy_conformance.resilience.loader import FIRST_S
from mcp_proxy_conformance.resilience.loader_target import LoaderTarget, overtaken, signed
from mcp_proxy_conformance.resilience.loads import (
    AT_ONCE,
    BOTH_CONTROLS,
    BROKEN,
    CONTROL_LOADS,
    MOST_AT_ONCE,
    QUICK_S,
    STARTED,
    TOO_BUSY,
    TRIES,
    WELL,
    Load,
    Loads,
)
from mcp_proxy_conformance.resilience.met import happened, ran_out, unasked
from mcp_proxy_conformance.resilience.observed_rows import ObservedRows
from mcp_proxy_conformance.resilience.scenarios import (
    NAMES,
    generated,
    load_case,
    one_load,
    played,
    row_name,
    scenario_loads,
    space,
)
from mcp_proxy_conformance.resilience.unanswered import ANSWERED, SEE
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt, confirmed, opened, reduced
from mcp_proxy_conformance.run.space.space import Row, Scenario
from mcp_proxy_conformance.run.space.symptoms import coverage
from mcp_proxy_conformance.run.subject import Check, Probed, Rests, Subject
from mcp_proxy_conformance.targets.state_folder import keep_log, remove
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.comparison import Comparison, Open
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.outcome import broke
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive, NotApplicable

LOADS = World(servers=(), id="loads")
SLOWER = 3.0
"""The factor of timeouts in second loads: what a busy machine has made late does not fail again."""
ENOUGH = 2
"""Cases that confirm that a clause is broken; others that break no other clause are left open."""
ALONE_S = 20.0
"""Seconds of a run for servers that are judged by themselves."""
STEP_S = 5.0
"""Seconds by which loads differ that are not taken for equally quick."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case whose loads fail, and how it ended."""

    case: LoadCase
    ending: Ending


class LoadBench:
    """Access of a resilience check to the loads of a run."""

    def __init__(self, loads: Loads, target: LoaderTarget) -> None:
        """Keep the loads and the target; `loaded` are the cases that a check has loaded itself."""
        self.loaded: list[LoadCase] = []
        self._loads = loads
        self._target = target

    def load(self, case: LoadCase, *, beside: Sequence[LoadCase] = ()) -> Load:
        """Return the load of that case, waiting for its end; loads of `beside` begin with it.

        Raises Inconclusive if the loader did not answer it, or it was not tried.
        """
        self.loaded.append(case)
        self._loads.plan([case, *beside])
        load = self._loads.of(case)
        if not load.is_answered:
            reason = load.untried or f"the loader did not answer the load; see {SEE}"
            raise Inconclusive(reason, cause="other_clause", needs=ANSWERED)
        return load

    def ahead(self, load: Load) -> None:
        """Begin the loads with which a load will be compared."""
        self._loads.plan([*to_compare(load, says(self._target))])

    def judged(self, case: LoadCase) -> Comparison:
        """Compare a case's load with what the case allows; return the Comparison, not concluded.

        A case about timeout signatures (texts in a 403 that mean a timeout) is loaded once for each
        one that the loader declares; a load that is inconclusive leaves the clauses open. Raises
        NotApplicable if the loader declares no signature or one that a server of this case sends,
        or reads only first pages of tools in a case about later ones; Inconclusive if a case
        without servers finds the control servers misreported.
        """
        signatures = self._target.timeout_signatures
        if not (forms := signed(case, signatures)):
            raise NotApplicable("the loader declares no timeout signature", cause="not_declared")
        if name := overtaken(case, signatures):
            raise NotApplicable(f"the body that {name} sends contains a declared timeout signature")
        if not case.servers():
            self._expect_controls()
        comparison, load_of = Comparison(), self._loads.of
        for signature, form in forms.items():
            where = f" under {signature!r}" if signature else ""
            try:
                load = load_of(form)
                self.ahead(load)
                comparison.add(judged(load, load_of, says(self._target)), where)
                if (name := unasked(load)) and not comparison.findings:
                    raise NotApplicable(f"the loader asks {name} for its first page only")
            except Inconclusive as error:
                comparison.open.append(Open(clauses=case.clauses, reason=f"{error}{where}",
                                       cause=error.cause, needs=error.needs))  # fmt: skip
        return comparison

    def _expect_controls(self) -> None:
        """Load two control servers; raise Inconclusive unless the loader tells good from bad.

        It must report `control-up` as available, and `control-down` as anything else.
        """
        statuses = {
            outcome.server_id: outcome.status
            for outcome in self.load(BOTH_CONTROLS).loaded.answer.outcomes
        }
        if statuses.get("control-up") != "available" or statuses.get("control-down") in (
            None,
            "available",
        ):
            reported = (
                ", ".join(f"{name} {status}" for name, status in statuses.items()) or "neither"
            )
            reason = f"the loader does not report both control servers as expected: {reported}"
            raise Inconclusive(reason, cause="not_loaded")


class DrivenLoader(Subject):
    """A loader that the run starts; the servers of each load are made for that load."""

    indivisible = "the loads of a loader already run at the same time; leave -n out"
    target: LoaderTarget

    def __init__(
        self,
        target: LoaderTarget,
        out: Path,
        scratch: Path,
        *,
        confirm: bool,
        excuses: bool = False,
    ) -> None:
        """Keep the settings, and the target's only cases if it has any; load nothing yet.

        `confirm`: whether failures and hangs are confirmed by second loads; `excuses`: whether some
        failures are known and excused, so that each has to be told.
        """
        self.target = target
        self.own_cases = [OwnCase(own, _world(own), own.needs) for own in target.cases]
        self._scenarios = {} if target.cases else _scenarios_of(target)
        played = [case for _, case in self._scenarios.values()]
        self.scenarios = [OwnCase(own, _world(own), own.needs, scenario=True) for own in played]
        self.remarks, self.broken = target.remarks, target.broken
        self._out, self._scratch, self._confirm, self._excuses = out, scratch, confirm, excuses
        self._at_once = AT_ONCE
        self._cases: list[LoadCase] = []
        self._by_place: dict[str, LoadCase] = {}
        self._is_partial = False
        self._loads: Loads | None = None
        self._again: Loads | None = None
        self._single: Loads | None = None
        self._starts = Starts()
        self._alone_s = ALONE_S
        self._failures: list[Failure] = []
        self._firm: dict[str, Ending] = {}
        self._confirmed: Counter[str] = Counter()

    @property
    def loads(self) -> Loads:
        """The pool that makes this run's loads and keeps them; created at first use."""
        if self._loads is None:
            self._loads = Loads(
                self.target.loader, self._scratch, confirm=self._confirm, at_once=self._at_once,
                slow=self._starts.slow,
            )  # fmt: skip
        return self._loads

    @cached_property
    def rows(self) -> ObservedRows:
        """The scenarios of this run, and what their loads showed."""
        return ObservedRows(
            scenarios=self._scenarios, loads=self.loads, again=lambda: self._second_loads,
            says=says(self.target), out=self._out,
        )  # fmt: skip

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Note all cases that these places need; `probe` begins their loads.

        Controls are loaded first unless `partial_run`.
        """
        wanted = {place.name: None for place in self.applicable(places)}
        scenarios = [case for _, case in self._scenarios.values()]
        cases = self.target.cases or [*load_cases(), *scenarios]
        by_place = {_world(case).id: case for case in cases}
        self._cases = [by_place[name] for name in wanted if name in by_place]
        self._by_place = by_place
        self._is_partial = partial_run

    def probe(self) -> Probed:
        """Start the loader with no servers to load, then stop it; begin all planned loads.

        The result stops the run if it does not answer. A program that starts quickly makes
        more loads at a time; a loader in this process does not, since all of its loads
        share one thread.
        """
        loader, began = self.target.loader(self._scratch / "first"), time.monotonic()
        try:
            loader.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=FIRST_S)
        except AdapterError as error:
            return Probed(stopped=broke(str(error)))
        else:
            if self.target.command and time.monotonic() - began < QUICK_S:
                self._at_once = MOST_AT_ONCE
        finally:
            loader.stop(1.0)
        if self._confirm:
            self._starts.measure()
        self._begin()
        return Probed()

    def _begin(self) -> None:
        """Begin the planned loads: slowest first, or in order if the run is partial.

        Control loads precede them unless it is partial.
        """
        in_order = self._is_partial
        if not in_order:
            self.loads.plan(CONTROL_LOADS)
        due = [load for case in self._cases for load in self._loads_of(case)]
        if not in_order and STDIO in self.target.capabilities:
            due.append(STARTED)
        self.loads.plan(due, slowest_first=not in_order)

    def open(self, place: Place) -> Any:
        """Return a bench of the run's loads."""
        del place
        return LoadBench(self.loads, self.target)

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call a check; if failures are to be confirmed, confirm one with second loads.

        A hang was tried twice, and is not confirmed here. Of cases that break the same clauses the
        quickest are loaded again; what breaks only clauses of which enough failures are confirmed
        stays open.
        """
        ending = attempt(partial(check, bench))
        if not (self._confirm and _is_to_confirm(ending)):
            return ending
        self._look_at_failures()
        case = self._by_place.get(place.name)
        for failure in self._quickest(ending.broken):
            self._firm_of(failure)
        if case is not None and case.id in self._firm:
            return self._firm[case.id]
        if ending.broken and self._is_enough(self._confirmed, ending.broken):
            return opened(ending, _enough(ending.broken))
        ending = self._confirmed_by(check, ending, case, bench.loaded)
        self._confirmed.update(ending.broken)
        return ending

    def _quickest(self, broken: Collection[str]) -> list[Failure]:
        """Return a few failures that may confirm what is not confirmed enough; begin their loads.

        None if some failures are excused, for then each counts.
        """
        if self._excuses:
            return []
        missing = {clause for clause in broken if self._confirmed[clause] < ENOUGH}
        untried = (each for each in self._failures if each.case.id not in self._firm)
        few = [*islice((each for each in untried if each.ending.broken & missing), ENOUGH)]
        for failure in few:
            self._load_again(failure.case)
        return few

    def _load_again(self, case: LoadCase) -> None:
        """Begin second loads of a case, and those with which they will be compared."""
        self._second_loads.plan(self._loads_of(case))
        self._compare_ahead(case, self._second_loads)

    def _firm_of(self, failure: Failure) -> None:
        """Confirm the failure of a case."""
        check = partial(_concluded, case=failure.case)
        firm = self._confirmed_by(check, failure.ending, failure.case, ())
        self._firm[failure.case.id] = firm
        self._confirmed.update(firm.broken)

    def _confirmed_by(
        self, check: Check, ending: Ending, case: LoadCase | None, loaded: Sequence[LoadCase]
    ) -> Ending:
        """Return a failure as far as second loads confirm it.

        Of what fails in loads whose time a busy machine may have used up, only what fails in slower
        ones too is wrong, or by itself. They are those of the case, or those that the check has
        `loaded`.
        """
        forms = self._loads_of(case) if case else []
        second = self._seconded(check, forms)
        if isinstance(second.error, Inconclusive):
            return opened(ending, second.error)
        loads = [*self._compared(self.loads, [*forms, *loaded])]
        hurried = any(map(ran_out, loads)) or any(map(self.loads.was_busy, loads))
        comparable = second.verdict in ("pass", "fail") and second.broken <= ending.broken
        if hurried and comparable:
            return self._of_hurried(ending, second, case)
        return confirmed(ending, second, "the loader")

    def _of_hurried(self, ending: Ending, second: Ending, case: LoadCase | None) -> Ending:
        """Return of hurried loads' failure what slower loads show too, or its servers alone."""
        late = ending.broken - second.broken
        rows = self._scenarios[case.id][0].rows if case and case.id in self._scenarios else ()
        alone = self._alone(ending, late, rows) if late and rows else {}

        def counts(finding: Finding, clause: str) -> bool:
            names = {row_name(matter.name) for matter in finding.about}
            return clause in second.broken or any(clause in alone.get(n, ()) for n in names)

        kept = reduced(ending, counts)
        return kept if kept.broken else second

    def _alone(
        self, ending: Ending, late: Collection[str], rows: Sequence[Row]
    ) -> dict[str, frozenset[str]]:
        """Return which of the clauses `late` the servers of these rows break by themselves as well.

        Those of a row's name it breaks twice in loads of that row, at the speed of the first load,
        in a program that has loaded before and while nothing else is loaded, on a machine that is
        not busy. No row is tried once the time for them is over.
        """
        findings = [each for each in ending.findings(()) if {*each.clauses} & {*late}]
        names = {row_name(matter.name) for finding in findings for matter in finding.about}
        alone: dict[str, frozenset[str]] = {}
        self._second_loads.settle()
        for name, row in zip(NAMES, rows, strict=False):
            if name in names and self._alone_s > 0:
                began = time.monotonic()
                with suppress(*BROKEN):
                    alone[name] = self._twice(one_load(row, says(self.target).reads))
                self._alone_s -= time.monotonic() - began
        return {name: clauses & {*late} for name, clauses in alone.items() if clauses & {*late}}

    def _twice(self, case: LoadCase) -> frozenset[str]:
        """Load a case twice; return the clauses that both loads break, none if one was hurried."""
        self._alone_loads.of(WELL)
        bench, began = LoadBench(self._alone_loads, self.target), time.monotonic()
        broken = []
        for _ in range(2):
            self._alone_loads.forget([case])
            broken.append(attempt(partial(_concluded, bench, case)).broken)
        is_busy = self._starts.slow(began, time.monotonic(), BUSY_S) > 0
        return frozenset() if is_busy else frozenset.intersection(*broken)

    def _seconded(self, check: Check, forms: Sequence[LoadCase]) -> Ending:
        """Call a check with second loads of these cases; it stays open if the machine is too busy.

        On that they are made again, a few times.
        """
        loads = self._second_loads
        for _ in range(TRIES):
            bench = LoadBench(loads, self.target)
            second = attempt(partial(check, bench))
            made = [*self._compared(loads, [*forms, *bench.loaded])]
            if second.verdict != "fail" or not any(map(loads.was_busy, made)):
                return second
            loads.settle()
            loads.forget([load.case for load in made])
        return opened(second, Inconclusive(TOO_BUSY))

    def _compared(self, loads: Loads, cases: Sequence[LoadCase]) -> Iterator[Load]:
        """Yield the loads of these cases that have ended, and those that they are compared with."""
        for load in loads.ended(cases):
            yield load
            yield from loads.ended(to_compare(load, says(self.target)))

    def _look_at_failures(self) -> None:
        """Note which cases that have ended fail, quickest first; begin some of their second loads.

        They are enough to confirm that each clause is broken, and run side by side; so do the loads
        with which they will be compared. Cases that have ended are not looked at again.
        """
        self.loads.settle()
        ended = [case for case in self._cases
                 if all(map(self.loads.has_ended, self._loads_of(case)))]  # fmt: skip
        for case in ended:
            self._compare_ahead(case, self.loads)
        bench = LoadBench(self.loads, self.target)
        endings = ((case, attempt(partial(_concluded, bench, case))) for case in ended)
        self._failures += [
            Failure(case, ending) for case, ending in endings if _is_to_confirm(ending)
        ]
        self._failures.sort(key=self._slowness)
        planned = self._confirmed.copy()
        for failure in self._failures if ended else ():
            if not self._is_enough(planned, failure.ending.broken):
                planned.update(failure.ending.broken)
                self._load_again(failure.case)
        self._cases = [case for case in self._cases if case not in ended]

    def _slowness(self, failure: Failure) -> int:
        """Return how long the loads of a case took, in steps that are alike in most runs."""
        loads = self.loads.ended(self._loads_of(failure.case))
        return int(max((load.ended - load.began for load in loads), default=0.0) / STEP_S)

    def _is_enough(self, cases: Counter[str], broken: Collection[str]) -> bool:
        """Whether these numbers of cases confirm that each clause is broken.

        Never if some failures are excused, for then each counts.
        """
        return not self._excuses and all(cases[clause] >= ENOUGH for clause in broken)

    def _compare_ahead(self, case: LoadCase, loads: Loads) -> None:
        """Begin, in that pool, the loads with which the case's own will be compared."""
        for load in self.loads.ended(self._loads_of(case)):
            LoadBench(loads, self.target).ahead(load)

    def _loads_of(self, case: LoadCase) -> list[LoadCase]:
        """Return the loads by which a case is judged: one for each declared signature, or itself.

        Each of them with malformed connections is followed, at the end, by one without these, with
        which it is compared.
        """
        forms = [*signed(case, self.target.timeout_signatures).values()]
        twins = [twin for form in forms if (twin := without_malformed(form)) is not None]
        return [*forms, *twins]

    @property
    def _second_loads(self) -> Loads:
        """The pool of second loads, which confirm failures; created at first use."""
        if self._again is None:
            self._again = Loads(
                self.target.loader, self._scratch / "again",
                confirm=False, learns=False, at_once=self._at_once, slower=SLOWER,
                slow=self._starts.slow,
            )  # fmt: skip
        return self._again

    @property
    def _alone_loads(self) -> Loads:
        """The pool of loads that are made one after the other; created at first use."""
        if self._single is None:
            folder = self._scratch / "alone"
            self._single = Loads(
                self.target.loader, folder,
                confirm=False, learns=False, slow=self._starts.slow,
            )  # fmt: skip
        return self._single

    def rests(self, place: Place, ending: Ending, cited: Collection[str]) -> Rests:
        """Return the ending; a failure with lines on what happened, and on its symptoms."""
        del cited
        known = self._by_place.get(place.name)
        if known is None or not self._confirm or ending.verdict != "fail":
            return Rests(ending=ending)
        findings = ending.findings(())
        lines = [*self.rows.story(known, findings)] if known.area == SCENARIO else []
        lines += [line for load in self.loads.ended(self._loads_of(known)[:1])
                  for line in happened(load, findings)]  # fmt: skip
        return Rests(ending=ending, lines=tuple(lines))

    def finish(self) -> None:
        """End all loads: the report rests on those that were made, also if the run is stopped."""
        for loads in (self._loads, self._again, self._single):
            if loads is not None:
                loads.close()

    def coverage(self) -> Coverage | None:
        """Return what the scenarios of this run looked at; None without scenarios."""
        if not self._scenarios:
            return None
        observed = [row for name in self._scenarios for row in self.rows.of(name)]
        return coverage(space(), observed, self.target.capabilities, self.target.space)

    def close(self) -> None:
        """End every loader and the target's host; copy their logs beside the report.

        Then remove the scratch folder.
        """
        self._starts.close()
        self.finish()
        self.target.close()
        for log in sorted(self._scratch.rglob("loader.log")):
            keep_log(log, self._out / LOGS / log.parent.relative_to(self._scratch))
        remove(self._scratch)


def _scenarios_of(target: LoaderTarget) -> dict[str, tuple[Scenario, LoadCase]]:
    """Return the scenarios that a loader is given, with their loads, by id."""
    reads = says(target).reads
    known = played(target.capabilities, target.space)
    if target.examples:
        known += generated(target.examples, target.seed, target.capabilities, target.space)
    return {each.id: (each, load_case(each, reads)) for each in known}


def _enough(broken: Collection[str]) -> Inconclusive:
    names = ", ".join(sorted(broken))
    reason = f"it failed {names} too; {ENOUGH} other cases confirm that, so it was not loaded again"
    return Inconclusive(reason, cause="other_clause", needs=sorted(broken))


def _is_to_confirm(ending: Ending) -> bool:
    """Whether it is a failure of loads that were answered: one that hung was tried twice."""
    return ending.verdict == "fail" and ending.broken != {"I4.bounded"}


def _concluded(bench: LoadBench, case: LoadCase) -> None:
    bench.judged(case).conclude()


def says(target: LoaderTarget) -> Says:
    """Return what the loader declares: capabilities, prefix, signatures; loads are judged by it."""
    can = target.capabilities
    reads = Reads(
        classifies="classifies" in can,
        retries="retries" in can,
        stdio=STDIO in can,
        signatures=target.timeout_signatures,
    )
    return Says(
        classifies="classifies" in can,
        warns="warnings" in can,
        claims="attempts" in can,
        prefix=target.tool_prefix,
        reads=reads,
    )


def each_load(*areas: str) -> pytest.MarkDecorator:
    """Return a decorator that parametrises a check's `case` with all load cases of these areas.

    Each runs at a place of its own.
    """
    shipped = (case for case in (*load_cases(), *scenario_loads()) if case.area in areas)
    cells = [
        parameter(case, _world(case), case.needs, scenario=case.area == SCENARIO)
        for case in shipped
    ]
    return pytest.mark.parametrize("case", cells)


def _world(case: LoadCase) -> World:
    return World(servers=(), id=f"load of {case.id}")
