"""Picture of a report: grid of verdicts, such as lock by property; cells that differ in several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Literal

from mcp_proxy_conformance.catalogue.grid import Basis, Grid, Heading, grid_of
from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.verdict.causes import LOCK_OF
from mcp_proxy_conformance.verdict.result import WORST_FIRST as VERDICTS
from mcp_proxy_conformance.verdict.result import Result, Verdict

CellVerdict = Verdict | Literal["not_asked"]
WORST_FIRST: tuple[CellVerdict, ...] = (*VERDICTS, "not_asked")
NOT_ASKED = ("not_asked", "left_out")
"""Causes of a clause that the run was not asked to judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell that something is demanded of: its verdict, and what that rests on.

    `clauses` are those with this verdict, `results` those results of them that did not pass.
    """

    name: str
    verdict: CellVerdict
    clauses: tuple[str, ...]
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A grid with its verdicts: the rows and columns in which something was judged.

    `cells` maps (row id, column id) to a cell; blank ones are not in it. `beside` are the cells
    beside the grid.
    """

    title: str
    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    cells: Mapping[tuple[str, str], Cell]
    beside: tuple[Cell, ...]

    @property
    def verdicts(self) -> tuple[CellVerdict, ...]:
        """The verdicts that occur in it, worst first."""
        own = {cell.verdict for cell in (*self.cells.values(), *self.beside)}
        return tuple(verdict for verdict in WORST_FIRST if verdict in own)

    @property
    def every(self) -> tuple[Cell, ...]:
        """All cells: those of the grid row by row, then those beside it."""
        places = ((row.id, column.id) for row in self.rows for column in self.columns)
        inside = (self.cells[place] for place in places if place in self.cells)
        return (*inside, *self.beside)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The verdict on one clause in one cell, and the results behind it."""

    clause: str
    verdict: CellVerdict
    results: tuple[Result, ...]


def picture(report: Report) -> Picture | None:
    """Return the picture of a report, with the rows and columns in which something was judged.

    None if its profile has no grid, or nothing was judged.
    """
    grid = grid_of(report.profile.id)
    if grid is None:
        return None
    evidence, declared = _Evidence(grid, report), report.target.capabilities
    cells: dict[tuple[str, str], Cell] = {}
    for row in grid.rows:
        for column in grid.columns:
            basis = [e for e in grid.cells if row.id in e.rows and column.id in e.columns]
            needed = cells.get((row.id, column.needs))
            hidden = needed is not None and needed.verdict != "pass"
            cell = evidence.cell(f"{row.name}, {column.name}", basis, row.id, hidden=hidden)
            if cell is not None and row.capability and row.capability not in declared:
                cell = _undeclared(cell)
            if cell is not None:
                cells[row.id, column.id] = cell
    names = dict.fromkeys(entry.name for entry in grid.beside)
    around = [evidence.cell(name, [e for e in grid.beside if e.name == name]) for name in names]
    judged = {place for place, cell in cells.items() if cell.verdict != "not_asked"}
    beside = tuple(cell for cell in around if cell is not None)
    if not judged and all(cell.verdict == "not_asked" for cell in beside):
        return None
    return Picture(
        title=grid.title,
        rows=tuple(row for row in grid.rows if any(row.id == place[0] for place in judged)),
        columns=tuple(c for c in grid.columns if any(c.id == place[1] for place in judged)),
        cells=cells,
        beside=beside,
    )


class _Evidence:
    """A report's evidence for the cells of a grid: its clauses, and the results on each."""

    def __init__(self, grid: Grid, report: Report) -> None:
        """Index the report's clauses, and by clause its results and the grid's narrow bases."""
        self._grid = grid
        self._clauses = {clause.id: clause for clause in report.clauses}
        self._results: dict[str, list[Result]] = {}
        self._known_rows: dict[tuple[int, str], frozenset[str]] = {}
        for result in report.results:
            for clause in dict.fromkeys((*result.clauses, *result.observed)):
                self._results.setdefault(clause, []).append(result)
        self._narrow: dict[str, list[Basis]] = {}
        for basis in grid.every:
            if basis.is_narrow:
                for clause in basis.clauses:
                    self._narrow.setdefault(clause, []).append(basis)

    def cell(
        self, name: str, every: Sequence[Basis], row: str = "", *, hidden: bool = False
    ) -> Cell | None:
        """Return the cell that rests on these bases: worst verdict, with its clauses and results.

        A basis has clauses and, if it is narrow, the checks or stages whose results count for them.
        `row` is the id of the cell's row, "" beside the grid; `hidden`: another cell of that row
        that this one needs did not pass. None if none of the bases has a verdict.
        """
        demanded = [
            judged
            for basis in every
            for clause in basis.clauses
            if (judged := self._judged(clause, basis, row, hidden=hidden)) is not None
        ]
        if not demanded:
            return None
        verdict = min((judged.verdict for judged in demanded), key=WORST_FIRST.index)
        worst = [judged for judged in demanded if judged.verdict == verdict]
        results = {result.name: result for judged in worst for result in judged.results}
        return Cell(
            name=name,
            verdict=verdict,
            clauses=tuple(dict.fromkeys(judged.clause for judged in worst)),
            results=tuple(results.values()),
        )

    def _judged(
        self, clause_id: str, basis: Basis, row: str, *, hidden: bool
    ) -> _Judged | None:  # fmt: skip
        """Return the worst verdict on a clause in a row, by the results that count there.

        With it are the results that have it, none for a pass. If no result counts, it is the
        clause's own verdict, if no result at all is on the clause and the basis is not narrow; else
        None, as for a clause that is untested or not in the report. If `hidden`, a pass by a result
        that is about no row in particular is inconclusive. A clause not asked for is `not_asked`.
        """
        clause = self._clauses.get(clause_id)
        if clause is None or clause.cause == "untested":
            return None
        if clause.cause in NOT_ASKED:
            return _Judged(clause_id, "not_asked", ())
        verdicts = [
            (
                "inconclusive"
                if hidden and verdict == "pass" and not self._rows(result, clause_id)
                else verdict,
                result,
            )
            for result in self._results.get(clause_id, ())
            if self._counts(result, basis, clause_id, row)
            and (verdict := _verdict(result, clause_id)) is not None
        ]
        if not verdicts:
            unseen = not basis.is_narrow and clause_id not in self._results
            return _Judged(clause_id, clause.verdict, ()) if unseen else None
        worst = min((each for each, _ in verdicts), key=WORST_FIRST.index)
        behind = tuple(result for each, result in verdicts if each == worst != "pass")
        return _Judged(clause_id, worst, behind)

    def _counts(self, result: Result, basis: Basis, clause: str, row: str) -> bool:
        """Whether a result on a clause counts in this row of a basis.

        If bases name its check, it counts for these alone: in the rows that it is about (`_rows`),
        or in all if it is about none of the basis's. Otherwise it never counts for a basis that
        names checks, and for any other in the rows that it is about, whatever its stage. If it
        is about no row, or `row` is "", it counts for each basis that names its stage; if none
        does, for each that names no stages.
        """
        narrow = self._narrow.get(clause, ())
        rows = self._rows(result, clause)
        if result.check in basis.checks:
            own = rows.intersection(basis.rows)
            return not own or row in own
        if any(result.check in other.checks for other in narrow) or basis.checks:
            return False
        if row and rows:
            return row in rows
        taken = any(result.stage in other.stages for other in narrow)
        return result.stage in basis.stages if basis.stages else not taken

    def _rows(self, result: Result, clause: str) -> frozenset[str]:
        """Return the ids of the rows that a result on a clause is about, of those with the clause.

        They follow from the locks of the tools, or the states of the servers, that its findings are
        about, else from its case; for an inconclusive result only from the locks that it needs to
        be revealed first, if these are among them. Empty if unknown. Computed once for each pair.
        """
        place = (id(result), clause)
        if place not in self._known_rows:
            self._known_rows[place] = self._rows_of(result, clause)
        return self._known_rows[place]

    def _rows_of(self, result: Result, clause: str) -> frozenset[str]:
        """Return the ids of the rows with the clause that a result is about; empty if unknown.

        They are those of the states in its findings on the clause or, unless all of these name
        tools or servers, in its case; for an inconclusive one only those of the locks that it needs
        to be revealed first, if these are among them.
        """
        broken = [finding for finding in result.findings if clause in finding.clauses]
        told = all(finding.about for finding in broken)
        states = {matter.state for finding in broken for matter in finding.about}
        known = (
            states
            if states and told
            else _states_of_case(result.case or "", self._grid.profiles[0])
        )
        if result.verdict == "inconclusive":
            hidden = {(LOCK_OF[need],) for need in result.needs if need in LOCK_OF}
            known = known & hidden or known
        rows = {row for state in known for row in self._grid.rows_of(state)}
        return frozenset(rows).intersection(self._grid.rows_with(clause))


