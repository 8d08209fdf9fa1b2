"""Lint rules for pictures (grids of clauses): known names, every required clause in some place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mcp_proxy_conformance.authoring.corpus import Corpus
from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.catalogue.grid import Basis, Grid
from mcp_proxy_conformance.catalogue.requirement import unknown

Place = tuple[str | int, ...]


def picture_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on a picture that is valid under its schema.

    They are on headings that occur twice, on unknown names, on checks that cite none of their
    cells' clauses, and on required clauses with no place.
    """
    grid: Grid = document.value
    for noun, headings in (("row", grid.rows), ("column", grid.columns)):
        for name, count in Counter(heading.id for heading in headings).items():
            if count > 1:
                yield document.finding_at(
                    (noun,), f"the {noun} {name} is there twice", "rename one"
                )
    rows, columns = ({heading.id for heading in part} for part in (grid.rows, grid.columns))
    for number, column in enumerate(grid.columns):
        needed = [column.needs] if column.needs else []
        yield from _names(document, ("column", number, "needs"), "column", needed, columns)
    for number, cells in enumerate(grid.cells):
        at: Place = ("cells", number)
        yield from _names(document, (*at, "rows"), "row", cells.rows, rows)
        yield from _names(document, (*at, "columns"), "column", cells.columns, columns)
        yield from _entry(document, at, cells, known)
    for number, beside in enumerate(grid.beside):
        yield from _entry(document, ("beside", number), beside, known)
    for number, outside in enumerate(grid.outside):
        at = ("outside", number, "clauses")
        yield from _names(document, at, "clause", outside.clauses, known.catalogue.clauses)
    yield from _absent(document, grid, known)


def _entry(document: Document, at: Place, basis: Basis, known: Corpus) -> Iterator[LintFinding]:
    """Yield findings on a basis: clauses, stages and checks that do not exist.

    Also on checks that cite none of its clauses.
    """
    clauses = known.catalogue.clauses
    yield from _names(document, (*at, "clauses"), "clause", basis.clauses, clauses)
    yield from _names(document, (*at, "stages"), "stage", basis.stages, known.stages)
    checks = {check.name: set(check.clauses) for check in known.shipped.checks}
    yield from _names(document, (*at, "checks"), "check", basis.checks, checks)
    for name in basis.checks:
        if name in checks and checks[name].isdisjoint(basis.clauses):
            fault = f"{name} cites none of the clauses of these cells"
            yield document.finding_at((*at, "checks", name), fault, "name one of its clauses")


def _names(
    document: Document, at: Place, noun: str, names: Iterable[str], known: Iterable[str]
) -> Iterator[LintFinding]:
    """Yield a finding for each name that is not among the known ones.

    Its place is `at`, followed by the name. `noun` says what they name, such as "clause".
    """
    there = set(known)
    for name in names:
        if name not in there:
            fault = unknown(noun, name, sorted(there))
            yield document.finding_at((*at, name), fault, f"name an existing {noun}")


def _absent(document: Document, grid: Grid, known: Corpus) -> Iterator[LintFinding]:
    """Yield a finding for each profile of the picture that does not exist.

    For one that does, a finding for each of its required clauses that has no place in the
    picture.
    """
    clauses = known.catalogue.clauses
    for name in grid.profiles:
        at: Place = ("profiles", name)
        if name not in known.newest:
            yield document.finding_at(
                at, unknown("profile", name, known.newest), "name one that exists"
            )
            continue
        for clause in known.newest[name].clauses:
            required = clause in clauses and clauses[clause].level == "required"
            if required and clause not in grid.clauses:
                fault = f"{clause} of {name} has no place in the picture"
                repair = "name it in `cells` or `beside`, or in `outside` with the reason"
                yield document.finding_at(at, fault, repair)
