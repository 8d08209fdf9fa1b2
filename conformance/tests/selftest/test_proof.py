"""Gaps in the proof: none in what is shipped, one for each lost clause, mutant, interpretation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import needs
import pytest

from mcp_proxy_conformance.selftest.shipped import (
    RULES,
    Gap,
    Shipped,
    clauses_without_checks,
    clauses_without_proof,
    gaps,
    shipped,
)

SHIPPED = shipped()
JUDGED = frozenset(clause for profile in SHIPPED.profiles for clause in profile.clauses)
"""Clauses of some profile; an interpretation of none of them is needed by nothing yet."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_nothing_is_missing(rule: Callable[[Shipped], Iterator[Gap]]) -> None:
    """Each rule yields no gap for the shipped checks, mutants, variants and profiles."""
    assert list(rule(SHIPPED)) == []


def test_no_clause_can_lose_its_checks() -> None:
    """Without the checks that cite it, each clause has a gap, which names it."""
    cited = {clause for check in SHIPPED.checks for clause in check.clauses}
    silent = []

    for clause in sorted(cited):
        left = [check for check in SHIPPED.checks if clause not in check.clauses]
        lost = [gap.id for gap in clauses_without_checks(replace(SHIPPED, checks=left))]
        if clause not in lost:
            silent.append(clause)

    assert silent == []


def test_no_clause_can_lose_its_mutants() -> None:
    """With one of the mutants that are for it, each required clause has a gap, which names it."""
    silent = []

    for clause in SHIPPED.firm():
        mutants = [mutant for mutant in SHIPPED.counterexamples if clause.id == mutant.breaks[0]][
            :1
        ]
        missing = clauses_without_proof(replace(SHIPPED, counterexamples=mutants))
        if clause.id not in {gap.id for gap in missing}:
            silent.append(clause.id)

    assert silent == []


@pytest.mark.parametrize(
    "interpretation",
    [row for row in SHIPPED.interpretations if not row.clauses or JUDGED.intersection(row.clauses)],
    ids=lambda interpretation: interpretation.id,
)
def test_no_interpretation_can_be_lost_or_renamed(interpretation: Any) -> None:
    """Without an interpretation a gap names it.

    An interpretation under another id is a gap, too.
    """
    left = [row for row in SHIPPED.interpretations if row is not interpretation]
    renamed = msgspec.structs.replace(interpretation, id="another-name")

    lost = gaps(replace(SHIPPED, interpretations=left))
    other = gaps(replace(SHIPPED, interpretations=[*left, renamed]))

    assert any(interpretation.id in gap.fault.replace(",", " ").split() for gap in lost)
    assert any("another-name" in gap.fault for gap in other)


@needs.discovery
@needs.resilience
def test_a_profile_lists_no_interpretation_that_it_does_not_need() -> None:
    """A profile that lists an interpretation which none of its clauses needs has a gap."""
    basic = next(
        known_profile
        for known_profile in SHIPPED.profiles
        if known_profile.id == "resilience-basic"
    )
    more = msgspec.structs.replace(basic, interpretations=(*basic.interpretations, "flag-name"))

    missing = gaps(replace(SHIPPED, profiles=[more]))

    assert missing[-1].fault.startswith(
        "the profile resilience-basic lists the interpretation flag-name"
    )


def test_ids_are_unique_and_each_text_is_a_sentence() -> None:
    """No two mutants or variants have the same id, and the text of each ends with a full stop."""
    everything = (*SHIPPED.counterexamples, *SHIPPED.variants)
    names = Counter(mutant.id for mutant in everything)

    assert [name for name, number in names.items() if number > 1] == []
    assert [mutant.id for mutant in everything if not mutant.text.endswith(".")] == []


def test_there_are_many() -> None:
    """There are at least 160 mutants and 40 variants."""
    assert len(SHIPPED.counterexamples) >= 160
    assert len(SHIPPED.variants) >= 40
