"""Two readings of the source, made apart: the cases written by hand, and the oracle."""

from __future__ import annotations

import json

import jsonschema
import pytest

from mcp_proxy_conformance.case import Case, cases
from mcp_proxy_conformance.oracle import ABSENT, CALLABLE, allowed_statuses, cap, counted_as
from mcp_proxy_conformance.resources import fixtures_dir, schemas_dir
from mcp_proxy_conformance.stage import stage
from mcp_proxy_conformance.state import ToolState, final
from mcp_proxy_conformance.world import ToolKey, key

CASES = cases()
FILES = sorted((fixtures_dir() / "discovery").glob("*.json"))


def of_area(area: str) -> list[pytest.param]:  # type: ignore[valid-type]
    """The cases of one area."""
    return [pytest.param(case, id=case.id) for case in CASES if case.area == area]


def states(case: Case) -> dict[ToolKey, ToolState]:
    """The locks on each tool when the case is asked."""
    return final(stage(case.given.stage))


def test_every_case_is_valid_and_named_by_its_file() -> None:
    """The schema is what other languages read by."""
    schema = json.loads((schemas_dir() / "case.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    faults = {
        path.name: [error.message for error in validator.iter_errors(json.loads(text))]
        for path in FILES
        if (text := path.read_text(encoding="utf-8"))
    }

    assert {name: told for name, told in faults.items() if told} == {}
    assert [case.id for case in CASES] == [path.stem for path in FILES]


def test_the_combinations_are_all_there() -> None:
    """48 combinations of locks, and more than 60 cases beside them."""
    precedence = [case for case in CASES if case.area == "precedence"]
    covered = {states(case)[key(name)] for case in precedence for name in case.then.disabled or {}}

    assert len(covered) == 48
    assert len(CASES) - len(precedence) >= 60


@pytest.mark.parametrize("case", of_area("precedence"))
def test_the_oracle_allows_what_the_case_allows(case: Case) -> None:
    """One tool under several locks: the same set of statuses in both readings."""
    for name, told in (case.then.disabled or {}).items():
        state = states(case)[key(name)]
        allowed = {ABSENT if word == CALLABLE else word for word in allowed_statuses(state)}

        assert (str(state), set(told)) == (str(state), allowed)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.then.disabled_count and isinstance(c.when.limit, int)]
)
def test_the_oracle_caps_where_the_case_caps(case: Case) -> None:
    """No case lets more entries through than the oracle does."""
    bounds = case.then.disabled_count
    assert bounds is not None
    most = bounds.equals if bounds.equals is not None else bounds.max
    limit = case.when.limit if 1 <= case.when.limit <= 100 else None

    assert most is not None
    assert most <= cap(limit)


@pytest.mark.parametrize("case", of_area("counts"))
def test_the_oracle_counts_what_the_case_counts(case: Case) -> None:
    """Each number of a case lies between what must and what may be counted so."""
    for server, wanted in (case.then.counts or {}).items():
        held = [counted_as(s) for k, s in states(case).items() if k.server == server]
        for reason, numbers in (wanted or {}).items():
            least = sum(words == {reason} for words in held)
            most = sum(reason in words for words in held)
            told = numbers if isinstance(numbers, tuple) else (numbers,)

            assert (reason, [n for n in told if not least <= n <= most]) == (reason, [])
