"""The two profiles of loaders."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import catalogue, profile

BASIC = {"X.failed", "O1", "O3", "O4", "I1", "I4", "S1", "S2"}


def test_the_profiles_are_every_clause_and_those_of_seven_requirements() -> None:
    """`resilience` lists all clauses of its catalogue, in order; `resilience-basic` those of BASIC.

    A clause without a check has `later` as its reason.
    """
    every = profile("resilience").clauses
    basic = [name for name in every if {name, name.partition(".")[0]} & BASIC]

    of_loaders = [row for row in catalogue().requirements if row.source.text.startswith("resil")]
    clauses = [clause for row in of_loaders for clause in row.clauses]

    assert [*every] == [clause.id for clause in clauses]
    assert [*profile("resilience-basic").clauses] == basic
    assert {clause.untested for clause in clauses} <= {"later", None}
