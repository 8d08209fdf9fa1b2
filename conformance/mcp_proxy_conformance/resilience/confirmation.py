"""Confirmation of a loader's failures by second loads, slower ones, and alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from mcp_proxy_conformance.resilience.busy import BUSY_S, Starts
from mcp_proxy_conformance.resilience.judged import to_compare
from mcp_proxy_conformance.resilience.load_bench import LoadBench, concluded, loads_of, says
from mcp_proxy_conformance.resilience.load_case import LoadCase
from mcp_proxy_conformance.resilience.loader_target import LoaderTarget
from mcp_proxy_conformance.resilience.loads import (
    BROKEN,
    TOO_BUSY,
    TRIES,
    WELL,
    Load,
    Loads,
)
from mcp_proxy_conformance.resilience.met import ran_out
from mcp_proxy_conformance.resilience.scenarios import (
    NAMES,
    one_load,
    row_name,
)
from mcp_proxy_conformance.run.judgement import (
    ENOUGH,
    Ending,
    attempt,
    confirmed,
    enough,
    is_known,
    opened,
    reduced,
)
from mcp_proxy_conformance.run.space.space import Row
from mcp_proxy_conformance.run.subject import Check
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive

SLOWER = 3.0
"""The factor of timeouts in second loads: what a busy machine has made late does not fail again."""
ALONE_S = 20.0
"""Seconds of a run for servers that are judged by themselves."""
STEP_S = 5.0
"""Seconds by which loads differ that are not taken for equally quick."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case whose loads fail, and how it ended."""

    case: LoadCase
    ending: Ending


