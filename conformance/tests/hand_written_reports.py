"""Hand-written reports, `REPORTS`, and their parts: without failure, with one or many, hostile."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.verdict.causes import causes

Json = dict[str, Any]

DECLARED = ["approval", "config", "indeterminate", "quarantine", "server_off", "user"]
"""The capabilities of the target in each report."""
HOSTILE = (
    "x | y](javascript:alert(1)) <script>alert(1)</script> @nobody #1 `tick` ```fence``` "
    "![i](http://127.0.0.1/i) https://evil.invalid/ &amp; \"q\" 'q' ]]> --> \\"
    "\n# heading\n~~~\n````\n\x00\x1b[2J\u202e\ufffe\x85\u2028\t{{ 7*7 }} {% raw %}"
)
"""Hostile words that a target can put into any text of a report."""


def typed(document: Json) -> Report:
    """Return the report that a file with this JSON holds, as a typed value.

    Its causes are computed.
    """
    report = msgspec.convert(document, Report)
    return msgspec.structs.replace(report, causes=causes(report.clauses, report.results))


def outside_code(text: str) -> str:
    """Return Markdown without its fenced blocks and code spans, as CommonMark reads them.

    Raises AssertionError if a fence is not closed.
    """
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


def several(documents: Sequence[tuple[str, Json]]) -> list[tuple[str, Report]]:
    """Return each named JSON document as a typed report, in pairs of name and report."""
    return [(name, typed(document)) for name, document in documents]


def clause(name: str, level: str, verdict: str, reason: str = "") -> Json:
    """Return one clause of a report as JSON, with one result.

    Its cause is `left_out` or `ended` if the reason is a sentence for that, else it has none.
    """
    return {
        "id": name,
        "level": level,
        "verdict": verdict,
        "reason": reason,
        "cause": {"left out": "left_out", "the run ended before it": "ended"}.get(reason, ""),
        "results": 1,
    }


TOO_MANY = "an answer has more locked entries than its cap allows"


def finding(observed: object, allowed: object, path: str = "") -> Json:
    """Return one finding on FR-006.cap as JSON: what was observed and allowed, at a path."""
    return {"path": path, "clauses": ["FR-006.cap"], "allowed": allowed, "observed": observed}


def result(verdict: str, *, level: str = "required", text: str = "assert 11 <= 10") -> Json:
    """Return one result of test_cap as JSON: on FR-006.cap, or on FR-006.fills if it is advisory.

    Its case is 11, or the text if given; a failure has a finding, evidence and the target's blame.
    """
    return {
        "check": "test_cap",
        "case": "11" if text == "assert 11 <= 10" else text,
        "clauses": ["FR-006.cap" if level == "required" else "FR-006.fills"],
        "level": level,
        "verdict": verdict,
        "reason": "" if verdict == "pass" else text,
        "stage": "crowd",
        "findings": [finding(text, 10)] if verdict == "fail" else [],
        "evidence": [f"{TOO_MANY}: {json.dumps(text)}; allowed: 10"] if verdict == "fail" else [],
        "cut": [],
        "messages": ["crowd/1", "crowd/2"],
        "blame": {"fail": "target", "error": "adapter"}.get(verdict, ""),
        "reproduce": "test_order_and_cap.py::test_cap[11]",
    }


def message(direction: str, text: str) -> Json:
    """Return one message at the client's edge as JSON; its note and body hold the text.

    `direction` is `sent` or `received`.
    """
    return {
        "edge": "client",
        "direction": direction,
        "peer": "http://127.0.0.1:8080/mcp",
        "note": f"POST /mcp {text}",
        "headers": {"Content-Type": "application/json"},
        "body": f'{{"text":"{text}"}}',
        "cut": 0,
    }


def judged_by(profile: str) -> Json:
    """Return the first version of a profile, as a report names it."""
    floor: Json = {"capabilities": [], "passes": []}
    return {"id": profile, "version": 1, "name": f"{profile}@1", "floor": floor}


def report(*results: Json, text: str = "plain") -> Json:
    """Return a report of these results as JSON, in which the target's words are `text` everywhere.

    It is violated, with exit code 1, if a required result fails, else conformant.
    """
    failed = any(row["verdict"] == "fail" and row["level"] == "required" for row in results)
    document = {
        "format": "mcp-proxy-conformance-report/3",
        "suite": {"name": "mcp-proxy-conformance", "version": "0"},
        "profile": judged_by("discovery"),
        "target": {
            "kind": "command",
            "version": text,
            "wire": "handshake",
            "capabilities": DECLARED,
        },
        "headline": "violated" if failed else "conformant",
        "exit": 1 if failed else 0,
        "why": text,
        "complete": True,
        "clauses": [
            clause("FR-001.accepts", "required", "pass"),
            clause("FR-006.cap", "required", "fail" if failed else "pass", text if failed else ""),
            clause("FR-006.fills", "advisory", "fail", text),
            clause("FR-010.inspect", "required", "not_applicable", "inspect is not declared"),
        ],
        "results": list(results),
        "causes": [],
        "stages": [],
        "messages": {"crowd/1": message("sent", text), "crowd/2": message("received", text)},
        "waivers": [],
        "timing": {"seconds": 2.5, "results": {"test_cap[11]": {"seconds": 0.25}}},
    }
    return document | {"causes": json.loads(msgspec.json.encode(typed(document).causes))}


def coverage(text: str) -> Json:
    """Return the coverage of a space in which every status occurs, with `text` as each reason."""
    statuses = ("excluded", "capability", "unarmed", "masked", "left_out")
    return {
        "space": "resilience",
        "version": 2,
        "looked_at": 4310,
        "uncovered": [
            {"status": status, "reason": text, "tuples": [f"{text}={n}" for n in range(1, number)]}
            for number, status in enumerate(statuses, 2)
        ],
    }


ALL = [result(verdict) for verdict in ("pass", "fail", "inconclusive", "not_applicable", "error")]
CLEAN = report(result("pass"))
ONE = report(result("fail"))
MANY = report(*(ALL * 30), result("fail", level="advisory"))
BAD = report(
    *(result(row["verdict"], text=HOSTILE) for row in ALL),
    result("fail", level="advisory", text=HOSTILE),
    text=HOSTILE,
) | {"coverage": coverage(HOSTILE)}
REPORTS = {"none": CLEAN, "one": ONE, "many": MANY, "hostile": BAD}
