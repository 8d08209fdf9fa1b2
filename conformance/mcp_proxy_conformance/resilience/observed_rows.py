"""Rows of the space as a loader's scenarios showed them: symptoms, smaller rows, coverage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.json_file import write
from mcp_proxy_conformance.resilience.judged import Says, judged, to_compare
from mcp_proxy_conformance.resilience.load_case import LoadCase
from mcp_proxy_conformance.resilience.loads import BROKEN, Load, Loads
from mcp_proxy_conformance.resilience.met import is_unasked
from mcp_proxy_conformance.resilience.scenarios import NAMES, one_load, row_name, space
from mcp_proxy_conformance.run.space.space import Row, Scenario, in_words
from mcp_proxy_conformance.run.space.symptoms import (
    Observed,
    Symptom,
    smaller,
    symptom_of,
    wherever,
)
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive, NotApplicable

SMALLER_S = 20.0
"""Seconds of a run for making failing rows smaller."""
FOLDER = "cases"
"""The folder beside the report into which the cases of failing rows are written."""


@dataclass(slots=True, kw_only=True)
class ObservedRows:
    """The scenarios of one run, by their cases' ids, and what their loads showed.

    `again()` is the pool in which rows are played once more; `out` gets the cases of failing rows.
    """

    scenarios: dict[str, tuple[Scenario, LoadCase]]
    loads: Loads
    again: Callable[[], Loads]
    says: Says
    out: Path
    left_s: float = SMALLER_S
    _observed: dict[str, list[Observed]] = field(default_factory=dict)

    def story(self, case: LoadCase, findings: Sequence[Finding]) -> Iterator[str]:
        """Yield lines on each symptom of a failed scenario: where it shows, and its smallest row.

        A symptom of several scenarios is told at the first one.
        """
        everywhere = [each for known in self.scenarios for each in self.of(known)]
        for symptom in dict.fromkeys(map(symptom_of, findings)):
            having = [each for each in everywhere if symptom in each.symptoms]
            first = having[0] if having else None
            if first is not None and first.scenario != case.id:
                yield f"{symptom.kind}: see test_scenario[{first.scenario}]"
                continue
            if place := wherever(space(), symptom, everywhere):
                yield f"{symptom.kind}: {place}"
            rows = [first.row] if first else [each.row for each in self.of(case.id)]
            yield from self._alone(symptom, rows)

    def of(self, name: str) -> list[Observed]:
        """Return the rows of a scenario as its load showed them; left out if that has not ended."""
        own, case = self.scenarios[name]
        if not self.loads.has_ended(case):
            return [Observed(scenario=name, row=row, status="left_out",
                             reason="the run had no time for it, or was told to leave it out")
                    for row in own.rows]  # fmt: skip
        if name not in self._observed:
            self._observed[name] = list(self._rows(own, case))
        return self._observed[name]

    def _rows(self, own: Scenario, case: LoadCase) -> Iterator[Observed]:
        compared, why = Comparison(), ""
        try:
            load = self.loads.of(case)
            compared = judged(load, self.loads.of, self.says)
        except (Inconclusive, NotApplicable, *BROKEN) as error:
            why = str(error) or type(error).__name__
        for row, name in zip(own.rows, NAMES, strict=False):
            symptoms = frozenset(
                symptom_of(finding)
                for finding in compared.findings
                if any(row_name(matter.name) == name for matter in finding.about)
            )
            if why:
                yield Observed(scenario=own.id, row=row, status="masked", reason=why)
            elif reason := _unarmed(load, name):
                yield Observed(scenario=own.id, row=row, status="unarmed", reason=reason)
            elif not load.is_answered or any(
                load.loaded.outcome(each.server_id) is None and row_name(each.server_id) == name
                for each in case.given.servers
            ):
                reason = "the loader told of no outcome"
                yield Observed(scenario=own.id, row=row, status="masked", reason=reason)
            else:
                yield Observed(scenario=own.id, row=row, symptoms=symptoms)

    def _alone(self, symptom: Symptom, rows: Sequence[Row]) -> Iterator[str]:
        """Yield the smallest row, by itself, that shows the symptom, and how to run it again.

        Nothing once the time for that is over.
        """
        if self.left_s <= 0:
            return
        began = time.monotonic()
        until = began + self.left_s
        fail = partial(self._fail, symptom, until=until)
        kept = [row for row, fails in zip(rows, fail(rows), strict=True) if fails]
        if kept:
            row = smaller(space(), kept[0], fail, until)
            case = one_load(row, self.says.reads)
            case = msgspec.structs.replace(
                case, id=f"law-{case.id}", area="law", clauses=symptom.clauses
            )
            path = self.out / FOLDER / f"{case.id}.json"
            write(path, case)
            yield f"alone, with {in_words(row)}: run it again with --case {path}"
        elif time.monotonic() < until:
            yield "only beside other servers: none of them shows it alone"
        self.left_s -= time.monotonic() - began

    def _fail(self, symptom: Symptom, rows: Sequence[Row], until: float) -> list[bool]:
        """Return whether each row, by itself, shows the symptom; they are played at once.

        One that was not played by `until` does not.
        """
        loads = self.again()
        cases = [one_load(row, self.says.reads) for row in rows]
        loads.plan(cases)
        loads.settle(until)
        compared = [each for load in loads.ended(cases) for each in to_compare(load, self.says)]
        loads.plan(compared)
        loads.settle(until)
        loads.forget([case for case in (*cases, *compared) if not loads.has_ended(case)])
        return [loads.has_ended(case) and symptom in self._symptoms(loads, case) for case in cases]

    def _symptoms(self, loads: Loads, case: LoadCase) -> set[Symptom]:
        try:
            findings = judged(loads.of(case), loads.of, self.says).findings
        except (Inconclusive, NotApplicable, *BROKEN):
            return set()
        return set(map(symptom_of, findings))


def _unarmed(load: Load, name: str) -> str:
    """Return why the server of a row could not show what it is about; empty if it could."""
    for server in load.case.given.servers:
        if row_name(server.server_id) == name:
            if why := load.unmet.get(server.server_id):
                return why
            if load.is_answered and is_unasked(load, server):
                return "the loader asks for first pages, or for its own revision, only"
    return ""
