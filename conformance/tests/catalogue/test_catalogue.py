"""Soundness of requirements, clauses, profiles, interpretations."""

from __future__ import annotations

import tomllib
from collections import Counter
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue import interpretation, requirement
from mcp_proxy_conformance.catalogue.sentence import places, sentences
from mcp_proxy_conformance.catalogue.specification import data_files

Json = Any


def clauses(rows: Json) -> list[Json]:
    """Return the clauses of these requirements, in order, each as its TOML table."""
    return [clause for row in rows for clause in row.get("clause", [])]


def rows_of(pattern: str, name: str) -> list[Json]:
    """Return the tables `name` of the data files that fit the pattern, in order."""
    parts = [tomllib.loads(path.read_text(encoding="utf-8")) for path in data_files(pattern)]
    return [row for part in parts for row in part[name]]


ROWS = requirement.catalogue().requirements
TABLES = rows_of("requirements/*.toml", "requirement")
CLAUSES = clauses(TABLES)
REGISTER = rows_of("interpretations.toml", "interpretation")


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
    pointers = [row["source"] for row in (*TABLES, *CLAUSES, *REGISTER) if "source" in row]

    known = places(sentences())
    dangling = [each for each in pointers if each["at"] not in known[each["text"]]]

    assert dangling == []


def test_what_proves_a_requirement_exists_and_is_tested() -> None:
    """Each clause that a requirement's `proved_by` names exists and has a check."""
    tested = {clause["id"] for clause in CLAUSES if "untested" not in clause}

    named = {clause_id for row in TABLES for clause_id in row.get("proved_by", [])}

    assert named - tested == set()


def test_every_advisory_clause_has_an_interpretation() -> None:
    """The interpretation register names every advisory clause, and only clauses that exist."""
    advisory = {clause["id"] for clause in CLAUSES if clause["level"] == "advisory"}
    known = set(requirement.catalogue().clauses)

    named = {clause_id for row in REGISTER for clause_id in row["clauses"]}

    assert advisory - named == set()
    assert named - known == set()


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
