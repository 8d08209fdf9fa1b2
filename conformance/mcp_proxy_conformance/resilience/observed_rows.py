"""Rows of the space as a loader's scenarios showed them, and loads of single rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.json_file import write
from mcp_proxy_conformance.resilience.judged import Says, judged, to_compare
from mcp_proxy_conformance.resilience.load_case import LoadCase
from mcp_proxy_conformance.resilience.loads import BROKEN, Load, Loads
from mcp_proxy_conformance.resilience.met import is_unasked
from mcp_proxy_conformance.resilience.scenarios import NAMES, one_load, row_name, space
from mcp_proxy_conformance.run.space.observed import FOLDER, ObservedRows
from mcp_proxy_conformance.run.space.space import Row, Scenario
from mcp_proxy_conformance.run.space.symptoms import Observed, Symptom, symptom_of
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable


class LoadedRows(ObservedRows):
    """The scenarios of one run, by their cases' ids, and what their loads showed."""

    def __init__(
        self, scenarios: Mapping[str, tuple[Scenario, LoadCase]], loads: Loads,
        again: Callable[[], Loads], says: Says, out: Path,
    ) -> None:  # fmt: skip
        """Keep the settings.

        `again()` is the pool in which rows are played once more; `out` gets the cases of failing
        rows.
        """
        super().__init__(space(), {name: own for name, (own, _) in scenarios.items()})
        self._cases = {name: case for name, (_, case) in scenarios.items()}
        self._loads, self._again, self._says, self._out = loads, again, says, out

    def _has_ended(self, name: str) -> bool:
        return self._loads.has_ended(self._cases[name])

    def _rows(self, name: str) -> Iterator[Observed]:
        own, case = self._scenarios[name], self._cases[name]
        compared, why = Comparison(), ""
        try:
            load = self._loads.of(case)
            compared = judged(load, self._loads.of, self._says)
        except (Inconclusive, NotApplicable, *BROKEN) as error:
            why = str(error) or type(error).__name__
        for row, server in zip(own.rows, NAMES, strict=False):
            symptoms = frozenset(
                symptom_of(finding)
                for finding in compared.findings
                if any(row_name(matter.name) == server for matter in finding.about)
            )
            if why:
                yield Observed(scenario=own.id, row=row, status="masked", reason=why)
            elif reason := _unarmed(load, server):
                yield Observed(scenario=own.id, row=row, status="unarmed", reason=reason)
            elif not load.is_answered or any(
                load.loaded.outcome(each.server_id) is None and row_name(each.server_id) == server
                for each in case.given.servers
            ):
                reason = "the loader told of no outcome"
                yield Observed(scenario=own.id, row=row, status="masked", reason=reason)
            else:
                yield Observed(scenario=own.id, row=row, symptoms=symptoms)

    def _alone(self, rows: Sequence[Row], until: float) -> Sequence[Collection[Symptom]]:
        loads = self._again()
        cases = [one_load(row, self._says.reads) for row in rows]
        loads.plan(cases)
        loads.settle(until)
        compared = [each for load in loads.ended(cases) for each in to_compare(load, self._says)]
        loads.plan(compared)
        loads.settle(until)
        loads.forget([case for case in (*cases, *compared) if not loads.has_ended(case)])
        return [self._symptoms(loads, case) if loads.has_ended(case) else () for case in cases]

    def _symptoms(self, loads: Loads, case: LoadCase) -> Collection[Symptom]:
        try:
            findings = judged(loads.of(case), loads.of, self._says).findings
        except (Inconclusive, NotApplicable, *BROKEN):
            return ()
        return {*map(symptom_of, findings)}

    def _written(self, row: Row, symptom: Symptom) -> Path:
        case = one_load(row, self._says.reads)
        case = msgspec.structs.replace(
            case, id=f"law-{case.id}", area="law", clauses=symptom.clauses
        )
        path = self._out / FOLDER / f"{case.id}.json"
        write(path, case)
        return path


def _unarmed(load: Load, name: str) -> str:
    """Return why the server of a row could not show what it is about; empty if it could."""
    for server in load.case.given.servers:
        if row_name(server.server_id) == name:
            if why := load.unmet.get(server.server_id):
                return why
            if load.is_answered and is_unasked(load, server):
                return "the loader asks for first pages, or for its own revision, only"
    return ""
