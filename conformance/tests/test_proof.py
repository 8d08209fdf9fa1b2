"""Everything that judges is itself judged: clauses, checks and rulings without proof are named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mcp_proxy_conformance.checks_index import cases, checks
from mcp_proxy_conformance.counterexamples.gather import firm_checks
from mcp_proxy_conformance.counterexamples.wire import WIRE_FAULTS
from mcp_proxy_conformance.requirement import catalogue, interpretations, profile
from mcp_proxy_reference.faults import faults
from mcp_proxy_reference.variants import variants

FAULTS: tuple[Any, ...] = (*faults(), *WIRE_FAULTS)
TWICE = 2


def firm(*, soaked: bool = False) -> list[str]:
    """The clauses of the profile that can fail a target."""
    known = [catalogue().clause(one) for one in profile("discovery").clauses]
    return [c.id for c in known if c.judgement == "F" and (soaked or c.asked_by is None)]


def test_every_clause_has_a_check_or_says_why_not() -> None:
    """Repair: write a check that cites it, or give it `untested = "why"`."""
    cited = {clause for check in checks() for clause in check.clauses}
    lacking = [
        clause.id
        for clause in catalogue().clauses.values()
        if clause.id not in cited and clause.untested is None
    ]

    assert lacking == []


def test_every_check_cites_a_clause_of_the_profile() -> None:
    """Repair: put @requirement("CLAUSE") on it."""
    known = set(profile("discovery").clauses)

    assert [check.name for check in checks() if not known.intersection(check.clauses)] == []


def test_every_firm_clause_is_broken_by_two_counterexamples() -> None:
    """Repair: add faults that break it to a module of mcp_proxy_reference.faults."""
    broken = Counter(clause for one in FAULTS for clause in one.breaks)

    assert [clause for clause in firm() if broken[clause] < TWICE] == []


def test_every_counterexample_breaks_firm_clauses_of_the_profile() -> None:
    """Repair: mend the id; a fault that breaks only advice is a variant."""
    known = set(firm(soaked=True))
    strange = {one.id: set(one.breaks) - known for one in FAULTS if not known & set(one.breaks)}

    assert strange == {}


def test_every_check_has_a_counterexample() -> None:
    """Repair: add a fault that breaks a clause of the check and that it kills; run `selftest`."""
    broken = {clause for one in FAULTS for clause in one.breaks}

    assert [check.name for check in firm_checks() if not broken & set(check.clauses)] == []


def test_every_ruling_and_every_advice_has_a_variant() -> None:
    """Repair: add a variant that takes the other reading to mcp_proxy_reference.variants."""
    taken = {one for variant in variants() for one in variant.takes}
    advice = {c.id for c in catalogue().clauses.values() if c.judgement == "A" and not c.untested}
    rulings = {row.id for row in interpretations() if row.no_variant is None}

    assert sorted((advice | rulings) - taken) == []


def test_names_are_unique_and_told_in_a_sentence() -> None:
    """Of counterexamples and variants alike."""
    everything: tuple[Any, ...] = (*FAULTS, *variants())
    names = Counter(one.id for one in everything)

    assert [name for name, number in names.items() if number > 1] == []
    assert [one.id for one in everything if not one.text.endswith(".")] == []


@pytest.mark.parametrize(("kind", "least"), [("counterexamples", 160), ("variants", 40)])
def test_there_are_many(kind: str, least: int) -> None:
    """Fewer would leave clauses with a single, obvious counterexample."""
    assert len({"counterexamples": FAULTS, "variants": variants()}[kind]) >= least


def test_every_case_cites_firm_clauses_or_advice() -> None:
    """A case that cites nothing would judge nothing."""
    assert [case.id for case in cases() if not case.clauses] == []
