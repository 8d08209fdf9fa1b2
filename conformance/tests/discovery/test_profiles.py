"""Profiles and clauses of discovery, looked up and cited; what is unknown is refused."""

from __future__ import annotations

import tomllib

import pytest

from mcp_proxy_conformance.catalogue import requirement
from mcp_proxy_conformance.catalogue.resources import fixtures_dir


@pytest.mark.parametrize("name", ["discovery", "robustness"])
def test_the_profile_is_every_clause_that_has_a_check(name: str) -> None:
    """A profile lists exactly the clauses of its catalogue that have a check, in the same order."""
    file = fixtures_dir() / "discovery" / "requirements" / f"{name}.toml"
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["requirement"]

    tested = [c["id"] for row in rows for c in row.get("clause", []) if "untested" not in c]

    assert [*requirement.profile(name).clauses] == tested


def test_profiles_that_are_judged_together_are_one() -> None:
    """`discovery+robustness` has discovery's version, and clauses, floor and folders of both.

    They are in the order of the name.
    """
    first, other = requirement.profile("discovery"), requirement.profile("robustness")

    both = requirement.profile("discovery+robustness")

    assert (both.id, both.version) == ("discovery+robustness", first.version)
    assert both.clauses == (*first.clauses, *other.clauses)
    assert both.floor.passes == (*first.floor.passes, *other.floor.passes)
    assert both.folders == (*first.folders, *other.folders)


def test_a_clause_without_a_pointer_has_that_of_its_requirement() -> None:
    """A clause's place in the source is its own if it has one, else its requirement's."""
    cited = ("FR-001.by-description", "FR-006.cap")

    places = [requirement.catalogue().source(each).at for each in cited]

    assert places == ["AS-1", "FR-006"]


def test_a_check_carries_the_clauses_that_it_cites(pytestconfig: pytest.Config) -> None:
    """`requirement(...)` on a check adds one pytest mark, `requirement`, with the ids in order."""
    pytestconfig.addinivalue_line("markers", "requirement(*ids): the clauses that a check judges")

    @requirement.requirement("FR-006.cap", "FR-006.callables")
    def check() -> None: ...

    marks = [(mark.name, mark.args) for mark in vars(check)["pytestmark"]]

    assert marks == [("requirement", ("FR-006.cap", "FR-006.callables"))]


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        (["FR-006.capp"], "no clause 'FR-006.capp'; the nearest is 'FR-006.cap'"),
        (["SC-005.cap"], r"no clause 'SC-005.cap'; the nearest is 'SC-005\."),
        (
            ["FR-006.cap", "FR-006.fills"],
            r"cites FR-006.cap \(required\), FR-006.fills \(advisory\); split it",
        ),
        ([], "cites nothing"),
    ],
)
def test_a_citation_that_cannot_be_judged_is_refused(ids: list[str], sentence: str) -> None:
    """Citing an unknown id, or nothing, raises UnknownClause; citing both levels MixedLevels.

    The message has the repair.
    """
    with pytest.raises((requirement.UnknownClause, requirement.MixedLevels), match=sentence):
        requirement.requirement(*ids)


def test_an_unknown_profile_is_refused_with_the_nearest() -> None:
    """An unknown profile id raises UnknownProfile, which names the nearest known id."""
    with pytest.raises(requirement.UnknownProfile, match="nearest is 'discovery'"):
        requirement.profile("discovry")
