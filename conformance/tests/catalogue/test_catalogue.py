"""Soundness of requirements, clauses, profiles, interpretations; look-ups of them refused."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue import interpretation, requirement
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.sentence import places, sentences

BASIC = {"X.failed", "O1", "O3", "O4", "I1", "I4", "S1", "S2"}

Json = Any


def toml(name: str) -> dict[str, Json]:
    """Return the members of a TOML file by its path below fixtures/."""
    return tomllib.loads((fixtures_dir() / name).read_text(encoding="utf-8"))


def clauses(rows: Json) -> list[Json]:
    """Return the clauses of these requirements, in order, each as its TOML table."""
    return [clause for row in rows for clause in row.get("clause", [])]


DISCOVERY = toml("discovery/requirements/discovery.toml")["requirement"]
RESILIENCE = toml("resilience/requirements/resilience.toml")["requirement"]
ROBUSTNESS = toml("discovery/requirements/robustness.toml")["requirement"]
ROWS = requirement.catalogue().requirements
FIDELITY = toml("fidelity/requirements/fidelity.toml")["requirement"]
CLAUSES = [*clauses(DISCOVERY), *clauses(RESILIENCE), *clauses(ROBUSTNESS), *clauses(FIDELITY)]
REGISTER = [
    row
    for name in ("discovery", "fidelity", "resilience")
    for row in toml(f"{name}/interpretations.toml")["interpretation"]
]


def test_no_id_stands_twice() -> None:
    """No two requirements, clauses or interpretations share an id."""
    facets = [clause.id for row in ROWS for clause in row.clauses]
    ids = facets + [row.id for row in ROWS] + [row.id for row in interpretation.interpretations()]

    doubled = [name for name, count in Counter(ids).items() if count > 1]

    assert doubled == []


def test_a_clause_is_named_after_its_requirement() -> None:
    """The part of a clause's id before the dot is the requirement that it belongs to."""
    cited = [(row.id, clause.id) for row in ROWS for clause in row.clauses]

    strays = [name for owner, name in cited if not name.startswith(f"{owner}.")]

    assert strays == []


def test_an_advisory_facet_stands_beside_a_convicting_clause() -> None:
    """A clause id with a tilde is advisory, and the part before the tilde is a required clause."""
    levels = {clause["id"]: clause["level"] for clause in CLAUSES}

    facets = [name for name in levels if "~" in name]
    pairs = {(levels.get(name.partition("~")[0]), levels[name]) for name in facets}

    assert pairs == {("required", "advisory")}


def test_every_required_clause_judges_a_sentence_of_a_source() -> None:
    """Every clause is named by a sentence of a source. A sentence without clauses says why."""
    named = {name for row in sentences() for name in row.clauses}
    silent = [row.says for row in sentences() if not (row.clauses or row.unjudged)]

    assert {clause["id"] for clause in CLAUSES} - named == set()
    assert silent == []


def test_every_pointer_leads_to_a_place_in_a_source() -> None:
    """Each `source` of a requirement, clause or interpretation names a known place of its text."""
    pointers = [
        row["source"]
        for row in (*DISCOVERY, *RESILIENCE, *ROBUSTNESS, *FIDELITY, *CLAUSES, *REGISTER)
        if "source" in row
    ]

    known = places(sentences())
    dangling = [each for each in pointers if each["at"] not in known[each["text"]]]

    assert dangling == []


def test_what_proves_a_requirement_exists_and_is_tested() -> None:
    """Each clause that a requirement's `proved_by` names exists and has a check."""
    tested = {clause["id"] for clause in CLAUSES if "untested" not in clause}

    named = {clause_id for row in DISCOVERY for clause_id in row.get("proved_by", [])}

    assert named - tested == set()


def test_every_advisory_clause_has_an_interpretation() -> None:
    """The interpretation register names every advisory clause, and only clauses that exist."""
    advisory = {clause["id"] for clause in CLAUSES if clause["level"] == "advisory"}
    known = set(requirement.catalogue().clauses)

    named = {clause_id for row in REGISTER for clause_id in row["clauses"]}

    assert advisory - named == set()
    assert named - known == set()


@pytest.mark.parametrize("name", ["discovery", "robustness"])
def test_the_profile_is_every_clause_that_has_a_check(name: str) -> None:
    """A profile lists exactly the clauses of its catalogue that have a check, in the same order."""
    rows = clauses(toml(f"discovery/requirements/{name}.toml")["requirement"])
    tested = [clause["id"] for clause in rows if "untested" not in clause]

    listed = toml(f"discovery/profiles/{name}.toml")["clauses"]

    assert listed == tested


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


def test_the_resilience_profiles_are_every_clause_and_those_of_seven_requirements() -> None:
    """`resilience` lists all clauses of its catalogue, in order; `resilience-basic` those of BASIC.

    A clause without a check has `later` as its reason.
    """
    clause_ids = [clause["id"] for clause in clauses(RESILIENCE)]
    basic = [name for name in clause_ids if {name, name.partition(".")[0]} & BASIC]

    listed = [
        toml(f"resilience/profiles/{name}.toml")["clauses"]
        for name in ("resilience", "resilience-basic")
    ]
    reasons = {clause["untested"] for clause in clauses(RESILIENCE) if "untested" in clause}

    assert listed == [clause_ids, basic]
    assert reasons <= {"later"}


@pytest.mark.parametrize("pinned", requirement.profiles(), ids=lambda version: version.id)
def test_the_floor_convicts_and_needs_no_more_than_its_capabilities(
    pinned: requirement.Profile,
) -> None:
    """Each clause that a profile's floor requires to pass is a required clause of the profile.

    It needs no capability beyond those of the floor.
    """
    rows = [requirement.catalogue().clause(clause_id) for clause_id in pinned.floor.passes]

    beyond = [row.id for row in rows if not set(row.capability) <= set(pinned.floor.capabilities)]
    weak = [row.id for row in rows if row.level != "required" or row.id not in pinned.clauses]

    assert (beyond, weak) == ([], [])


def test_fidelity_and_integrity_share_no_clause() -> None:
    """No clause of relays is in both `fidelity` and `integrity`; each lists its own in order."""
    clause_ids = [clause["id"] for clause in clauses(FIDELITY)]

    listed = [
        toml(f"fidelity/profiles/{name}.toml")["clauses"] for name in ("fidelity", "integrity")
    ]

    assert listed == [[name for name in clause_ids if name in own] for own in listed]
    assert set(listed[0]).isdisjoint(listed[1])


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
