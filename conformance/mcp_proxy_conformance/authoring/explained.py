"""Data of `explain`: clauses with their checks, cases and mutants; requirements found by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.case_file import CitingCase
from mcp_proxy_conformance.catalogue.index import Check
from mcp_proxy_conformance.catalogue.interpretation import Interpretation
from mcp_proxy_conformance.catalogue.requirement import (
    Clause,
    Profile,
    Requirement,
    Source,
    UnknownClause,
    catalogue,
    unknown,
)
from mcp_proxy_conformance.selftest.shipped import Shipped

SHOWN = 4
"""Mutants that are shown with a clause; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One clause with everything that cites it; `broken` are the first mutants that break it.

    Attributes:
        others: Number of further mutants that break it.
    """

    clause: Clause
    source: Source
    checks: tuple[Check, ...]
    cases: tuple[CitingCase, ...]
    interpretations: tuple[Interpretation, ...]
    broken: tuple[Any, ...]
    others: int
    profiles: tuple[Profile, ...]


def explained(clause_id: str, data: Shipped) -> Explained:
    """Return a clause with all that cites it; raises UnknownClause."""
    clause = catalogue().clause(clause_id)
    checks = tuple(check for check in data.checks if clause_id in check.clauses)
    breaking = [mutant for mutant in data.counterexamples if clause_id in mutant.breaks]
    return Explained(
        clause=clause,
        source=catalogue().source(clause_id),
        checks=checks,
        cases=tuple(case for case in data.cases if clause_id in case.clauses),
        interpretations=tuple(row for row in data.interpretations if clause_id in row.clauses),
        broken=tuple(breaking[:SHOWN]),
        others=len(breaking[SHOWN:]),
        profiles=tuple(profile for profile in data.profiles if clause_id in profile.clauses),
    )


def requirements(wanted: str, within: Profile | None = None) -> tuple[Requirement, ...]:
    """Return the requirement that has the id `wanted`, or a clause of that id; all if it is empty.

    If it is empty, `within` limits them to those with a clause in this profile, or proved by one;
    otherwise `within` is ignored. Raises UnknownClause if nothing has that id.
    """
    rows = catalogue().requirements
    if wanted:
        matches = [row for row in rows if wanted in (row.id, *(c.id for c in row.clauses))]
        if not matches:
            known = [*catalogue().clauses, *(row.id for row in rows)]
            raise UnknownClause(unknown("clause or requirement", wanted, known))
        return tuple(matches)
    if within is None:
        return rows
    return tuple(row for row in rows if not within.holds.isdisjoint(_proving(row)))


def selected(row: Requirement, wanted: str, within: Profile | None = None) -> tuple[Clause, ...]:
    """Return the clauses of a requirement that the id `wanted` selects: its own id, or a clause's.

    An empty id selects all. With `within`, only those of that profile.
    """
    return tuple(
        clause
        for clause in row.clauses
        if wanted in ("", row.id, clause.id) and (within is None or clause.id in within.holds)
    )


def _proving(row: Requirement) -> Sequence[str]:
    """Return the ids of a requirement's own clauses, then of those elsewhere that prove it."""
    return (*(clause.id for clause in row.clauses), *row.proved_by)
