"""Matrix of several reports: a row per clause, a column per report, and their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.html import anchors, colour_of
from mcp_proxy_conformance.report.phrases import (
    TOLD,
    Sentence,
    is_left_out,
    named,
    sentence,
    target_of,
)
from mcp_proxy_conformance.report.picture import Cell as PictureCell
from mcp_proxy_conformance.report.picture import Change, Picture, changes, picture

ABSENT = "not asked"
"""Word for a clause that is not in a report's profile, or that was left out of its run."""
CHECKS, REASON = 6, 600


@dataclass(frozen=True, slots=True)
class Column:
    """One compared report: number from 1, file, target in short and in full, and outcome."""

    number: int
    file: str
    kind: str
    target: str
    profile: str
    headline: str
    exit: int
    colour: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A report's verdict (`word`) on a clause, its reason, and the first results to look at.

    `checks` are their names; `more` is the number of further ones.
    """

    anchor: str
    column: Column
    word: str
    reason: str
    checks: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class ComparedClause:
    """A clause and its cell in each report; `differs` if the verdicts are not the same."""

    anchor: str
    clause: str
    level: str
    sentence: Sentence
    cells: tuple[Cell, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    """Compared reports: columns, rows, and each column's picture, None for a report without one."""

    columns: tuple[Column, ...]
    rows: tuple[ComparedClause, ...]
    pictures: tuple[Picture | None, ...]

    @property
    def differing(self) -> int:
        """The number of rows that differ."""
        return sum(row.differs for row in self.rows)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The cells whose verdicts differ between the pictures; () unless all have one title."""
        kinds = {shown.title for shown in self.pictures if shown is not None}
        return changes(self.pictures) if len(kinds) == 1 else ()

    def link(self, column: int, cell: PictureCell) -> str:
        """Return the anchor, in column `column` (from 1), of a picture's cell: its first clause's.

        It is "" if none of its clauses has a row.
        """
        anchors = {row.clause: row.cells[column - 1].anchor for row in self.rows}
        return next((anchors[clause] for clause in cell.clauses if clause in anchors), "")


def matrix(reports: Sequence[tuple[str, Report]]) -> Matrix:
    """Return the matrix of (file's name, report) pairs, with columns in that order.

    Rows that differ come first.
    """
    columns = [_column(number, *entry) for number, entry in enumerate(reports, 1)]
    ids = _ids([report for _, report in reports])
    rows = [
        _row(anchor, clause, columns, [report for _, report in reports])
        for anchor, clause in zip(anchors(ids), ids, strict=True)
    ]
    pictures = tuple(picture(report) for _, report in reports)
    ordered = sorted(rows, key=lambda row: not row.differs)
    return Matrix(tuple(columns), tuple(ordered), pictures)


def _ids(reports: list[Report]) -> list[str]:
    """Return all clauses of the reports, each once, in the catalogue's order, unknown ones last."""
    ids = list(dict.fromkeys(clause.id for report in reports for clause in report.clauses))
    order = {clause: number for number, clause in enumerate(catalogue().clauses)}
    return sorted(ids, key=lambda clause: order.get(clause, len(order)))


def _column(number: int, file: str, report: Report) -> Column:
    """Return the column of a report, as number `number`: its file, target, profile and outcome."""
    return Column(
        number=number,
        file=file,
        kind=named(report),
        target=target_of(report),
        profile=report.profile.name,
        headline=report.headline,
        exit=report.exit,
        colour=colour_of(report),
    )


def _row(anchor: str, clause: str, columns: list[Column], reports: list[Report]) -> ComparedClause:
    """Return a clause's row with a cell for each report; `differs` if their verdicts do.

    The level is that of the first report that has the clause.
    """
    cells = tuple(
        _cell(f"{anchor}-in-{column.number}", clause, column, report)
        for column, report in zip(columns, reports, strict=True)
    )
    verdicts = [verdict for report in reports for verdict in report.clauses if verdict.id == clause]
    return ComparedClause(
        anchor=anchor,
        clause=clause,
        level=verdicts[0].level,
        sentence=sentence(clause),
        cells=cells,
        differs=len({cell.word for cell in cells}) > 1,
    )


def _cell(anchor: str, clause: str, column: Column, report: Report) -> Cell:
    """Return a report's cell of a clause, with up to six open or waived results, the rest counted.

    Its word is ABSENT, with the reason, if the report did not judge the clause; a reason over
    600 characters is cut.
    """
    judged = next((verdict for verdict in report.clauses if verdict.id == clause), None)
    if judged is None or is_left_out(judged):
        why = "It was left out of this run." if judged else f"It is not in {column.profile}."
        return Cell(anchor, column, ABSENT, why, (), 0)
    checks = [
        result.name
        for result in report.results
        if clause in result.clauses and result.verdict in TOLD
    ]
    reason = judged.reason
    return Cell(
        anchor=anchor,
        column=column,
        word=judged.verdict,
        reason=reason if len(reason) <= REASON else f"{reason[:REASON]}...",
        checks=tuple(checks[:CHECKS]),
        more=max(0, len(checks) - CHECKS),
    )
