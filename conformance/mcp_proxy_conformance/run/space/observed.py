"""What the scenarios of a run showed: where a symptom shows, and the smallest row that has it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from mcp_proxy_conformance.run.space.space import Row, Scenario, Space, in_words
from mcp_proxy_conformance.run.space.symptoms import (
    Observed,
    Symptom,
    coverage,
    smaller,
    symptom_of,
    wherever,
)
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.result import Finding

SMALLER_S = 20.0
"""Seconds of a run for making failing rows smaller."""
FOLDER = "cases"
"""The folder beside the report into which the cases of failing rows are written."""


class ObservedRows:
    """The scenarios of one run by the ids of their cases, and what each of their rows showed.

    A specification says how: which have ended, what rows of one showed, how rows are played by
    themselves, and how the case of a row is written.
    """

    def __init__(self, space: Space, scenarios: Mapping[str, Scenario]) -> None:
        """Keep the space and its scenarios; nothing is observed yet."""
        self._space, self._scenarios = space, scenarios
        self._left_s = SMALLER_S
        self._observed: dict[str, list[Observed]] = {}

    def _symptom(self, finding: Finding) -> Symptom:
        return symptom_of(finding)

    def _has_ended(self, name: str) -> bool:
        raise NotImplementedError

    def _rows(self, name: str) -> Iterator[Observed]:
        """Yield the rows of a scenario that has ended, as it showed them."""
        raise NotImplementedError

    def _alone(self, rows: Sequence[Row], until: float) -> Sequence[Collection[Symptom]]:
        """Return the symptoms of each row, played by itself; none of one that was not by `until`.

        They are played at the same time.
        """
        raise NotImplementedError

    def _written(self, row: Row, symptom: Symptom) -> Path:
        """Write the case of a row that has the symptom; return its path."""
        raise NotImplementedError

    def of(self, name: str) -> list[Observed]:
        """Return the rows of a scenario as it showed them; left out if it has not ended."""
        if name not in self._observed and self._has_ended(name):
            self._observed[name] = list(self._rows(name))
        if name in self._observed:
            return self._observed[name]
        return [Observed(scenario=name, row=row, status="left_out",
                         reason="the run had no time for it, or was told to leave it out")
                for row in self._scenarios[name].rows]  # fmt: skip

    def coverage(self, capabilities: Collection[str], version: int | None) -> Coverage | None:
        """Return what the scenarios looked at of the space; None if none was played."""
        if not any(map(self._has_ended, self._scenarios)):
            return None
        observed = [row for name in self._scenarios for row in self.of(name)]
        return coverage(self._space, observed, capabilities, version)

    def story(self, name: str, findings: Sequence[Finding]) -> Iterator[str]:
        """Yield lines on each symptom of a failed scenario: where it shows, and its smallest row.

        A symptom of several scenarios is told at the first one.
        """
        everywhere = [each for known in self._scenarios for each in self.of(known)]
        for symptom in dict.fromkeys(map(self._symptom, findings)):
            having = [each for each in everywhere if symptom in each.symptoms]
            first = having[0] if having else None
            if first is not None and first.scenario != name:
                yield f"{symptom.kind}: see test_scenario[{first.scenario}]"
                continue
            if place := wherever(self._space, symptom, everywhere):
                yield f"{symptom.kind}: {place}"
            rows = [first.row] if first else [each.row for each in self.of(name)]
            yield from self._smallest(symptom, rows)

    def _smallest(self, symptom: Symptom, rows: Sequence[Row]) -> Iterator[str]:
        """Yield the smallest row, by itself, that shows the symptom, and how to run it again.

        Nothing once the time for that is over.
        """
        if self._left_s <= 0:
            return
        began = time.monotonic()
        until = began + self._left_s
        fail = partial(self._fail, symptom, until=until)
        kept = [row for row, fails in zip(rows, fail(rows), strict=True) if fails]
        if kept:
            row = smaller(self._space, kept[0], fail, until)
            path = self._written(row, symptom)
            yield f"alone, with {in_words(row)}: run it again with --case {path}"
        elif time.monotonic() < until:
            yield "only beside others: none of them shows it alone"
        self._left_s -= time.monotonic() - began

    def _fail(self, symptom: Symptom, rows: Sequence[Row], until: float) -> list[bool]:
        return [symptom in symptoms for symptoms in self._alone(rows, until)]