class Confirmation:
    """Confirms failures of one run; what second loads do not show, or too few of them, is open."""

    def __init__(
        self,
        loads: Callable[[], Loads],
        target: LoaderTarget,
        starts: Starts,
        folder: Path,
        *,
        rows: Mapping[str, Sequence[Row]],
        excuses: bool,
    ) -> None:
        """Keep the settings; load nothing yet.

        `loads` returns the pool of first loads; `rows` are those of scenarios, by case; `excuses`:
        whether some failures are known and excused, so that each has to be told.
        """
        self.cases: list[LoadCase] = []
        self._loads, self._target, self._starts, self._folder = loads, target, starts, folder
        self._rows, self._excuses, self._says = rows, excuses, says(target)
        self._second: Loads | None = None
        self._single: Loads | None = None
        self._alone_s = ALONE_S
        self._failures: list[Failure] = []
        self._firm: dict[str, Ending] = {}
        self._confirmed: Counter[str] = Counter()

    def of(self, check: Check, ending: Ending, case: LoadCase | None, bench: LoadBench) -> Ending:
        """Return how a check ended, or its case, as far as second loads confirm that.

        A hang was tried twice before. Of cases that break the same clauses the quickest are loaded
        again; what breaks only clauses of which enough failures are confirmed stays open.
        """
        if not _is_to_confirm(ending):
            return ending
        self._look_at_failures()
        for failure in self._quickest(ending.broken):
            self._firm_of(failure)
        if case is not None and case.id in self._firm:
            return self._firm[case.id]
        if self._is_known(ending.broken, self._confirmed):
            return enough(ending)
        ending = self._confirmed_by(check, ending, case, bench.loaded)
        self._confirmed.update(ending.broken)
        return ending

    def close(self) -> None:
        """End all second loads."""
        for loads in (self._second, self._single):
            if loads is not None:
                loads.close()

    def _quickest(self, broken: Collection[str]) -> list[Failure]:
        """Return a few failures that may confirm what nothing has confirmed; begin their loads.

        None if some failures are excused, for then each counts.
        """
        if self._excuses:
            return []
        missing = {clause for clause in broken if not self._confirmed[clause]}
        untried = (each for each in self._failures if each.case.id not in self._firm)
        few = [*islice((each for each in untried if each.ending.broken & missing), ENOUGH)]
        for failure in few:
            self._load_again(failure.case)
        return few

    def _load_again(self, case: LoadCase) -> None:
        """Begin second loads of a case, and those with which they will be compared."""
        self.second.plan(loads_of(case, self._target))
        self._compare_ahead(case, self.second)

    def _firm_of(self, failure: Failure) -> None:
        """Confirm the failure of a case."""
        check = partial(concluded, case=failure.case)
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
        forms = loads_of(case, self._target) if case else []
        second = self._seconded(check, forms)
        if isinstance(second.error, Inconclusive):
            return opened(ending, second.error)
        loads = [*self._compared(self._loads(), [*forms, *loaded])]
        hurried = any(map(ran_out, loads)) or any(map(self._loads().was_busy, loads))
        comparable = second.verdict in ("pass", "fail") and second.broken <= ending.broken
        if hurried and comparable:
            return self._of_hurried(ending, second, case)
        return confirmed(ending, second, "the loader")

    def _of_hurried(self, ending: Ending, second: Ending, case: LoadCase | None) -> Ending:
        """Return of hurried loads' failure what slower loads show too, or its servers alone."""
        late = ending.broken - second.broken
        rows = self._rows.get(case.id, ()) if case else ()
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
        self.second.settle()
        for name, row in zip(NAMES, rows, strict=False):
            if name in names and self._alone_s > 0:
                began = time.monotonic()
                with suppress(*BROKEN):
                    alone[name] = self._twice(one_load(row, self._says.reads))
                self._alone_s -= time.monotonic() - began
        return {name: clauses & {*late} for name, clauses in alone.items() if clauses & {*late}}

    def _twice(self, case: LoadCase) -> frozenset[str]:
        """Load a case twice; return the clauses that both loads break, none if one was hurried."""
        self._alone_loads.of(WELL)
        bench, began = LoadBench(self._alone_loads, self._target), time.monotonic()
        broken = []
        for _ in range(2):
            self._alone_loads.forget([case])
            broken.append(attempt(partial(concluded, bench, case)).broken)
        is_busy = self._starts.slow(began, time.monotonic(), BUSY_S) > 0
        return frozenset() if is_busy else frozenset.intersection(*broken)

    def _seconded(self, check: Check, forms: Sequence[LoadCase]) -> Ending:
        """Call a check with second loads of these cases; it stays open if the machine is too busy.

        On that they are made again, a few times.
        """
        loads = self.second
        for _ in range(TRIES):
            bench = LoadBench(loads, self._target)
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
            yield from loads.ended(to_compare(load, self._says))

    def _look_at_failures(self) -> None:
        """Note which cases that have ended fail, quickest first; begin some of their second loads.

        They are enough to confirm that each clause is broken, and run side by side; so do the loads
        with which they will be compared. Cases that have ended are not looked at again.
        """
        self._loads().settle()
        ended, running = list[LoadCase](), list[LoadCase]()
        for case in self.cases:
            has_ended = all(map(self._loads().has_ended, loads_of(case, self._target)))
            (ended if has_ended else running).append(case)
        for case in ended:
            self._compare_ahead(case, self._loads())
        bench = LoadBench(self._loads(), self._target)
        endings = ((case, attempt(partial(concluded, bench, case))) for case in ended)
        self._failures += [
            Failure(case, ending) for case, ending in endings if _is_to_confirm(ending)
        ]
        self._failures.sort(key=self._slowness)
        planned = self._confirmed.copy()
        for failure in self._failures if ended else ():
            if not self._is_known(failure.ending.broken, planned):
                planned.update(failure.ending.broken)
                self._load_again(failure.case)
        self.cases = running

    def _slowness(self, failure: Failure) -> int:
        """Return how long the loads of a case took, in steps that are alike in most runs."""
        loads = self._loads().ended(loads_of(failure.case, self._target))
        return int(max((load.ended - load.began for load in loads), default=0.0) / STEP_S)

    def _is_known(self, broken: Collection[str], confirmed: Counter[str]) -> bool:
        """Whether that is known of clauses; never if failures are excused, as each counts then."""
        return bool(broken) and not self._excuses and is_known(broken, confirmed)

    def _compare_ahead(self, case: LoadCase, loads: Loads) -> None:
        """Begin, in that pool, the loads with which the case's own will be compared."""
        for load in self._loads().ended(loads_of(case, self._target)):
            LoadBench(loads, self._target).ahead(load)

    @property
    def second(self) -> Loads:
        """The pool of second loads, which confirm failures; created at first use."""
        if self._second is None:
            self._second = Loads(
                self._target.loader, self._folder / "again",
                confirm=False, learns=False, at_once=self._loads().at_once, slower=SLOWER,
                slow=self._starts.slow,
            )  # fmt: skip
        return self._second

    @property
    def _alone_loads(self) -> Loads:
        """The pool of loads that are made one after the other; created at first use."""
        if self._single is None:
            folder = self._folder / "alone"
            self._single = Loads(
                self._target.loader, folder,
                confirm=False, learns=False, slow=self._starts.slow,
            )  # fmt: skip
        return self._single


def _is_to_confirm(ending: Ending) -> bool:
    """Whether it is a failure of loads that were answered: one that hung was tried twice."""
    return ending.verdict == "fail" and ending.broken != {"I4.bounded"}
