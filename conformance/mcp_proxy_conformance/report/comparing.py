"""Several reports as one page: a table of clauses and implementations, and the reasons below."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.html import framed
from mcp_proxy_conformance.report.markdown import cell, code, plain
from mcp_proxy_conformance.report.matrix import ABSENT, Cell, Matrix, Row, matrix
from mcp_proxy_conformance.verdict.redaction import inert

SETTLED = ("pass", "not_applicable", ABSENT)
LINE = 200

Reports = Sequence[tuple[str, Report]]
"""Each report, with the name of its file."""


def html(reports: Reports) -> str:
    """One page without a script that it would need."""
    return framed("matrix.html.jinja", matrix=matrix(reports))


def markdown(reports: Reports) -> str:
    """One table; beneath it the reason of whatever is neither a pass nor not applicable."""
    told = matrix(reports)
    lines = [
        "# Implementations and clauses",
        "",
        *[
            f"{one.number}. {code(one.target)}, {code(one.profile)}: {code(one.headline)}, exit"
            f" {one.exit} ({code(one.file)})"
            for one in told.columns
        ],
        "",
        f"{told.differing} of {len(told.rows)} clauses differ; these are marked ≠.",
        "",
        *_table(told),
        *_reasons(told),
    ]
    return "\n".join([*lines, ""])


def _table(told: Matrix) -> list[str]:
    heads = " | ".join(str(one.number) for one in told.columns)
    lines = [f"| clause | {heads} | |", f"|---|{'---|' * len(told.columns)}---|"]
    for row in told.rows:
        advisory = " (advisory)" if row.judgement == "A" else ""
        words = " | ".join(plain(one.word) for one in row.cells)
        mark = "≠" if row.differs else ""
        lines.append(f"| {cell(row.clause)}{advisory} | {words} | {mark} |")
    return lines


def _reasons(told: Matrix) -> list[str]:
    open_ = [
        (row, [one for one in row.cells if one.word not in SETTLED])
        for row in told.rows
        if any(one.word not in SETTLED for one in row.cells)
    ]
    return [line for row, cells in open_ for line in _of_clause(row, cells)]


def _of_clause(row: Row, cells: list[Cell]) -> list[str]:
    source = f"{plain(row.sentence.text)} ({plain(row.sentence.source)})"
    return ["", f"## {code(row.clause)}", "", source, "", *map(_reason, cells)]


def _reason(one: Cell) -> str:
    first = next(iter(inert(one.reason).splitlines()), "")
    told = first if len(first) <= LINE else f"{first[:LINE]}..."
    return f"- {one.column.number}, {plain(one.word)}: {code(told)}"
