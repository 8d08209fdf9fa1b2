"""Drawings of a picture (grid of verdicts): terminal lines, Markdown table, positions in an SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_proxy_conformance.report.colour import Line, Span
from mcp_proxy_conformance.report.picture import Cell, CellVerdict, Picture

WORDS: dict[CellVerdict, str] = {
    "pass": "ok", "fail": "FAIL", "error": "ERR", "inconclusive": "open", "waived": "old",
    "not_applicable": "-", "not_asked": ".",
}  # fmt: skip
"""The word for each verdict in a terminal."""
SIGNS: dict[CellVerdict, str] = {
    "pass": "✓", "fail": "✗", "error": "!", "inconclusive": "?", "waived": "~",
    "not_applicable": "-", "not_asked": "·",
}  # fmt: skip
"""The sign for each verdict on a page, where its colour alone would not do."""
MEANINGS: dict[CellVerdict, str] = {
    "pass": "holds",
    "fail": "fails",
    "error": "broke before it could be seen",
    "inconclusive": "inconclusive",
    "waived": "fails, as is known",
    "not_applicable": "does not apply",
    "not_asked": "not asked for",
}
PLAIN = ("pass", "fail")
"""Verdicts whose words in a terminal need no legend."""
NARROW = 4
"""Characters of a column where the terminal is too narrow for its name."""


def lines(shown: Picture, columns: int) -> list[Line]:
    """Return a picture as lines for a terminal of `columns`: title, grid, other cells, legend.

    Names of columns are cut to four characters if the grid is too wide. Without rows there is
    no title and grid.
    """
    head = max((len(row.name) for row in shown.rows), default=0)
    widths = [max(len(column.name), NARROW) for column in shown.columns]
    if head + sum(widths) + len(widths) >= columns:
        widths = [NARROW] * len(widths)
    heads = [
        f"{column.name[:width]:>{width}}"
        for column, width in zip(shown.columns, widths, strict=True)
    ]
    grid = [Line(f"{'':{head}} {' '.join(heads)}")] if shown.rows else []
    for row in shown.rows:
        text, spans = f"{row.name:{head}}", []
        for column, width in zip(shown.columns, widths, strict=True):
            cell = shown.cells.get((row.id, column.id))
            word = WORDS[cell.verdict][:width] if cell else ""
            text += f" {word:>{width}}"
            spans += [Span(len(text) - len(word), len(text), cell.verdict)] if cell else []
        grid.append(Line(text, spans=tuple(spans)))
    title = [Line(f"{shown.title}:")] if shown.rows else []
    return [*title, *grid, *_beside(shown.beside, columns), *_legend(shown, columns)]


def _beside(cells: Iterable[Cell], columns: int) -> list[Line]:
    """Return the cells beside the grid, each as "NAME WORD", in as few lines as they fit in."""
    rows: list[tuple[str, list[Span]]] = []
    for cell in cells:
        word = WORDS[cell.verdict]
        part = f"{cell.name} {word}"
        if rows and len(rows[-1][0]) + len(part) + 3 < columns:
            text, spans = rows.pop()
            text += f" | {part}"
        else:
            text, spans = part, []
        rows.append((text, [*spans, Span(len(text) - len(word), len(text), cell.verdict)]))
    return [Line(text, spans=tuple(spans)) for text, spans in rows]


def _legend(shown: Picture, columns: int) -> list[Line]:
    """Return lines, wrapped at `columns`, with the meaning of each word but ok and FAIL.

    A blank cell is explained too; [] if there is nothing to explain.
    """
    rare = [verdict for verdict in shown.verdicts if verdict not in PLAIN]
    parts = [f"{WORDS[verdict]} {MEANINGS[verdict]}" for verdict in rare]
    if len(shown.cells) < len(shown.rows) * len(shown.columns):
        parts.append("blank: not demanded")
    text = "; ".join(parts)
    return [Line(line) for line in textwrap.wrap(f"({text})", columns - 1)] if text else []


def markdown(shown: Picture) -> list[str]:
    """Return a picture in Markdown: title, table of signs, cells beside it, meaning of the signs.

    There is no table without rows.
    """
    heads = "".join(f" {column.name} |" for column in shown.columns)
    table = [f"| |{heads}", f"|---|{'---|' * len(shown.columns)}"] if shown.rows else []
    for row in shown.rows:
        cells = (shown.cells.get((row.id, column.id)) for column in shown.columns)
        marks = "".join(f" {SIGNS[cell.verdict] if cell else ''} |" for cell in cells)
        table.append(f"| {row.name} |{marks}")
    beside = ", ".join(f"{cell.name} {SIGNS[cell.verdict]}" for cell in shown.beside)
    signs = ", ".join(f"{SIGNS[verdict]} {MEANINGS[verdict]}" for verdict in shown.verdicts)
    return [f"**{shown.title}**", "", *table, *([""] if table else []), beside, "", f"({signs})"]


LETTER, STEP, ROW, TOP, RIGHT = 7, 28, 26, 66, 46
"""Units of an SVG: a letter, a column, a row, the slanted names of columns, the last one's end."""


@dataclass(frozen=True, slots=True)
class Box:
    """A cell in an SVG: its upper left corner."""

    cell: Cell
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a row or column in an SVG: where it begins, and its explanation."""

    name: str
    text: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The places of an SVG of a picture, in units of its view box."""

    width: int
    height: int
    rows: tuple[Label, ...]
    columns: tuple[Label, ...]
    boxes: tuple[Box, ...]


def drawing(shown: Picture) -> Drawing:
    """Return the size of a picture's SVG, and the positions of its rows, columns and cells.

    Blank cells have none.
    """
    across, down = list(enumerate(shown.columns)), list(enumerate(shown.rows))
    left = LETTER * (1 + max((len(row.name) for row in shown.rows), default=0))
    boxes = tuple(
        Box(shown.cells[row.id, column.id], left + STEP * number, TOP + ROW * line)
        for line, row in down
        for number, column in across
        if (row.id, column.id) in shown.cells
    )
    return Drawing(
        width=left + STEP * len(across) + RIGHT,
        height=TOP + ROW * len(down),
        rows=tuple(Label(row.name, row.text, 0, TOP + ROW * line + 16) for line, row in down),
        columns=tuple(
            Label(column.name, column.text, left + STEP * number + 12, TOP - 8)
            for number, column in across
        ),
        boxes=boxes,
    )
