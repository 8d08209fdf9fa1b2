"""Grids of verdicts that reports draw: their rows and columns, and the clauses of each cell."""

from __future__ import annotations

from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.requirement import BESIDE
from mcp_proxy_conformance.catalogue.specification import data_files


class Heading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row or a column: its short name, and what it is about as the end of a sentence.

    `states` are the states by which a tool or server belongs to a row: its one lock, or how one of
    its behaviours begins; `several`: a tool with more than one lock belongs to it. A column `needs`
    another: in a row where that does not pass, only results about certain rows pass in this column.
    A row with a `capability` does not apply to a target that does not declare it.
    """

    id: str
    name: str
    text: str
    states: tuple[str, ...] = ()
    several: bool = False
    needs: str = ""
    capability: str = ""


class Basis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The clauses that a cell rests on.

    With `checks` or `stages` it rests on results of these alone, which then count in no cell of the
    same clause that names neither. `rows` are those of the cell; one beside the grid has none.
    """

    clauses: tuple[str, ...]
    checks: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    @property
    def is_narrow(self) -> bool:
        """Whether only the results of certain checks or stages count."""
        return bool(self.checks or self.stages)


class Cells(Basis, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The basis of the cells of each of these rows with each of these columns."""

    columns: tuple[str, ...]


class Beside(Basis, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The basis of a cell beside the grid, by its name; entries of one name are one cell."""

    name: str


class Outside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Required clauses that the picture leaves out, and why."""

    clauses: tuple[str, ...]
    why: str


class Grid(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"rows": "row", "columns": "column"},
):
    """Rows, columns and cells of one picture, for the profiles that it names."""

    id: str
    title: str
    profiles: tuple[str, ...]
    rows: tuple[Heading, ...]
    columns: tuple[Heading, ...]
    cells: tuple[Cells, ...]
    beside: tuple[Beside, ...] = ()
    outside: tuple[Outside, ...] = ()

    def rows_of(self, state: tuple[str, ...]) -> frozenset[str]:
        """Return the ids of the rows to which a tool or server in this state belongs.

        `state` has a tool's locks or a server's behaviours in words. With several words it belongs
        to the rows marked `several`, if the grid has any; otherwise to each row that has the
        beginning of one of the words among its `states`.
        """
        several = [row.id for row in self.rows if row.several]
        if several and len(state) > 1:
            return frozenset(several)
        return frozenset(
            row.id for row in self.rows if any(word.startswith(row.states) for word in state)
        )

    def rows_with(self, clause: str) -> frozenset[str]:
        """Return the ids of the rows in which a cell of the grid rests on this clause."""
        return frozenset(
            row for cells in self.cells if clause in cells.clauses for row in cells.rows
        )

    @property
    def clauses(self) -> frozenset[str]:
        """Every clause that a cell rests on, or that the picture leaves out with a reason."""
        left_out = (clause for entry in self.outside for clause in entry.clauses)
        return frozenset((*(clause for basis in self.every for clause in basis.clauses), *left_out))

    @property
    def every(self) -> tuple[Basis, ...]:
        """The basis of every cell, inside the grid and beside it."""
        return (*self.cells, *self.beside)


@cache
def grids() -> tuple[Grid, ...]:
    """Return the grids of fixtures/*/pictures, in order of file name."""
    files = data_files("pictures/*.toml")
    return tuple(msgspec.toml.decode(file.read_bytes(), type=Grid) for file in files)


def grid_of(profile_id: str) -> Grid | None:
    """Return the grid for a profile, of whatever version; None without one.

    Of several profiles joined by `+`, the first counts.
    """
    first = profile_id.split(BESIDE, maxsplit=1)[0].partition("@")[0]
    return next((grid for grid in grids() if first in grid.profiles), None)
