"""Runs on eight hostile targets driven by an adapter: exit code, time, memory, inert output."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import hostile_adapter
import jsonschema
import pytest
from hostile_runs import Came, came, on_kinds, runs_asked_for

from mcp_proxy_conformance.catalogue.resources import schemas_dir

pytestmark = pytest.mark.timeout(600)
AT_ONCE, MOST_S, MOST_MIB = 4, 150.0, 300
OPTIONS = ("--ready", "0.2", "--settle", "0.1", "--enforce", "0.2")
LIMIT: Mapping[str, tuple[str, ...]] = {"100 000 tools in the list": ("100", "--fail-fast")}
"""The time limit of a kind's run and further options; 60 s for the others."""
BREACH, BROKEN = 1, 3
EXIT = {
    "silent from the start": BROKEN,
    "silent after the list": BROKEN,
    "a reset before the answer": BROKEN,
    "no id": BROKEN,
    "200 000 deep": BROKEN,
    "a bomb of gzip": BROKEN,
    "100 000 tools in the list": BREACH,
    "escapes of terminals everywhere": BREACH,
}
"""BREACH: the kind lists what was never locked, without the flag or in a world without locks."""
GIVEN_UP = ("silent after the list", "a reset before the answer")
QUICK = ("silent after the list",)
"""The kinds that every call of pytest runs on; the others are part of the proof."""


each_kind = on_kinds(EXIT, QUICK)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Run the command on each hostile kind that a selected test needs; return {kind: Came}."""
    folder = tmp_path_factory.mktemp("driven")
    return runs_asked_for(request, EXIT, _run, folder, AT_ONCE)


def _run(name: str, folder: Path) -> Came:
    """Run `run command` on an adapter whose target is of that hostile kind.

    Return what came of it.
    """
    adapter = (sys.executable, str(Path(hostile_adapter.__file__)), name)
    limit = ("--timeout", *LIMIT.get(name, ("60",)))
    return came(folder, "run", "command", *limit, *OPTIONS, "--", *adapter, within_s=2 * MOST_S)


Runs = Mapping[str, Came]


@each_kind
def test_a_driven_hostile_target_gets_its_verdict(kind: str, runs: Runs) -> None:
    """The run on a driven hostile target has its exit code, in less than 150 s and 300 MiB."""
    run = runs[kind]

    assert (run.exit, run.seconds < MOST_S) == (EXIT[kind], True), run.printed
    assert 0 < run.mib <= MOST_MIB


@each_kind
def test_nothing_that_a_driven_hostile_target_says_acts(kind: str, runs: Runs) -> None:
    """The run on a driven hostile target prints no traceback and no control character.

    Its report fits the schema.
    """
    run = runs[kind]

    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(run.document)
    assert (run.active, "Traceback" in run.printed) == (set(), False)


@on_kinds(GIVEN_UP, QUICK)
def test_a_target_that_answers_nobody_is_given_up(kind: str, runs: Runs) -> None:
    """A driven target that answers no call is given up after five in a row, as the reason says.

    Less than 20 results are errors.
    """
    run = runs[kind]

    waits = [result for result in run.document["results"] if result["verdict"] == "error"]
    assert run.why.startswith("the target stopped answering, 5 times in a row; last: http")
    assert len(waits) < 20
