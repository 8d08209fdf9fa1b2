"""A failed case accuses the clauses that its differing expectations speak against."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.case import cases
from mcp_proxy_conformance.discovery.accusation import SPEAKS, accused

CITED = ("FR-001.reveals-config", "FR-003.description", "FR-005.keys", "FR-006.cap")


@pytest.mark.parametrize(
    ("path", "clauses"),
    [
        ("missing config: forge:drop", ("FR-001.reveals-config",)),
        ("description of forge:drop", ("FR-003.description",)),
        ("remediation keys", ("FR-005.keys",)),
        ("too many locked entries", ("FR-006.cap",)),
        ("something new", CITED),
    ],
)
def test_only_what_the_path_speaks_against_is_accused(path: str, clauses: tuple[str, ...]) -> None:
    """A path that speaks against no cited clause leaves all of them accused."""
    found = accused(CITED, {path: 1, "note": 2}, {path: 2, "note": 2})

    assert found == clauses


def test_every_cited_clause_can_be_accused() -> None:
    """No case cites a clause that no expectation could ever break."""
    spoken = {prefix for prefixes in SPEAKS.values() for prefix in prefixes}

    mute = {
        clause
        for case in cases()
        for clause in case.clauses
        if not any(clause.startswith(prefix) for prefix in spoken)
    }

    assert mute == set()
