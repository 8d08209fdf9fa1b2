"""A run told again: the same bytes each time, well-formed, and nothing a target said is alive."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.cli.report import FORMATS
from mcp_proxy_conformance.report import badge, junit, markdown, sarif
from mcp_proxy_conformance.resources import schemas_dir

Json = dict[str, Any]

HOSTILE = (
    "x | y](javascript:alert(1)) <script>alert(1)</script> @nobody #1 `tick` ```fence``` "
    "![i](http://127.0.0.1/i) https://evil.invalid/ &amp; \"q\" 'q' ]]> --> \\"
    "\n# heading\n~~~\n````\n\x00\x1b[2J\u202e\ufffe\x85\u2028\t{{ 7*7 }} {% raw %}"
)
"""What a target can put into whatever is told of it."""


def clause(name: str, judgement: str, verdict: str, reason: str = "") -> Json:
    """One clause of a report."""
    return {
        "id": name,
        "judgement": judgement,
        "verdict": verdict,
        "reason": reason,
        "results": 1,
    }


def result(verdict: str, *, judgement: str = "F", text: str = "assert 11 <= 10") -> Json:
    """One result on FR-006.cap, or beside it when advisory."""
    return {
        "check": "test_cap",
        "case": "11" if text == "assert 11 <= 10" else text,
        "clauses": ["FR-006.cap" if judgement == "F" else "FR-006.fills"],
        "judgement": judgement,
        "verdict": verdict,
        "reason": "" if verdict == "pass" else text,
        "stage": "crowd",
        "evidence": [f"observed: {text}", "expected: <= 10"] if verdict == "fail" else [],
        "cut": [],
        "messages": ["crowd/1", "crowd/2"],
        "blame": {"fail": "target", "error": "adapter"}.get(verdict, ""),
        "reproduce": "test_order_and_cap.py::test_cap[11]",
    }


def message(direction: str, text: str) -> Json:
    """One message on the client's edge."""
    return {
        "edge": "client",
        "direction": direction,
        "peer": "http://127.0.0.1:8080/mcp",
        "note": f"POST /mcp {text}",
        "headers": {"Content-Type": "application/json"},
        "body": f'{{"text":"{text}"}}',
        "cut": 0,
    }


def report(*results: Json, text: str = "plain") -> Json:
    """A report of these results, in which the target says `text` wherever it can."""
    failed = any(one["verdict"] == "fail" and one["judgement"] == "F" for one in results)
    return {
        "format": "mcp-proxy-conformance-report/1",
        "suite": {"name": "mcp-proxy-conformance", "version": "0"},
        "profile": {"id": "discovery", "version": 1, "floor": {"capabilities": [], "passes": []}},
        "target": {"kind": "command", "version": text, "wire": "handshake", "capabilities": []},
        "headline": "violated" if failed else "conformant",
        "exit": 1 if failed else 0,
        "why": text,
        "complete": True,
        "clauses": [
            clause("FR-001.accepts", "F", "pass"),
            clause("FR-006.cap", "F", "fail" if failed else "pass", text if failed else ""),
            clause("FR-006.fills", "A", "fail", text),
            clause("FR-010.inspect", "F", "not_applicable", "inspect is not declared"),
        ],
        "results": list(results),
        "stages": [],
        "messages": {"crowd/1": message("sent", text), "crowd/2": message("received", text)},
        "waivers": [],
        "timing": {"seconds": 2.5, "results": {"test_cap[11]": {"seconds": 0.25}}},
    }


