"""Several reports side by side on one page: a table of clauses, and the reasons below."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.drawing import MEANINGS, SIGNS, drawing
from mcp_proxy_conformance.report.html import framed
from mcp_proxy_conformance.report.markdown import cell, code, plain
from mcp_proxy_conformance.report.matrix import ABSENT, Cell, ComparedClause, Matrix, matrix
from mcp_proxy_conformance.verdict.redaction import inert

SETTLED = ("pass", "not_applicable", ABSENT)
LINE = 200

Reports = Sequence[tuple[str, Report]]
"""Each report, with the name of its file."""


def html(reports: Reports) -> str:
    """Return one HTML page with the matrix and pictures of these reports; it needs no script."""
    grid = matrix(reports)
    drawn = [
        (column, shown, drawing(shown), {cell.name: grid.link(column.number, cell)
                                         for cell in shown.every})
        for column, shown in zip(grid.columns, grid.pictures, strict=True)
        if shown is not None
    ]  # fmt: skip
    return framed("matrix.html.jinja", matrix=grid, pictures=drawn, signs=SIGNS, meanings=MEANINGS)


def markdown(reports: Reports) -> str:
    """Return Markdown on these reports: changed picture cells, a table of clauses, reasons.

    Reasons are given for verdicts that are failed, open or waived.
    """
    grid = matrix(reports)
    lines = [
        "# Implementations and clauses",
        "",
        *[
            f"{column.number}. {code(column.target)}, {code(column.profile)}:"
            f" {code(column.headline)}, exit {column.exit} ({code(column.file)})"
            for column in grid.columns
        ],
        "",
        f"{grid.differing} of {len(grid.rows)} clauses differ; these are marked ≠.",
        "",
        *_changes(grid),
        *_table(grid),
        *_reasons(grid),
    ]
    return "\n".join([*lines, ""])


def _changes(grid: Matrix) -> list[str]:
    """Return a table of the cells that differ between the reports' pictures; [] if none does."""
    if not grid.changes:
        return []
    heads = " | ".join(str(column.number) for column in grid.columns)
    lines = [f"| picture | {heads} |", f"|---|{'---|' * len(grid.columns)}"]
    for name, verdicts in grid.changes:
        words = " | ".join(MEANINGS[verdict] if verdict else "" for verdict in verdicts)
        lines.append(f"| {plain(name)} | {words} |")
    return [*lines, ""]


def _table(grid: Matrix) -> list[str]:
    """Return a table of each clause with each report's verdict on it, and ≠ where these differ."""
    heads = " | ".join(str(column.number) for column in grid.columns)
    lines = [f"| clause | {heads} | |", f"|---|{'---|' * len(grid.columns)}---|"]
    for row in grid.rows:
        advisory = " (advisory)" if row.level == "advisory" else ""
        words = " | ".join(plain(entry.word) for entry in row.cells)
        mark = "≠" if row.differs else ""
        lines.append(f"| {cell(row.clause)}{advisory} | {words} | {mark} |")
    return lines


def _reasons(grid: Matrix) -> list[str]:
    """Return a section for each clause that some report fails, leaves open, or waives."""
    open_ = [
        (row, [entry for entry in row.cells if entry.word not in SETTLED])
        for row in grid.rows
        if any(entry.word not in SETTLED for entry in row.cells)
    ]
    return [line for row, cells in open_ for line in _of_clause(row, cells)]


def _of_clause(row: ComparedClause, cells: list[Cell]) -> list[str]:
    """Return a clause's section: heading, sentence with source, the reasons of these cells."""
    source = f"{plain(row.sentence.text)} ({plain(row.sentence.source)})"
    return ["", f"## {code(row.clause)}", "", source, "", *map(_reason, cells)]


def _reason(entry: Cell) -> str:
    """Return a list item: report's number, verdict, first line of the reason, cut to 200."""
    first = next(iter(inert(entry.reason).splitlines()), "")
    shown = first if len(first) <= LINE else f"{first[:LINE]}..."
    return f"- {entry.column.number}, {plain(entry.word)}: {code(shown)}"
