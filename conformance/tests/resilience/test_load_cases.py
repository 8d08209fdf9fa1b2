"""Load cases: complete, with controls as the walk has them; unusable ones are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from mcp_proxy_conformance.catalogue.case_file import BadCase
from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.resilience.load_case import (
    CONTROL_DOWN,
    CONTROL_UP,
    CONTROLS,
    Behaviour,
    ConnectionWord,
    ExchangeWord,
    LoadServer,
    load_cases,
    read,
)
from mcp_proxy_conformance.resilience.load_rules import comparable
from mcp_proxy_conformance.resilience.scenarios import scenario_loads
from mcp_proxy_conformance.resilience.walk import walk

CASES = load_cases()
MEASURED = {
    *("P1.unknown-name~once", "R1.once~delay", "R5.grows", "R6.jitter"),
    *("I2.concurrent", "I3.order~outcomes", "I7.ended"),
}
"""Advice on claims without a port, and on times and orders; what is left at the end."""


def schema() -> dict[str, Any]:
    """Return the schema of load cases, as an object."""
    text = (schemas_dir() / "load-case.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


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
        for case in (*CASES, *scenario_loads())
        for server in case.given.servers
        for behaviour in server.script
    }

    assert described == {*get_args(ExchangeWord), *get_args(ConnectionWord)}
    assert described - used == set()


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
    """An inconsistent load case raises BadCase: the file's name, the fault, the repair."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(case), encoding="utf-8")

    with pytest.raises(BadCase) as error:
        read(path)

    assert str(error.value).startswith("case.json: ")
    assert sentence in str(error.value)