ALL = [result(verdict) for verdict in ("pass", "fail", "inconclusive", "not_applicable", "error")]
CLEAN = report(result("pass"))
ONE = report(result("fail"))
MANY = report(*(ALL * 30), result("fail", judgement="A"))
BAD = report(
    *(result(one["verdict"], text=HOSTILE) for one in ALL),
    result("fail", judgement="A", text=HOSTILE),
    text=HOSTILE,
)
REAL = "test_discovery_takes_the_flag_wherever_it_is_offered"
"""A check that is quick on the reference."""
REPORTS = {"none": CLEAN, "one": ONE, "many": MANY, "hostile": BAD}


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of one check on the reference."""
    out = tmp_path_factory.mktemp("real")
    command = [sys.executable, "-m", "mcp_proxy_conformance", "run", "reference"]
    told = [*command, "--check", REAL, "--out", str(out)]
    subprocess.run(told, capture_output=True, check=False, timeout=110, cwd=out)
    return out / "report.json"


def tell(path: Path, wanted: str, *more: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(main, ["report", str(path), "--format", wanted, *more])


@pytest.mark.parametrize("name", REPORTS)
def test_the_reports_of_these_tests_are_valid(name: str) -> None:
    """They keep to the schema of reports."""
    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(REPORTS[name], schema, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("wanted", FORMATS)
def test_a_real_run_is_told_again_with_the_same_bytes(
    wanted: str, real: Path, tmp_path: Path
) -> None:
    """Standard output and --out get the same, each time."""
    out = tmp_path / "told"

    first, second = tell(real, wanted), tell(real, wanted, "--out", str(out))

    assert (first.exit_code, second.exit_code, second.stdout) == (0, 0, "")
    assert first.stdout_bytes == out.read_bytes() != b""
    assert tell(real, wanted).stdout_bytes == first.stdout_bytes


@pytest.mark.parametrize("wanted", FORMATS)
@pytest.mark.parametrize("name", REPORTS)
def test_every_report_is_told_without_active_characters(wanted: str, name: str) -> None:
    """What steers a terminal or turns a line around is shown as its escape."""
    text = FORMATS[wanted](REPORTS[name])

    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\ufffe]", text) == []
    assert text.endswith("\n")
    assert text == FORMATS[wanted](json.loads(json.dumps(REPORTS[name])))


@pytest.mark.parametrize("wanted", FORMATS)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be read"),
        (b"", "is no JSON"),
        (b"\xff{", "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"format":"\\ud800"}', "is no JSON"),
        (b"[]", "is not of the format"),
        (b'{"format":"other/1"}', "is not of the format"),
        (b'{"format":"mcp-proxy-conformance-report/1"}', "is no whole report"),
        (json.dumps(ONE | {"messages": {}}).encode(), "does not hold"),
    ],
)
def test_what_is_no_report_is_refused_in_one_sentence(
    wanted: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    """Exit 2, one line, no traceback, nothing on standard output."""
    path = tmp_path / "report.json"
    if content is not None:
        path.write_bytes(content)

    done = tell(path, wanted)

    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Exit 2 and the place."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(ONE), encoding="utf-8")

    done = tell(path, "markdown", "--out", str(tmp_path / "none" / "x.md"))

    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)


def test_a_clause_of_another_version_is_still_told() -> None:
    """A report that cites what the catalogue does not know is rendered all the same."""
    stranger = result("fail") | {"clauses": ["FR-000.gone"]}

    texts = [tell_again(report(stranger)) for tell_again in FORMATS.values()]

    assert all(texts)


def outside_code(text: str) -> str:
    """Markdown without its fenced blocks and code spans, read as CommonMark reads them."""
    lines, fence = [], ""
    for line in text.split("\n"):
        if fence:
            fence = "" if re.fullmatch(f" {{0,3}}{fence}`*[ \t]*", line) else fence
        elif opened := re.match("`{3,}", line):
            fence = opened.group()
        else:
            lines.append(re.sub("(?<!`)(`+)(?!`).+?(?<!`)\\1(?!`)", "", line))
    assert fence == ""
    return "\n".join(lines)


def test_markdown_holds_what_a_target_said_in_code_alone() -> None:
    """No link, image, mention, heading or HTML of a target is left when the code is taken out."""
    left = outside_code(markdown.render(BAD))

    assert re.findall(r"script|evil|javascript|@nobody|heading|~~~|127\.0", left) == []


def test_markdown_tables_keep_their_columns() -> None:
    """A bar in a reason does not open another cell."""
    rows = [line for line in markdown.render(BAD).split("\n") if line.startswith("|")]

    assert len(rows) == 5
    assert {len(re.sub(r"\\.", "", row).split("|")) for row in rows} == {5}


def test_markdown_tells_a_failure_with_both_sides_and_how_to_see_it_again() -> None:
    """Clause, sentence, observed, expected, and the command."""
    text = markdown.render(ONE)

    assert "## fail: `test_cap[11]`" in text
    assert "- `FR-006.cap` (discovery\\-spec FR\\-006): An answer has at most" in text
    assert "observed: assert 11 <= 10\nexpected: <= 10\n```" in text
    assert "Reproduce with: `the same command and --check 'test_cap[11]'`" in text


def test_markdown_of_many_failures_ends() -> None:
    """Fifty are told, the rest are counted."""
    text = markdown.render(MANY)

    assert text.count("\n## ") == 50
    assert text.endswith("\n41 more are in the JSON report.\n")


def cases(told: Json) -> list[ET.Element]:
    """The test cases of a report as JUnit XML."""
    return list(ET.fromstring(junit.render(told)).iter("testcase"))  # noqa: S314 - it is ours


@pytest.mark.parametrize(
    ("told", "tag", "kind"),
    [
        (result("pass"), None, None),
        (result("fail"), "failure", "fail"),
        (result("inconclusive"), "failure", "inconclusive"),
        (result("error"), "error", "adapter"),
        (result("not_applicable"), "skipped", None),
        (result("waived"), "skipped", None),
        (result("fail", judgement="A"), "system-out", None),
        (result("inconclusive", judgement="A"), "system-out", None),
        (result("error", judgement="A"), "system-out", None),
        (result("error", judgement="A") | {"blame": "suite"}, "error", "suite"),
    ],
)
def test_junit_tells_each_verdict(told: Json, tag: str | None, kind: str | None) -> None:
    """Firm ones that are not settled fail; advisory ones pass and are told beside."""
    (case,) = cases(report(told))

    found = [(one.tag, one.get("type")) for one in case if one.tag != "properties"]
    assert found == ([] if tag is None else [(tag, kind)])


def test_junit_counts_what_it_holds() -> None:
    """The sums of a suite are those of its cases."""
    root = ET.fromstring(junit.render(MANY))  # noqa: S314 - it is ours

    sums = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert sums == {
        "tests": "151", "failures": "60", "errors": "30", "skipped": "30", "time": "2.500"
    }  # fmt: skip


def test_junit_names_clause_check_case_and_time() -> None:
    """As a table of tests shows them; every clause is a property."""
    (case,) = cases(ONE)

    assert case.attrib == {"classname": "FR-006.cap", "name": "test_cap[11]", "time": "0.250"}
    assert [one.attrib for one in case.iter("property")] == [
        {"name": "clause", "value": "FR-006.cap"}
    ]


def test_junit_carries_hostile_words_as_words() -> None:
    """What XML cannot carry is an escape that is seen; markup of a target is text."""
    failed = [one for case in cases(BAD) for one in case.iter("failure")]

    assert [list(one) for one in failed] == [[], []]
    assert "<script>alert(1)</script>" in str(failed[0].text)
    assert "\\x00\\x1b[2J\\u202e\\ufffe\\x85" in str(failed[0].text)


@pytest.mark.parametrize("timing", [{}, {"seconds": "x", "results": []}, {"results": {"a": 1}}])
def test_junit_needs_no_timing(timing: Json) -> None:
    """Without a usable number the time is zero."""
    (case,) = cases(ONE | {"timing": timing})

    assert case.get("time") == "0.000"


def test_junit_of_a_run_that_broke_is_not_green() -> None:
    """Where no result fails and the run is not conformant, a case of its own says why."""
    (case,) = cases(report(text="it did not start") | {"exit": 3, "headline": "target broke"})

    assert [(one.tag, one.attrib) for one in case] == [
        ("error", {"message": "it did not start", "type": "target broke"})
    ]


def sarif_run(told: Json) -> Json:
    """The one run of a report as SARIF."""
    log = json.loads(sarif.render(told))
    (run,) = log["runs"]
    assert (log["version"], sorted(log)) == ("2.1.0", ["$schema", "runs", "version"])
    return dict(run)


@pytest.mark.parametrize("name", REPORTS)
def test_sarif_has_the_members_that_it_must_have(name: str) -> None:
    """Names, messages with a text, rules once each, and results that point at their rule."""
    run = sarif_run(REPORTS[name])
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]

    assert run["tool"]["driver"]["name"] == "mcp-proxy-conformance"
    assert len(rules) == len(set(rules))
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    assert {one["level"] for one in run["results"]} <= {"error"}
    assert all(one["message"]["text"] and one["locations"] for one in run["results"])
    assert run["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(("name", "many"), [("none", 0), ("one", 1), ("many", 30), ("hostile", 1)])
def test_sarif_has_a_result_for_each_failure_that_convicts(name: str, many: int) -> None:
    """What is advisory, not settled or broken is no result; the latter two are notifications."""
    run = sarif_run(REPORTS[name])

    told = run["invocations"][0]["toolExecutionNotifications"]
    assert len(run["results"]) == many
    assert len(told) == sum(
        one["verdict"] in ("inconclusive", "error") for one in REPORTS[name]["results"]
    )


def test_sarif_rules_are_clauses_with_their_sentence_and_source() -> None:
    """The words are those of the catalogue."""
    rules = {one["id"]: one for one in sarif_run(ONE)["tool"]["driver"]["rules"]}

    assert rules["FR-006.cap"]["shortDescription"]["text"].startswith("An answer has at most")
    assert rules["FR-006.cap"]["properties"]["source"] == "discovery-spec FR-006"
    assert rules["FR-006.fills"]["defaultConfiguration"] == {"level": "note"}


def test_sarif_messages_hold_no_link_and_no_placeholder() -> None:
    """`[words](place)` of a target is no link, and `{0}` of one is not filled in."""
    (found,) = sarif_run(BAD)["results"]

    assert "](" not in found["message"]["text"]
    assert "{{{{ 7*7 }}}}" in found["message"]["text"]


def test_sarif_of_a_run_that_broke_says_so() -> None:
    """No results, and an execution that was not successful."""
    run = sarif_run(report(text="it did not start") | {"exit": 3})

    assert run["results"] == []
    assert run["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    ("code", "color"),
    [
        (0, "brightgreen"), (1, "red"), (2, "lightgrey"), (3, "lightgrey"), (4, "yellow"),
        (70, "lightgrey"), (130, "lightgrey"),
    ],
)  # fmt: skip
def test_a_badge_is_green_of_conformant_runs_alone(code: int, color: str) -> None:
    """Profile, headline and colour, and no member besides."""
    told = json.loads(badge.render(CLEAN | {"exit": code, "headline": "a headline"}))

    assert told == {
        "schemaVersion": 1,
        "label": "discovery@1",
        "message": "a headline",
        "color": color,
    }


def test_a_badge_is_one_short_line() -> None:
    """Whatever the headline is."""
    told = json.loads(badge.render(CLEAN | {"headline": HOSTILE}))

    assert len(told["message"]) <= 60
    assert told["message"].isprintable()
