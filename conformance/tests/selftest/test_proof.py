"""Gaps in the proofs: none in what is shipped, one for each check, proof or interpretation lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.index import Check, checks_in
from mcp_proxy_conformance.selftest.shipped import RULES, Gap, Shipped, gaps, shipped

SHIPPED = shipped()
MODULES = sorted({check.module for check in SHIPPED.checks})
"""Files of checks."""
JUDGED = frozenset(clause for profile in SHIPPED.profiles for clause in profile.clauses)
"""Clauses of some profile; an interpretation of none of them is needed by nothing yet."""


def orphans(lost: list[Check], left: list[Check]) -> set[str]:
    """Return the clauses that some lost check cites, and no check that is left."""
    cited = {clause for check in left for clause in check.clauses}
    return {clause for check in lost for clause in check.clauses} - cited


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_nothing_is_missing(rule: Callable[[Shipped], Iterator[Gap]]) -> None:
    """Each rule on proofs yields no gap for the shipped checks, mutants, variants and profiles."""
    assert list(rule(SHIPPED)) == []


@pytest.mark.parametrize("module", MODULES)
def test_no_file_of_checks_can_be_lost(module: str) -> None:
    """Without the checks of one file there are gaps, which name what is lost.

    That is each clause that no other check cites, and each proven check of the file.
    """
    left = [check for check in SHIPPED.checks if check.module != module]
    lost = [check for check in SHIPPED.checks if check.module == module]

    missing = gaps(replace(SHIPPED, checks=left))

    words = set(" ".join(map(str, missing)).replace(",", " ").replace(";", " ").split())
    assert missing != []
    assert orphans(lost, left) - words == set()
    proven = {*SHIPPED.proofs, *SHIPPED.live}
    assert {check.name for check in lost if check.name in proven} - words == set()


def test_no_single_check_can_be_lost() -> None:
    """Without any one of the checks, required or advisory, some rule yields a gap."""
    silent = []

    folders = ("discovery", "robustness", "live", "resilience", "fidelity")
    for check in (check for folder in folders for check in checks_in(folder)):
        left = [other for other in SHIPPED.checks if other is not check]
        data = replace(SHIPPED, checks=left)
        if not any(True for rule in RULES for _ in rule(data)):
            silent.append(check.name)

    assert silent == []


def test_no_proof_can_be_lost_or_invented() -> None:
    """Three changes of the proofs each give a gap, the first one, with the names.

    A check is unlisted, is listed with a mutant that it cannot kill, or does not exist.
    """
    name, other = sorted(SHIPPED.proofs)[:2]
    killed = SHIPPED.proofs[other]
    broken = ", ".join(SHIPPED.breaks()[killed])
    less = {check: mutant_id for check, mutant_id in SHIPPED.proofs.items() if check != name}

    missing = [
        gaps(replace(SHIPPED, proofs=less)),
        gaps(replace(SHIPPED, proofs=less | {name: "no-such-fault"})),
        gaps(replace(SHIPPED, proofs={**SHIPPED.proofs, "test_nothing": killed})),
    ]

    assert [found_gaps[0].fault for found_gaps in missing] == [
        f"{name} is not in proofs.toml",
        f"{name} cannot kill no-such-fault, which breaks no clause that it cites",
        f"test_nothing, listed with {killed}, which breaks {broken}, is not a check",
    ]


def test_no_live_proof_can_be_lost_or_invented() -> None:
    """Three changes of the proofs of live checks each give a gap, the first one, with the names.

    A check is unlisted, is listed with an unknown mutant, or does not exist.
    """
    name = min(SHIPPED.live)
    less = {check: mutant_id for check, mutant_id in SHIPPED.live.items() if check != name}

    missing = [
        gaps(replace(SHIPPED, live=less)),
        gaps(replace(SHIPPED, live={**SHIPPED.live, name: "no-such-fault"})),
        gaps(replace(SHIPPED, live={**SHIPPED.live, "test_nothing": "no-such-fault"})),
    ]

    assert [found_gaps[0].fault for found_gaps in missing] == [
        f"{name} is not in proofs.toml",
        f"{name} cannot kill no-such-fault, which breaks no clause that it cites",
        "test_nothing, listed with no-such-fault, which breaks no clause, is not a check",
    ]


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
