"""What a run prints, pinned; and that nothing a target says reaches the terminal alive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from syrupy.assertion import SnapshotAssertion

from mcp_proxy_conformance.report.difference import difference
from mcp_proxy_conformance.report.inert import inert
from mcp_proxy_conformance.report.terminal import render
from mcp_proxy_conformance.resources import schemas_dir


def message(direction: str, body: str, note: str) -> dict[str, Any]:
    """One message on the client's edge."""
    return {
        "edge": "client",
        "direction": direction,
        "peer": "http://127.0.0.1:8080/mcp",
        "note": note,
        "headers": {"Content-Type": "application/json", "Mcp-Session-Id": "s1"},
        "body": body,
        "cut": 0,
    }


def clause(name: str, judgement: str, verdict: str, reason: str = "") -> dict[str, Any]:
    """One clause of a report."""
    return {
        "id": name,
        "judgement": judgement,
        "verdict": verdict,
        "reason": reason,
        "results": 1,
    }


REPORT: dict[str, Any] = {
    "format": "mcp-proxy-conformance-report/1",
    "suite": {"name": "mcp-proxy-conformance", "version": "0"},
    "profile": {"id": "discovery", "version": 1, "floor": {"capabilities": [], "passes": []}},
    "target": {"kind": "reference", "version": "", "wire": "handshake", "capabilities": []},
    "headline": "violated",
    "exit": 1,
    "why": "broken: FR-006.cap",
    "complete": True,
    "clauses": [
        clause("FR-001.accepts", "F", "pass"),
        clause("FR-006.cap", "F", "fail", "assert 11 <= 10"),
        clause("FR-006.fills", "A", "fail", "assert 3 == 10"),
        clause("FR-010.inspect", "F", "not_applicable", "inspect is not declared"),
    ],
    "results": [
        {
            "check": "test_cap",
            "case": "11",
            "clauses": ["FR-006.cap"],
            "judgement": "F",
            "verdict": "fail",
            "reason": "assert 11 <= 10",
            "stage": "crowd",
            "evidence": ["observed: 11", "expected: <= 10"],
            "cut": [],
            "messages": ["crowd/1", "crowd/2"],
            "blame": "target",
            "reproduce": "test_order_and_cap.py::test_cap[11]",
        },
    ],
    "stages": [],
    "messages": {
        "crowd/1": message("sent", '{"id":7,"query":"it\'s"}', "POST /mcp tools/call"),
        "crowd/2": message("received", '{"text":"\x1b[2J\u202eevil"}', "POST /mcp 200"),
    },
    "waivers": [],
    "timing": {},
}


def test_the_text_of_a_report_is_as_pinned(snapshot: SnapshotAssertion) -> None:
    """One line a clause, each failure with its evidence, a last line that stands alone."""
    text = render(REPORT, Path("report.json"))

    assert text == snapshot


def test_the_pinned_report_is_valid() -> None:
    """The report above keeps to its schema."""
    schema = json.loads((schemas_dir() / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(REPORT, schema, cls=jsonschema.Draft202012Validator)


def test_nothing_that_moves_a_terminal_is_printed() -> None:
    """Escape sequences and direction marks of a target are shown, not obeyed."""
    text = render(REPORT, Path("report.json"))

    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("a\tb\nc", "a\tb\nc"), ("\x1b[31m", "\\x1b[31m"), ("\u2028", "\\u2028"), ("é漢", "é漢")],
)
def test_control_characters_are_shown_as_escapes(raw: str, shown: str) -> None:
    """Line breaks, tabs and letters stay."""
    assert inert(raw) == shown


def test_a_difference_names_its_path() -> None:
    """Each differing place is told with what was expected and what was observed."""
    lines = difference("==", {"a": [1, 2]}, {"a": [1, 3]})

    assert lines[-1] == "at ['a'][1]: expected 3, observed 2"
