"""Discovery cases: valid, complete, each in its area's folder, in agreement with the oracle."""

from __future__ import annotations

import json

import pytest

from mcp_proxy_conformance.catalogue.case import Case, cases
from mcp_proxy_conformance.catalogue.resources import case_files, fixtures_dir
from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState, final, key
from mcp_proxy_conformance.selftest.authoring.linter import lint

CASES = cases()
FILES = case_files("discovery")


def states(case: Case) -> dict[ToolKey, ToolState]:
    """Return the locks on each tool after all steps of the case's stage."""
    return final(stage(case.given.stage))


def test_every_case_is_valid_and_named_by_its_file() -> None:
    """Every case file decodes, and its case's id is the file's name."""
    assert [case.id for case in CASES] == [path.stem for path in FILES]


def test_the_combinations_are_all_there() -> None:
    """The cases of precedence cover 48 combinations of locks; at least 60 other cases exist."""
    precedence = [case for case in CASES if case.area == "precedence"]
    covered = {states(case)[key(name)] for case in precedence for name in case.then.disabled or {}}

    assert len(covered) == 48
    assert len(CASES) - len(precedence) >= 60


@pytest.mark.parametrize("folder", ["discovery", "resilience", "stages"])
def test_the_oracle_allows_what_the_cases_allow(folder: str) -> None:
    """Lint finds nothing in the shipped cases and stages, and has looked at every file.

    Among what it compares is what the oracle, computed from the locks, allows: statuses, caps,
    counts and notes.
    """
    outcome = lint([fixtures_dir() / folder])

    assert (outcome.findings, outcome.files) == (
        (),
        len(list((fixtures_dir() / folder).rglob("*.json"))),
    )


def test_every_case_lies_in_the_folder_of_its_area() -> None:
    """Each case file is in the folder of its area, and its name is the case's id."""
    for path in (*case_files("discovery"), *case_files("resilience")):
        case = json.loads(path.read_bytes())
        assert (case["area"], case["id"]) == (path.parent.name, path.stem)
