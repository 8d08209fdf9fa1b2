"""`report`: saved reports in each format, twice the same; bad ones refused; format 1."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import msgspec
import needs
import pytest
from click.testing import CliRunner, Result
from hand_written_reports import (
    CLEAN,
    HOSTILE,
    ONE,
    REPORTS,
    clause,
    coverage,
    report,
    result,
    typed,
)

from mcp_proxy_conformance.catalogue.requirement import Floor
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.report import FORMATS
from mcp_proxy_conformance.report.document import (
    JudgedProfile,
    JudgedTarget,
    Part,
    Report,
    ReportedMessage,
    Stage,
    Suite,
)
from mcp_proxy_conformance.verdict import result as verdict
from mcp_proxy_conformance.verdict.cited import CitedLocks
from mcp_proxy_conformance.verdict.coverage import Coverage, Uncovered
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Finding

OPEN = CLEAN | {"clauses": [clause("FR-006.cap", "required", "inconclusive")]}
REAL = "test_the_flag_works_wherever_discovery_is_offered"
"""A check that is quick on the reference."""


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run one quick check on the reference, once for all tests; return the path of report.json."""
    out = tmp_path_factory.mktemp("real")
    command = [sys.executable, "-m", "mcp_proxy_conformance", "run", "reference"]
    words = [*command, "--check", REAL, "--out", str(out)]
    subprocess.run(words, capture_output=True, check=False, timeout=110, cwd=out)
    return out / "report.json"


def run_report(path: Path, wanted: str, *more: str) -> Result:
    """Run `report FILE --format FORMAT` with further words, in this process; return its result."""
    return CliRunner().invoke(main, ["report", str(path), "--format", wanted, *more])


@pytest.mark.parametrize("name", REPORTS)
def test_the_reports_of_these_tests_are_valid(name: str) -> None:
    """The hand-written reports fit the schema of reports."""
    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(REPORTS[name], schema, cls=jsonschema.Draft202012Validator)


@needs.discovery
@pytest.mark.parametrize("wanted", FORMATS)
def test_a_real_run_is_rendered_again_with_the_same_bytes(
    wanted: str, real: Path, tmp_path: Path
) -> None:
    """In each format, `report` writes the same bytes twice, and to --out; they are not empty.

    With --out nothing is printed.
    """
    out = tmp_path / "told"

    first, second = run_report(real, wanted), run_report(real, wanted, "--out", str(out))

    assert (first.exit_code, second.exit_code, second.stdout) == (0, 0, "")
    assert first.stdout_bytes == out.read_bytes() != b""
    assert run_report(real, wanted).stdout_bytes == first.stdout_bytes


@pytest.mark.parametrize("wanted", FORMATS)
@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_rendered_without_active_characters(wanted: str, name: str) -> None:
    """In each format, no report yields control or direction characters; the last line is ended.

    Read again from JSON, a report is rendered to the same text.
    """
    text = FORMATS[wanted](typed(REPORTS[name]))

    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ufffe]", text) == []
    assert text.endswith("\n")
    assert text == FORMATS[wanted](typed(json.loads(json.dumps(REPORTS[name]))))


OBJECTS: dict[str, type[msgspec.Struct]] = {
    "": Report,
    "suite": Suite,
    "profile": JudgedProfile,
    "profile/floor": Floor,
    "target": JudgedTarget,
    "clauses/items": ClauseVerdict,
    "results/items": verdict.Result,
    "results/items/findings/items": Finding,
    "stages/items": Stage,
    "stages/items/armed": CitedLocks,
    "messages/additionalProperties": ReportedMessage,
    "waivers/items": Waiver,
    "coverage": Coverage,
    "coverage/uncovered/items": Uncovered,
    "shard": Part,
}
"""The types of a report by their places in its schema."""


@pytest.mark.parametrize("place", OBJECTS)
def test_the_schema_describes_what_the_renderers_take(place: str) -> None:
    """The schema of reports has exactly the members of each type that renderers take.

    Only a result has one more, `timing`.
    """
    node = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    for step in filter(None, place.split("/")):
        node = node["properties"].get(step) if "properties" in node else node[step]

    assert {*node["properties"]} == {*OBJECTS[place].__struct_fields__} - (
        {"timing"} if place == "results/items" else set()
    )


@pytest.mark.parametrize("wanted", FORMATS)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"", "is not JSON"),
        (b"\xff{", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"format":"\\ud800"}', "is not JSON"),
        (b"[]", "does not have the format"),
        (b'{"format":"other/1"}', "does not have the format"),
        (b'{"format":"mcp-proxy-conformance-report/2"}', "report/3; create it again with `run`"),
        (b'{"format":"mcp-proxy-conformance-report/3"}', "is not a valid report"),
        (json.dumps(ONE | {"messages": {}}).encode(), "cites the message 'crowd/1'"),
        (json.dumps(ONE | {"messages": {HOSTILE: 1}}).encode(), "is not a valid report"),
        (json.dumps(ONE | {"exit": 1.0}).encode(), "is not a valid report: Expected `int`"),
        (json.dumps(ONE | {"exit": 0}).encode(), "was edited since it was written: exit is 0, but"),
        (json.dumps(ONE | {"exit": 4}).encode(), "was edited since it was written: exit is 4, but"),
        (json.dumps(CLEAN | {"exit": 1}).encode(), "exit is 1, but no clause failed"),
        (json.dumps(OPEN | {"exit": 0}).encode(), "is not settled"),
        (json.dumps(CLEAN | {"complete": False, "exit": 0}).encode(), "the run is not complete"),
        (json.dumps(ONE).replace("{", '{"exit": 0, ', 1).encode(), "the member 'exit' twice"),
    ],
)
def test_what_is_no_report_is_refused_in_one_sentence(
    wanted: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    """`report` on a missing, invalid or edited report exits with 2 and one line, in each format.

    It is edited if its exit code does not follow from its clauses, or a member occurs twice.
    """
    path = tmp_path / "report.json"
    if content is not None:
        path.write_bytes(content)

    done = run_report(path, wanted)

    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr


def test_a_place_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """`report --out` to a missing folder exits with 2 and one line."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(ONE), encoding="utf-8")

    done = run_report(path, "markdown", "--out", str(tmp_path / "none" / "x.md"))

    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)


def test_a_clause_of_another_version_is_still_rendered() -> None:
    """A report with an unknown clause is rendered to some text in each format."""
    stranger = result("fail") | {"clauses": ["FR-000.gone"]}

    texts = [tell_again(typed(report(stranger))) for tell_again in FORMATS.values()]

    assert all(texts)


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        (
            "html",
            [
                "4,310 of 4,322 pairs (99 %)",
                "4 masked by a failure: &lt;slow&gt;",
                "=4\n",
                "<td>12</td>",
            ],
        ),
        ("markdown", ["4,310 of 4,322 pairs (99 %): 4 masked by a failure, 3 out of reach here"]),
    ],
)
def test_the_coverage_of_a_space_is_told(form: str, parts: list[str]) -> None:
    """A page has the reasons why pairs were not looked at, and Markdown the numbers of them."""
    text = FORMATS[form](typed(CLEAN | {"coverage": coverage("<slow>")}))

    assert [part for part in parts if part not in text] == []


@pytest.mark.parametrize("form", sorted({*FORMATS} - {"github"}))
def test_a_report_names_its_target(form: str) -> None:
    """Name and version of the target are in each format but GitHub's annotations."""
    target = CLEAN["target"] | {"name": "my-proxy", "version": "4.5"}

    assert "my-proxy 4.5" in FORMATS[form](typed(CLEAN | {"target": target}))