def _undeclared(cell: Cell) -> Cell:
    """Return the cell of a row whose capability is undeclared: not applicable, without results.

    One that fails, is waived or was not asked for is returned unchanged.
    """
    if cell.verdict in ("fail", "waived", "not_asked"):
        return cell
    return replace(cell, verdict="not_applicable", results=())


def _verdict(result: Result, clause: str) -> CellVerdict | None:
    """Return a result's verdict on a clause, None if it has none.

    `not_asked` if it is not applicable for lack of an option.
    """
    verdict = result.of(clause)
    return "not_asked" if verdict == "not_applicable" and result.cause in NOT_ASKED else verdict


@cache
def _states_of_case(case_id: str, profile: str) -> frozenset[tuple[str, ...]]:
    """Return the sets of locks on the locked tools that a case is about; empty if it is unknown."""
    judging = [each for each in specifications() if profile in each.folders]
    return frozenset().union(*(each.locked(case_id) for each in judging))


Change = tuple[str, tuple[CellVerdict | None, ...]]
"""A cell's name, and its verdict in each of several pictures; None where it is blank."""


def changes(pictures: Sequence[Picture | None]) -> tuple[Change, ...]:
    """Return (cell's name, its verdict in each picture) where these differ; None is blank."""
    known = [
        {cell.name: cell.verdict for cell in shown.every} if shown else {} for shown in pictures
    ]
    names = dict.fromkeys(chain.from_iterable(known))
    rows = [(name, tuple(cells.get(name) for cells in known)) for name in names]
    return tuple((name, verdicts) for name, verdicts in rows if len(set(verdicts)) > 1)
