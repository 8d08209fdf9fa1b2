"""Load cases: valid, complete, as the table of the source has it; unusable ones are refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from mcp_proxy_conformance.catalogue.load_case import (
    CONTROL_DOWN,
    CONTROL_UP,
    CONTROLS,
    BadLoadCase,
    Behaviour,
    ConnectionWord,
    ExchangeWord,
    LoadCase,
    LoadServer,
    load_cases,
    read,
)
from mcp_proxy_conformance.catalogue.requirement import catalogue, profile
from mcp_proxy_conformance.catalogue.resources import case_files, schemas_dir
from mcp_proxy_conformance.resilience.walk import walk
from mcp_proxy_conformance.selftest.authoring.load_rules import advises, comparable, expectations

CASES = load_cases()
FILES = case_files("resilience")
MEASURED = {
    *("P1.unknown-name~once", "R1.once~delay", "R5.grows", "R6.jitter"),
    *("I2.concurrent", "I3.order~outcomes"),
}
"""Advice on claims without a port, and on times and orders."""


def schema() -> dict[str, Any]:
    """Return the schema of load cases, as an object."""
    text = (schemas_dir() / "load-case.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def level(case: LoadCase) -> str:
    """Return the level of a load case's first clause, which is that of all."""
    return catalogue().clause(case.clauses[0]).level


def test_every_case_is_valid_and_named_by_its_file() -> None:
    """Each load case fits its schema; its id is its file's name and begins with its area."""
    validator = Draft202012Validator(schema())
    faults = {
        path.name: [error.message for error in validator.iter_errors(json.loads(text))]
        for path in FILES
        if (text := path.read_text(encoding="utf-8"))
    }

    assert {name: errors for name, errors in faults.items() if errors} == {}
    assert [case.id for case in CASES] == [path.stem for path in FILES]
    assert [case.id for case in CASES if not case.id.startswith(f"{case.area}-")] == []


def test_every_clause_has_a_case() -> None:
    """Every resilience clause but those in MEASURED has a load case.

    There are at least 60 cases.
    """
    cited = {clause for case in CASES for clause in case.clauses}

    without = {name for name in profile("resilience").clauses if name not in cited}

    assert without == MEASURED
    assert len(CASES) >= 60


def test_every_word_is_used_and_described() -> None:
    """The schema and the reader know the same words for behaviours, and cases use each of them."""
    defs = schema()["$defs"]
    words = [
        part["properties"]["do"]
        for kind in ("exchange", "connection")
        for part in defs[kind]["oneOf"]
    ]
    described = {word for variant in words for word in variant.get("enum", [variant.get("const")])}
    used = {
        behaviour.do
        for case in CASES
        for server in case.given.servers
        for behaviour in server.script
    }

    assert described == {*get_args(ExchangeWord), *get_args(ConnectionWord)}
    assert described - used == set()


@pytest.mark.parametrize(
    "case", [case for case in CASES if level(case) == "required"], ids=lambda case: case.id
)
def test_the_walk_allows_what_the_case_allows(case: LoadCase) -> None:
    """For a required load case, `walk` yields the statuses and attempts that the case states."""
    for _, server, expected, loads in expectations(case):
        allowed = walk(server, case.given.max_attempts, loads=loads)
        stated, walked = comparable(expected, allowed)

        assert (server.server_id, stated) == (server.server_id, walked)


@pytest.mark.parametrize(
    "case", [case for case in CASES if level(case) == "advisory"], ids=lambda case: case.id
)
def test_the_walk_allows_what_the_case_advises(case: LoadCase) -> None:
    """For an advisory load case, `walk` allows the outcome that the case states."""
    for _, server, expected, loads in expectations(case):
        allowed = walk(server, case.given.max_attempts, loads=loads)

        assert (server.server_id, advises(expected, allowed, case.given.max_attempts)) == (
            server.server_id,
            True,
        )


def test_the_controls_are_as_the_walk_says() -> None:
    """For any number of attempts, `walk` yields the controls' outcomes as they are written down."""
    for server in (CONTROL_UP, CONTROL_DOWN):
        for bound in (1, 2, 3, 4):
            stated, walked = comparable(CONTROLS[server.server_id], walk(server, bound))

            assert stated == walked


