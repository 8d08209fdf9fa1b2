"""Discovery cases: valid, complete, each in its area's file, in agreement with the oracle."""

from __future__ import annotations

import json

import pytest

from mcp_proxy_conformance.authoring.corpus import installed
from mcp_proxy_conformance.authoring.linter import lint
from mcp_proxy_conformance.catalogue.resources import case_files, fixtures_dir
from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState, final, key
from mcp_proxy_conformance.discovery.case import Case, cases

CASES = cases()


def states(case: Case) -> dict[ToolKey, ToolState]:
    """Return the locks on each tool after all steps of the stage that the case names."""
    return final(stage(case.given.stage))


def test_the_combinations_are_all_there() -> None:
    """The cases of the area `precedence` cover 48 combinations of locks.

    There are 60 others or more.
    """
    precedence = [case for case in CASES if case.area == "precedence"]
    covered = {states(case)[key(name)] for case in precedence for name in case.then.disabled or {}}

    assert len(covered) == 48
    assert len(CASES) - len(precedence) >= 60


@pytest.mark.parametrize("folder", ["discovery", "resilience"])
def test_the_oracle_allows_what_the_cases_allow(folder: str) -> None:
    """`lint` finds nothing in the shipped cases and stages, and reads every file.

    It compares what a case allows with what the oracle computes from the locks.
    """
    files = [path for path in installed() if path.is_relative_to(fixtures_dir() / folder)]

    outcome = lint([fixtures_dir() / folder])

    assert (outcome.findings, outcome.files) == ((), len(files))


@pytest.mark.parametrize("folder", ["discovery", "resilience", "fidelity"])
def test_every_file_of_cases_is_named_by_its_area(folder: str) -> None:
    """The shipped files of cases have the names of the areas in them, or of their one case."""
    for path in case_files(folder):
        file = json.loads(path.read_bytes())
        assert path.stem in (file["area"], file.get("id"))


def test_cases_are_sorted_as_files_of_their_names() -> None:
    """The order of cases is that of files with their names: `a-b.json` before `a.json`."""
    names = [f"{case.id}.json" for case in CASES]

    assert names == sorted(set(names))
