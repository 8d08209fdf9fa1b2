"""LOADER.md and its schemas: valid example lines that agree; invalid lines and outcomes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_proxy_conformance.catalogue.resources import schemas_dir

LINE = re.compile(r"^(→|←) (\{.*\})$", re.MULTILINE)
FOUND = {"server_id": "alpha", "status": "available", "tools": ["add"], "error": None}
LOST = {"server_id": "alpha", "status": "denied", "tools": [], "error": "No.", "attempts": 1}


def validator(name: str) -> Draft202012Validator:
    """Return a validator of the shipped schema of that name, without `.schema.json`."""
    text = (schemas_dir() / f"{name}.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def lines(arrow: str) -> list[dict[str, Any]]:
    """Return LOADER.md's example lines after this arrow as objects: → requests, ← answers."""
    page = (schemas_dir() / "LOADER.md").read_text(encoding="utf-8")
    return [json.loads(line) for way, line in LINE.findall(page) if way == arrow]


@pytest.mark.parametrize("line", lines("→") + lines("←"), ids=lambda line: str(line["id"]))
def test_every_line_of_the_page_keeps_to_the_schema(line: dict[str, Any]) -> None:
    """Each example line of LOADER.md is valid under the schema of the loader's protocol."""
    errors = [error.message for error in validator("loader-protocol").iter_errors(line)]

    assert errors == []


def test_each_answer_of_the_page_is_to_the_request_before_it() -> None:
    """Requests and answers in LOADER.md agree in ids, and in the servers of each load.

    All statuses and all kinds of answers occur.
    """
    requests, answered = lines("→"), lines("←")
    loads = [
        (request["servers"], answer["ok"]["outcomes"])
        for request, answer in zip(requests, answered, strict=True)
        if "outcomes" in answer.get("ok", {})
    ]
    ids = [[[item["server_id"] for item in side] for side in load] for load in loads]
    words = {outcome["status"] for _, outcomes in loads for outcome in outcomes}

    assert [line["id"] for line in requests] == [line["id"] for line in answered]
    assert [sent for sent, _ in ids] == [answered_ids for _, answered_ids in ids]
    assert words == {"available", "transient", "permanent", "denied", "failed"}
    assert {member for line in answered for member in line} == {"id", "ok", "error", "unsupported"}


STUBS = {
    "python": ("program.py", [sys.executable, "program.py"], "my_loader.py", """
class Failed(Exception):
    status, attempts = "permanent", 1
def load(server, most, pause_s):
    raise Failed("not yet written")
"""),
    "js": ("program.mjs", ["node", "program.mjs"], "my-loader.mjs", """
export const load = async () => {
  throw Object.assign(new Error('not yet written'), { status: 'permanent', attempts: 1 });
};
"""),
    "go": ("program.go", ["go", "run", "."], "my_loader.go", """package main
type Failed struct{ Status string }
func (f *Failed) Error() string { return "not yet written" }
func load(server Object, most int, pauseS float64) ([]string, int, *Failed) {
	return nil, 1, &Failed{"permanent"}
}
"""),
}  # fmt: skip
"""By language: the page's program and its command line, and a loader of one server for it."""


@pytest.mark.parametrize("language", STUBS)
def test_the_programs_of_the_page_are_right(language: str, tmp_path: Path) -> None:
    """Around a loader that fails they answer hello, loads, and what they do not know."""
    name, command, own, stub = STUBS[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    page = (schemas_dir() / "LOADER.md").read_text(encoding="utf-8")
    (program,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for file, text in ((name, program), (own, stub), ("go.mod", "module loader\n\ngo 1.22\n")):
        (tmp_path / file).write_text(text, encoding="utf-8")

    asked = "".join(f"{json.dumps(line)}\n" for line in lines("→"))
    done = subprocess.run(
        command, cwd=tmp_path, input=asked, capture_output=True, text=True, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]

    assert (done.returncode, done.stderr) == (0, "")
    assert [answer["id"] for answer in answers] == [line["id"] for line in lines("→")]
    for answer in answers:
        assert validator("loader-protocol").is_valid(answer), answer
        for outcome in answer.get("ok", {}).get("outcomes", []):
            assert validator("load-outcome").is_valid(outcome), outcome


def test_every_outcome_of_a_classifying_loader_is_valid() -> None:
    """Every outcome in LOADER.md is valid for a loader that classifies, but the `failed` one."""
    outcomes = [
        outcome for line in lines("←") for outcome in line.get("ok", {}).get("outcomes", [])
    ]

    refused = [
        outcome["status"] for outcome in outcomes if not validator("load-outcome").is_valid(outcome)
    ]

    assert refused == ["failed"]


@pytest.mark.parametrize(
    "line",
    [
        '{"id":1,"ok":{"outcomes":[]},"error":"both"}',
        '{"id":1,"ok":{}}',
        '{"id":1}',
        '{"id":1,"op":"load","servers":[]}',
        '{"id":1,"op":"load","servers":[{"url":"http://"}],"max_attempts":1,"base_backoff_s":0}',
        '{"id":1,"op":"load","servers":[],"max_attempts":0,"base_backoff_s":0}',
        '{"id":1,"ok":{"outcomes":[{"status":"available"}]}}',
        '{"id":1,"ok":{"outcomes":[],"warnings":{"transient":"alpha"}}}',
        '{"id":1,"ok":{"capabilities":["retry"]}}',
        '{"id":1,"ok":{"capabilities":[],"tool_prefix":null}}',
        '{"id":1,"ok":{"capabilities":[],"timeout_signatures":[" "]}}',
        '{"id":1,"ok":{"capabilities":[],"version":2}}',
    ],
)
def test_the_schema_refuses_what_is_no_line_of_the_protocol(line: str) -> None:
    """A line that misses a member, or has a wrong or contradictory one, breaks the schema."""
    assert not validator("loader-protocol").is_valid(json.loads(line))


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (FOUND, "$: required"),
        (FOUND | {"attempts": 0}, "$.attempts: minimum"),
        (LOST | {"tools": ["add"]}, "$.tools: maxItems"),
        (LOST | {"error": None}, "$.error: type"),
        (LOST | {"status": "failed"}, "$.status: enum"),
        (LOST | {"attempts": -1}, "$.attempts: minimum"),
        (LOST | {"server_id": 1}, "$.server_id: type"),
    ],
)
def test_an_unsound_outcome_is_refused_for_its_one_fault(
    outcome: dict[str, Any], fault: str
) -> None:
    """An outcome with one fault has exactly one error by the schema."""
    errors = validator("load-outcome").iter_errors(outcome)

    assert [f"{error.json_path}: {error.validator}" for error in errors] == [fault]
