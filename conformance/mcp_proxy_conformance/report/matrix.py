"""Several reports beside each other: a row for each clause, a column for each report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.html import anchors, colour_of
from mcp_proxy_conformance.report.retelling import (
    TOLD,
    Sentence,
    is_left_out,
    profile_of,
    sentence,
    target_of,
)

ABSENT = "not asked"
"""Of a clause that is not in the profile of a report, or that was left out of its run."""
CHECKS, REASON = 6, 600


@dataclass(frozen=True, slots=True)
class Column:
    """A report: its number from 1, its file, its target in short and whole, and what it came to."""

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
    """What a report says of a clause: its verdict, why, and which checks are not settled."""

    anchor: str
    column: Column
    word: str
    reason: str
    checks: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Row:
    """A clause, and what each report says of it; `differs` where they do not say the same."""

    anchor: str
    clause: str
    judgement: str
    sentence: Sentence
    cells: tuple[Cell, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class Matrix:
    """All columns and rows, and how many rows differ."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def differing(self) -> int:
        """How many rows differ."""
        return sum(row.differs for row in self.rows)


def matrix(reports: Sequence[tuple[str, Report]]) -> Matrix:
    """The matrix of these reports, each with the name of its file, in their order."""
    columns = [_column(number, *one) for number, one in enumerate(reports, 1)]
    ids = _ids([one for _, one in reports])
    rows = [
        _row(anchor, clause, columns, [one for _, one in reports])
        for anchor, clause in zip(anchors(ids), ids, strict=True)
    ]
    return Matrix(tuple(columns), tuple(rows))


def _ids(reports: list[Report]) -> list[str]:
    """The clauses of all reports, in the order of the catalogue; those it does not know last."""
    found = list(dict.fromkeys(one.id for report in reports for one in report.clauses))
    order = {clause: number for number, clause in enumerate(catalogue().clauses)}
    return sorted(found, key=lambda clause: order.get(clause, len(order)))


def _column(number: int, file: str, report: Report) -> Column:
    return Column(
        number=number,
        file=file,
        kind=f"{report.target.kind} {report.target.version}".strip(),
        target=target_of(report),
        profile=profile_of(report),
        headline=report.headline,
        exit=report.exit,
        colour=colour_of(report),
    )


def _row(anchor: str, clause: str, columns: list[Column], reports: list[Report]) -> Row:
    cells = tuple(
        _cell(f"{anchor}-in-{column.number}", clause, column, report)
        for column, report in zip(columns, reports, strict=True)
    )
    said = [one for report in reports for one in report.clauses if one.id == clause]
    return Row(
        anchor=anchor,
        clause=clause,
        judgement=said[0].judgement,
        sentence=sentence(clause),
        cells=cells,
        differs=len({cell.word for cell in cells}) > 1,
    )


def _cell(anchor: str, clause: str, column: Column, report: Report) -> Cell:
    told = next((one for one in report.clauses if one.id == clause), None)
    if told is None or is_left_out(told):
        why = "It was left out of this run." if told else f"{column.profile} does not have it."
        return Cell(anchor, column, ABSENT, why, (), 0)
    checks = [one.name for one in report.results if clause in one.clauses and one.verdict in TOLD]
    reason = told.reason
    return Cell(
        anchor=anchor,
        column=column,
        word=told.verdict,
        reason=reason if len(reason) <= REASON else f"{reason[:REASON]}...",
        checks=tuple(checks[:CHECKS]),
        more=max(0, len(checks) - CHECKS),
    )
