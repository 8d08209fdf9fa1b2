"""Brief reports: every verdict and cause stays, of the messages those that failures need."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
from records import document

from mcp_proxy_conformance.report import brief
from mcp_proxy_conformance.report.document import Report, plain
from mcp_proxy_conformance.report.reader import read_report


def test_a_brief_report_says_the_same(tmp_path: Path) -> None:
    """A brief report, read again, has the clauses, causes, findings and exit code of the whole one.

    Made brief again, it has the same bytes.
    """
    whole = msgspec.convert(document("alpha", "1.0", {"ROB.flag": "fail"}), Report)
    path = tmp_path / "report.json"
    path.write_text(brief.render(whole), encoding="utf-8")

    short = read_report(path)

    assert (short.clauses, short.causes, short.exit) == (whole.clauses, whole.causes, whole.exit)
    assert [r.findings for r in short.results] == [r.findings for r in whole.results]
    assert brief.render(short) == path.read_text(encoding="utf-8")


def test_planted_credentials_are_redacted() -> None:
    """A credential that the suite gave to a relay is in no brief report, however it is encoded."""
    whole = document("alpha", "1.0", {"ROB.flag": "fail"})
    for message in whole["messages"].values():
        message["note"] = "POST /mcp?api_key=canary%2Bin%2Fthe-url-81ab03 200"
        message["body"] = "canary/of+the-upstream-4f1c9e="

    text = brief.render(msgspec.convert(whole, Report))

    assert "canary" not in text
    assert "POST /mcp?api_key=(redacted) 200" in text


def test_a_pass_keeps_no_message_and_a_failure_its_exchange() -> None:
    """A brief report drops messages of passes.

    It keeps those of a clause's first failure, in order.
    """
    whole = document("alpha", "1.0", {"ROB.flag": "fail"})
    passing = next(result for result in whole["results"] if result["verdict"] == "pass")
    passing["messages"] = ["plain/ROB.flag/1"]
    whole["messages"]["plain/other/1"] = whole["messages"]["plain/ROB.flag/1"]

    short = json.loads(brief.render(msgspec.convert(whole, Report)))

    kept = {r["check"]: r.get("messages", []) for r in short["results"] if r.get("messages")}
    assert kept == {"test_ROB.flag": ["plain/ROB.flag/1", "plain/ROB.flag/2"]}
    assert list(short["messages"]) == ["plain/ROB.flag/1", "plain/ROB.flag/2"]
    assert len(brief.render(msgspec.convert(whole, Report))) < len(json.dumps(plain(
        msgspec.convert(whole, Report))))  # fmt: skip