@pytest.mark.parametrize(
    ("behaviour", "allowed"),
    [
        (Behaviour(do="status", on="tools/list", code=404), ({"permanent", "transient"}, (1, 3))),
        (Behaviour(do="cut_sse", where="before", by="rst"), ({"transient"}, None)),
        (Behaviour(do="cut_sse", where="inside", by="rst"), ({"transient"}, (2, 3))),
        (Behaviour(do="status", code=429), ({"permanent", "transient", "denied"}, (1, 3))),
    ],
    ids=lambda value: value.do if isinstance(value, Behaviour) else "",
)
def test_the_walk_leaves_open_what_the_source_does(
    behaviour: Behaviour, allowed: tuple[object, object]
) -> None:
    """For a 404, a 429 or a cut stream, `walk` allows several statuses or a range of attempts.

    A stream cut before its first event is transient, after any number of attempts.
    """
    walked = walk(LoadServer(server_id="alpha", tools=(), script=(behaviour,)), 3)

    assert (walked.statuses, walked.attempts) == allowed


def test_a_second_attempt_is_asked_of_loaders_that_retry_only() -> None:
    """A load case that expects several attempts cites a clause with the capability `retries`."""
    clauses = catalogue().clauses
    needy = [
        case.id
        for case in CASES
        for _, _, expected, _ in expectations(case)
        if expected.attempts is not None and expected.attempts.min > 1
        if not any("retries" in clauses[name].capability for name in case.clauses)
    ]

    assert needy == []


def test_a_slow_answer_is_far_from_its_timeout() -> None:
    """A `slow` answer in a load case takes at most half of its timeout, or at least twice that."""
    rates = [
        (behaviour.seconds or 0) / server.timeout_s
        for case in CASES
        for server in case.given.servers
        for behaviour in server.script
        if behaviour.do == "slow"
    ]

    assert [rate for rate in rates if 0.5 < rate < 2] == []


def test_no_two_servers_of_a_case_have_a_tool_in_common() -> None:
    """No two servers of a load case have a tool of the same name."""
    doubled = {
        case.id: [tool for tool, number in Counter(tools).items() if number > 1]
        for case in CASES
        if (tools := [tool for server in case.servers() for tool in server.tools])
    }

    assert {name: tools for name, tools in doubled.items() if tools} == {}


def test_every_secret_is_handed_over() -> None:
    """Each secret of a load case is in its file twice, so that the loader is given it.

    Cases of S1.secrets have secrets.
    """
    strays = [
        secret
        for path, case in zip(FILES, CASES, strict=True)
        for secret in case.given.secrets
        if path.read_text(encoding="utf-8").count(secret) < 2
    ]

    assert strays == []
    assert all(case.given.secrets for case in CASES if "S1.secrets" in case.clauses)


SOUND: dict[str, Any] = {
    "id": "case",
    "area": "case",
    "title": "It is.",
    "source": ["Conservative bias"],
    "clauses": ["D1.denied"],
    "given": {"max_attempts": 1, "servers": [{"server_id": "alpha", "tools": []}]},
    "then": {"alpha": {"status": ["available"]}},
}


def scripted(*script: dict[str, Any], **server: Any) -> dict[str, Any]:
    """Return the sound load case with this script; `server` adds members to its one server."""
    alpha = {"server_id": "alpha", "tools": [], "script": list(script), **server}
    return SOUND | {"given": {"max_attempts": 1, "servers": [alpha]}}


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ({}, "missing required field `id`; see schemas/load-case.schema.json"),
        (SOUND | {"then": {}}, "then and the servers differ in alpha"),
        (SOUND | {"again": {"beta": {"status": ["denied"]}}}, "again and the servers differ in"),
        (SOUND | {"clauses": ["D1.deny"]}, "there is no clause D1.deny; see `list clauses`"),
        (SOUND | {"clauses": ["D1.once", "X.stdio"]}, "required and advisory clauses; split"),
        (scripted({"do": "sleep"}), "Invalid enum value 'sleep'"),
        (scripted({"do": "status"}), "alpha, behaviour 0: status needs code"),
        (scripted({"do": "silence", "code": 3}), "silence takes no code"),
        (scripted({"do": "healthy"}, {"do": "refused"}), "behaviour 1: refused must be alone"),
        (scripted({"do": "redirect", "code": 307, "to": "beta"}), "redirect leads to 'beta'; "),
        (scripted({"do": "healthy"}, same_origin_as="alpha"), "same_origin_as alpha; name another"),
        (scripted({"do": "healthy"}, server_id="control-up"), "the id of a control; rename one"),
        (scripted(), "alpha has an empty script; leave the script"),
    ],
)
def test_a_case_that_cannot_be_used_is_refused_with_the_repair(
    case: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    """An inconsistent load case raises BadLoadCase: the file's name, the fault, the repair."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case), encoding="utf-8")

    with pytest.raises(BadLoadCase) as error:
        read(path)

    assert str(error.value).startswith("case.json: ")
    assert sentence in str(error.value)
