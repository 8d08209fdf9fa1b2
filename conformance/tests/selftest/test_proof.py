"""Everything that judges is itself judged: clauses, checks and rulings without proof are named."""

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


def orphans(lost: list[Check], left: list[Check]) -> set[str]:
    """The clauses that only the lost checks cite."""
    cited = {clause for check in left for clause in check.clauses}
    return {clause for check in lost for clause in check.clauses} - cited


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_nothing_is_missing(rule: Callable[[Shipped], Iterator[Gap]]) -> None:
    """Repair: what the sentences say; `selftest --only ID` tries a counterexample."""
    assert list(rule(SHIPPED)) == []


@pytest.mark.parametrize("module", MODULES)
def test_no_file_of_checks_can_be_lost(module: str) -> None:
    """Its orphaned clauses are named, and its checks with the clauses of what they kill."""
    left = [check for check in SHIPPED.checks if check.module != module]
    lost = [check for check in SHIPPED.checks if check.module == module]

    told = gaps(replace(SHIPPED, checks=left))

    words = set(" ".join(map(str, told)).replace(",", " ").replace(";", " ").split())
    assert told != []
    assert orphans(lost, left) - words == set()
    proven = {*SHIPPED.proofs, *SHIPPED.live}
    assert {check.name for check in lost if check.name in proven} - words == set()


def test_no_single_check_can_be_lost() -> None:
    """Neither one that convicts nor one that advises."""
    silent = []

    folders = ("discovery", "robustness", "live", "resilience")
    for check in (check for folder in folders for check in checks_in(folder)):
        left = [one for one in SHIPPED.checks if one is not check]
        if not gaps(replace(SHIPPED, checks=left)):
            silent.append(check.name)

    assert silent == []


def test_no_proof_can_be_lost_or_invented() -> None:
    """A check that is not listed, and one listed with what it cannot kill, are named."""
    name, other = sorted(SHIPPED.proofs)[:2]
    killed = SHIPPED.proofs[other]
    broken = ", ".join(SHIPPED.breaks()[killed])
    less = {check: one for check, one in SHIPPED.proofs.items() if check != name}

    told = [
        gaps(replace(SHIPPED, proofs=less)),
        gaps(replace(SHIPPED, proofs=less | {name: "no-such-fault"})),
        gaps(replace(SHIPPED, proofs={**SHIPPED.proofs, "test_nothing": killed})),
    ]

    assert [one[0].fault for one in told] == [
        f"{name} is not in proofs.toml",
        f"{name} cannot kill no-such-fault, which breaks nothing it cites",
        f"{broken} lost test_nothing, which kills {killed}",
    ]


def test_no_live_proof_can_be_lost_or_invented() -> None:
    """Those of live checks stand apart, and are asked for alike."""
    name = min(SHIPPED.live)
    less = {check: one for check, one in SHIPPED.live.items() if check != name}

    told = [
        gaps(replace(SHIPPED, live=less)),
        gaps(replace(SHIPPED, live={**SHIPPED.live, name: "no-such-fault"})),
        gaps(replace(SHIPPED, live={**SHIPPED.live, "test_nothing": "no-such-fault"})),
    ]

    assert [one[0].fault for one in told] == [
        f"{name} is not in proofs.toml",
        f"{name} cannot kill no-such-fault, which breaks nothing it cites",
        " lost test_nothing, which kills no-such-fault",
    ]


@pytest.mark.parametrize("ruling", SHIPPED.rulings, ids=lambda ruling: ruling.id)
def test_no_ruling_can_be_lost_or_renamed(ruling: Any) -> None:
    """It is named, and so is its new name."""
    left = [row for row in SHIPPED.rulings if row is not ruling]
    renamed = msgspec.structs.replace(ruling, id="another-name")

    lost = gaps(replace(SHIPPED, rulings=left))
    other = gaps(replace(SHIPPED, rulings=[*left, renamed]))

    assert any(ruling.id in gap.fault.replace(",", " ").split() for gap in lost)
    assert any("another-name" in gap.fault for gap in other)


def test_a_profile_lists_no_ruling_that_it_does_not_need() -> None:
    """It would be changed in vain when the ruling is."""
    basic = next(one for one in SHIPPED.profiles if one.id == "resilience-basic")
    more = msgspec.structs.replace(basic, rulings=(*basic.rulings, "flag-name"))

    told = gaps(replace(SHIPPED, profiles=[more]))

    assert told[-1].fault.startswith("the profile resilience-basic lists the ruling flag-name")


def test_names_are_unique_and_told_in_a_sentence() -> None:
    """Of counterexamples and variants alike."""
    everything = (*SHIPPED.counterexamples, *SHIPPED.variants)
    names = Counter(one.id for one in everything)

    assert [name for name, number in names.items() if number > 1] == []
    assert [one.id for one in everything if not one.text.endswith(".")] == []


def test_there_are_many() -> None:
    """Fewer would leave clauses with a single, obvious counterexample."""
    assert len(SHIPPED.counterexamples) >= 160
    assert len(SHIPPED.variants) >= 40
