"""Places in reports: lines of the target file, and of deviations in SARIF and other formats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from click.testing import CliRunner
from faulty import with_faults
from hand_written_reports import CLEAN, HOSTILE, ONE, Json, report, result, typed
from page_runs import DEVIATION, STALE, WAIVED

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.report import FORMATS
from mcp_proxy_conformance.discovery.targets import kinds
from mcp_proxy_conformance.report import junit, markdown, sarif
from mcp_proxy_conformance.targets.target_lines import Written, written

REAL = "test_the_flag_works_wherever_discovery_is_offered"
TEXT = '''\
# Our proxy.
kind = "command"

# capabilities = ["none"]
command = [
  "a", # surface = 1
  "capabilities = 2",
]
capabilities = ["config", "user"]
pins.disabled_by_user = ["""
upstreams = 1
"""]

[surface]
discovery_tool = "find"
[upstreams]
'''
LINES = {
    "kind": 2,
    "command": 5,
    "capabilities": 9,
    "pins": 10,
    "surface": 14,
    "upstreams": 16,
}


def test_lines_are_those_where_members_begin(tmp_path: Path) -> None:
    """`written` has the line at which the value of each top-level member begins.

    Words in comments and texts, and an empty table at the file's end, do not mislead it.
    """
    file = tmp_path / "proxy.toml"
    file.write_text(TEXT, encoding="utf-8")

    assert written(file).lines == LINES


@pytest.mark.parametrize("text", ["", "\x00", "kind = "])
def test_a_broken_file_has_no_lines(text: str, tmp_path: Path) -> None:
    """`written` has no lines for a target file that is empty, not TOML, or gone."""
    file = tmp_path / "proxy.toml"
    file.write_text(text, encoding="utf-8")

    assert written(file).lines == {}
    file.unlink()
    assert written(file).lines == {}


def test_a_file_is_named_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`written` names a target file from the working folder, or absolutely outside of it."""
    inside = tmp_path / "here" / "ci"
    inside.mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")

    places = ["ci/p.toml", "./ci/../ci/p.toml", str(inside / "p.toml"), "../p.toml"]

    paths = [written(Path(place)).path for place in places]
    assert paths == ["ci/p.toml"] * 3 + [(tmp_path / "p.toml").as_posix()]


