"""Report as SARIF 2.1.0: a rule per clause, a result per required failure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PureWindowsPath
from typing import Any
from urllib.parse import quote

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import (
    again,
    causes_of,
    line_of,
    sentence,
    target_of,
    waived_by,
)
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.outcome import BROKEN, DECLARATION, FAULT, INTERRUPTED
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import Result

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
UNDONE = (DECLARATION, BROKEN, FAULT, INTERRUPTED)
"""Exit codes of runs that did not judge what they were to judge."""


def render(report: Report) -> str:
    """Return the SARIF log of one run as indented JSON: required failures, waived ones suppressed.

    Each clause of the report or of a result is a rule.
    """
    levels = {clause.id: clause.level for clause in report.clauses}
    for result in report.results:
        for clause_id in result.clauses:
            levels.setdefault(clause_id, result.level)
    numbers = {clause_id: number for number, clause_id in enumerate(levels)}
    firm = [result for result in report.results if result.level == "required"]
    run = {
        "tool": {
            "driver": {
                "name": inert(report.suite.name),
                "version": inert(report.suite.version),
                "rules": [_rule(clause_id, kind) for clause_id, kind in levels.items()],
            }
        },
        "properties": {"target": inert(target_of(report))},
        "invocations": [_invocation(report, firm)],
        "results": [
            _result(result, report, numbers)
            for result in firm
            if result.verdict in ("fail", "waived")
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _rule(clause_id: str, level: str) -> dict[str, Any]:
    """Return the SARIF rule of a clause: text, source, help; `error` if required, else `note`."""
    wording = sentence(clause_id)
    return {
        "id": inert(clause_id),
        "shortDescription": _message(wording.text),
        "fullDescription": _message(wording.text),
        "help": _message(
            f"Source: {wording.source}. More: mcp-proxy-conformance explain {clause_id}"
        ),
        "defaultConfiguration": {"level": "error" if level == "required" else "note"},
        "properties": {"source": wording.source, "level": level},
    }


def _invocation(report: Report, firm: Sequence[Result]) -> dict[str, Any]:
    """Return the run's end: exit code, headline, and whether it judged what it was to judge.

    Each required result (`firm`) with an error, or inconclusive, is a notification.
    """
    return {
        "executionSuccessful": report.exit not in UNDONE,
        "exitCode": report.exit,
        "exitCodeDescription": inert(f"{report.headline}: {report.why}"),
        "toolExecutionNotifications": [
            {
                "level": "error" if result.verdict == "error" else "warning",
                "message": _message(f"{result.verdict}: {result.name}\n{result.reason}"),
            }
            for result in firm
            if result.verdict in ("error", "inconclusive")
        ],
    }


def _result(result: Result, report: Report, numbers: dict[str, int]) -> dict[str, Any]:
    """Return a failure as a SARIF result under its first clause, with locations and suppressions.

    `numbers` are the indices of rules by clause.
    """
    first = result.clauses[0] if result.clauses else None
    rule = {} if first is None else {"ruleId": inert(first), "ruleIndex": numbers[first]}
    lines = [f"{result.name} on {result.stage}", result.reason, *result.told]
    known = waived_by(result, report.waivers)
    return {
        **rule,
        "level": "error",
        "message": _message("\n".join([*lines, f"reproduce with: {again(result.name, report)}"])),
        "locations": [_physical(result, report, known) | _logical(result, report)],
        "partialFingerprints": {"check/v1": inert(result.name)},
        **_suppressions(result, known),
        "properties": {
            "clauses": [inert(clause_id) for clause_id in result.clauses],
            "causes": [inert(cause.id) for cause in causes_of(result, report)],
        },
    }


def _logical(result: Result, report: Report) -> dict[str, Any]:
    """Return a logical location: the result's stage, qualified by the kind of target."""
    place = f"{report.target.kind}/{result.stage}"
    named = {"name": inert(result.stage), "fullyQualifiedName": inert(place)}
    return {"logicalLocations": [named | {"kind": "resource"}]}


def _physical(result: Result, report: Report, known: Sequence[Waiver]) -> dict[str, Any]:
    """Return the place of the first deviation in `known`, else a line in the target file.

    `known` are those that waive the result. {} without a file.
    """
    file, line = report.target.file, line_of(result, report.target.lines)
    if known and known[0].file:
        file, line = known[0].file, known[0].line
    if not file:
        return {}
    place = {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    """Return a file's path as a URI: scheme `file` if absolute or on a drive, else relative."""
    reference = quote(file, safe="/", errors="replace")
    if file.startswith("/"):
        return f"file://{reference}"
    return f"file:///{reference}" if PureWindowsPath(file).drive else reference


def _suppressions(result: Result, known: Sequence[Waiver]) -> dict[str, Any]:
    """Return a SARIF suppression per deviation of a waived result; {} for any other result.

    If `known`, the deviations, is empty, there is one suppression, with the result's reason.
    """
    if result.verdict != "waived":
        return {}
    reasons = [inert(waiver.in_words()) for waiver in known] or [inert(result.reason)]
    return {
        "suppressions": [
            {"kind": "external", "status": "accepted", "justification": reason}
            for reason in reasons
        ]
    }


def _message(text: str) -> dict[str, str]:
    """Return a SARIF message of plain text, escaped: braces doubled, nothing in it a link."""
    escaped = inert(text).replace("{", "{{").replace("}", "}}")
    return {"text": escaped.replace("](", "] (")}