def test_a_report_has_its_target_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has its target file and the lines of its members; null and {} without one.

    Both reports fit the schema.
    """
    monkeypatch.chdir(tmp_path)
    Path("ci").mkdir()
    Path("ci/p.toml").write_text('# ours\nkind = "reference"\n', encoding="utf-8")
    documents: list[Any] = []

    for more in (["--target-file", "ci/p.toml"], []):
        done = CliRunner().invoke(main, ["run", "--check", REAL, "--out", "out", *more])
        assert done.exit_code == 0, done.output
        documents.append(json.loads(Path("out/report.json").read_text(encoding="utf-8")))
        shutil.rmtree("out")

    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    for document in documents:
        jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    targets = [(document["target"]["file"], document["target"]["lines"]) for document in documents]
    assert targets == [("ci/p.toml", {"kind": 2}), (None, {})]


def test_a_waived_failure_of_a_real_run_is_shown_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a run with waived failures, exit 0, four formats name the deviation's file and line.

    They are SARIF, HTML, JUnit and Markdown.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kinds, "REFERENCE", with_faults("listed-flag-breaks"))
    entry = 'id = "ROB.flag"\nreason = "Since the rewrite."\nissue = "https://issues.example/1"\n'
    text = f"# ours\n[[deviation]]\n{entry}expires = 2999-01-02\n"
    Path("ci.toml").write_text(text, encoding="utf-8")
    command = ["run", "reference", "--profile", "robustness", "--deviations", "ci.toml"]

    done = CliRunner().invoke(main, [*command, "--out", "out"])
    rendered = {
        name: CliRunner().invoke(main, ["report", "out/report.json", "--format", name]).stdout
        for name in FORMATS
    }

    assert done.exit_code == 0, done.output
    places = [
        finding["locations"][0]["physicalLocation"]
        for finding in json.loads(rendered["sarif"])["runs"][0]["results"]
    ]
    assert places
    assert {
        (place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places
    } == {("ci.toml", 2)}
    assert all("ci.toml:2" in rendered[name] for name in ("html", "junit", "markdown"))


def found_in(document: Json) -> Json:
    """Return the only result of a report rendered as SARIF; there must be one."""
    (run,) = json.loads(sarif.render(typed(document)))["runs"]
    (found_result,) = run["results"]
    return dict(found_result)


def described(document: Json, file: str | None = "ci/p.toml") -> Json:
    """Return the report with that target file and the lines LINES; null and {} for None."""
    place = Written(file, LINES) if file else None
    target = document["target"] | {"file": file, "lines": dict(place.lines) if place else {}}
    return document | {"target": target}


@pytest.mark.parametrize(
    ("clause_id", "line"),
    [
        ("FR-006.cap", 5),  # of every target: the line that names it
        ("FR-010.inspect", 9),  # of those that declare something: where they do
        ("FR-000.gone", 5),
    ],
)
def test_sarif_points_at_the_line_that_says_what_is_judged(clause_id: str, line: int) -> None:
    """In SARIF a result on a clause of a capability points at `capabilities`.

    Any other points at `command`.
    """
    document = report(result("fail") | {"clauses": [clause_id]})

    place = found_in(described(document))["locations"][0]["physicalLocation"]

    assert place == {
        "artifactLocation": {"uri": "ci/p.toml"},
        "region": {"startLine": line},
    }


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/ü:#?.toml", "a%20b/%C3%BC%3A%23%3F.toml"),
        ("/etc/p.toml", "file:///etc/p.toml"),
        ("C:/x/p.toml", "file:///C%3A/x/p.toml"),
        ("\x1b\u202e.toml", "%1B%E2%80%AE.toml"),
    ],
)
def test_a_path_is_a_reference_that_can_be_followed(file: str, uri: str) -> None:
    """In SARIF an odd path is percent-encoded, and an absolute one is a `file` URI."""
    place = found_in(described(ONE, file))["locations"][0]["physicalLocation"]

    assert place["artifactLocation"] == {"uri": uri}


def test_a_target_without_a_file_has_its_name_alone() -> None:
    """In SARIF, without a target file, a result's only location is the target's name."""
    for document in (described(ONE, None), ONE):
        assert [sorted(location) for location in found_in(document)["locations"]] == [
            ["logicalLocations"]
        ]


def test_without_a_line_it_is_the_first() -> None:
    """In SARIF, a target file of which no line is known is pointed at in line 1."""
    document = described(ONE) | {"target": ONE["target"] | {"file": "p.toml"}}

    place = found_in(document)["locations"][0]["physicalLocation"]

    assert place["region"] == {"startLine": 1}


def test_a_waived_result_is_suppressed_where_its_deviation_is() -> None:
    """In SARIF, a waived result is suppressed and located at the deviation's file and line.

    The justification has the deviation's place, reason, issue and date.
    """
    sarif_result = found_in(described(WAIVED))

    assert sarif_result["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "mcp-proxy-conformance-deviations.toml:4:"
            " Eleven entries until the next major release."
            " (https://issues.example/7, until 2027-01-31)",
        }
    ]
    assert sarif_result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "mcp-proxy-conformance-deviations.toml"},
        "region": {"startLine": 4},
    }


@pytest.mark.parametrize("named", ["FR-006.cap", "test_cap", "test_cap[11]", "11"])
def test_a_deviation_names_a_clause_a_check_or_a_case(named: str) -> None:
    """In SARIF, a waived result points at the deviation that names its clause, check or case."""
    document = WAIVED | {"waivers": [STALE, DEVIATION | {"id": named}]}

    assert found_in(document)["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}


def test_a_failure_that_no_deviation_waives_is_not_suppressed() -> None:
    """In SARIF, a failed result is not suppressed, even if a deviation names its clause."""
    document = ONE | {"waivers": [DEVIATION]}

    assert "suppressions" not in found_in(document)


def test_junit_has_the_deviation_that_waives() -> None:
    """In JUnit XML a waived result is a skipped case, whose message has the deviation."""
    root = ET.fromstring(junit.render(typed(WAIVED)))  # noqa: S314 - it is ours

    (skipped,) = root.iter("skipped")
    assert skipped.get("message") == (
        "waived by mcp-proxy-conformance-deviations.toml:4: Eleven entries until the next major"
        " release. (https://issues.example/7, until 2027-01-31)"
    )


def test_markdown_lists_every_deviation_in_code() -> None:
    """In Markdown each deviation is listed with state, place, date, reason and issue.

    Without deviations there is no list.
    """
    text = markdown.render(typed(WAIVED))

    assert (
        "- `FR-006.cap` `used` at `mcp-proxy-conformance-deviations.toml:4`, until `2027-01-31`:"
        " `Eleven entries until the next major release.`, `https://issues.example/7`\n"
    ) in text
    assert "- `FR-001.accepts` `stale` at" in text
    assert "Known deviations" not in markdown.render(typed(CLEAN))


def test_a_hostile_deviation_is_inert() -> None:
    """Markdown, SARIF and JUnit have no escape or direction mark of a hostile deviation."""
    bent = DEVIATION | dict.fromkeys(("reason", "issue", "expires", "file"), HOSTILE)
    document = WAIVED | {"waivers": [bent]}

    for text in (renderer.render(typed(document)) for renderer in (markdown, sarif, junit)):
        assert "\x1b" not in text
        assert "\u202e" not in text
