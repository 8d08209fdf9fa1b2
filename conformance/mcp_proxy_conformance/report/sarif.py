"""The report as SARIF 2.1.0: a rule for each clause, a result for each failure that convicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PureWindowsPath
from typing import Any
from urllib.parse import quote

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.retelling import (
    again,
    line_of,
    sentence,
    waived_by,
)
from mcp_proxy_conformance.verdict.deviations.waiving import Waiver
from mcp_proxy_conformance.verdict.outcome import BROKEN, DECLARATION, FAULT, INTERRUPTED
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import Result

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
UNDONE = (DECLARATION, BROKEN, FAULT, INTERRUPTED)
"""Exit codes of runs that did not judge what they were to judge."""


def render(report: Report) -> str:
    """The log of one run, as JSON on several lines."""
    judgements = {one.id: one.judgement for one in report.clauses}
    for result in report.results:
        for clause_id in result.clauses:
            judgements.setdefault(clause_id, result.judgement)
    numbers = {clause_id: number for number, clause_id in enumerate(judgements)}
    firm = [one for one in report.results if one.judgement == "F"]
    run = {
        "tool": {
            "driver": {
                "name": inert(report.suite.name),
                "version": inert(report.suite.version),
                "rules": [_rule(clause_id, kind) for clause_id, kind in judgements.items()],
            }
        },
        "invocations": [_invocation(report, firm)],
        "results": [
            _result(one, report, numbers) for one in firm if one.verdict in ("fail", "waived")
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _rule(clause_id: str, judgement: str) -> dict[str, Any]:
    told = sentence(clause_id)
    return {
        "id": inert(clause_id),
        "shortDescription": _message(told.text),
        "fullDescription": _message(told.text),
        "help": _message(f"Source: {told.source}. More: explain {clause_id}"),
        "defaultConfiguration": {"level": "error" if judgement == "F" else "note"},
        "properties": {"source": told.source, "judgement": judgement},
    }


def _invocation(report: Report, firm: Sequence[Result]) -> dict[str, Any]:
    """How the run ended, and what it could not settle."""
    return {
        "executionSuccessful": report.exit not in UNDONE,
        "exitCode": report.exit,
        "exitCodeDescription": inert(f"{report.headline}: {report.why}"),
        "toolExecutionNotifications": [
            {
                "level": "error" if one.verdict == "error" else "warning",
                "message": _message(f"{one.verdict}: {one.name}\n{one.reason}"),
            }
            for one in firm
            if one.verdict in ("error", "inconclusive")
        ],
    }


def _result(result: Result, report: Report, numbers: dict[str, int]) -> dict[str, Any]:
    """A failure under its first clause, at the lines that say what is judged; or waived there."""
    first = result.clauses[0] if result.clauses else None
    rule = {} if first is None else {"ruleId": inert(first), "ruleIndex": numbers[first]}
    lines = [f"{result.name} on {result.stage}", result.reason, *result.evidence]
    known = waived_by(result, report.waivers)
    return {
        **rule,
        "level": "error",
        "message": _message("\n".join([*lines, f"reproduce with: {again(result)}"])),
        "locations": [_physical(result, report, known) | _logical(result, report)],
        "partialFingerprints": {"check/v1": inert(result.name)},
        **_suppressions(result, known),
        "properties": {"clauses": [inert(one) for one in result.clauses]},
    }


def _logical(result: Result, report: Report) -> dict[str, Any]:
    place = f"{report.target.kind}/{result.stage}"
    named = {"name": inert(result.stage), "fullyQualifiedName": inert(place)}
    return {"logicalLocations": [named | {"kind": "resource"}]}


def _physical(result: Result, report: Report, known: Sequence[Waiver]) -> dict[str, Any]:
    """The deviation that waives it, else where the target is described; nothing without a file."""
    file, line = report.target.file, line_of(result, report.target.lines)
    if known and known[0].file:
        file, line = known[0].file, known[0].line
    if not file:
        return {}
    place = {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line}}
    return {"physicalLocation": place}


def _uri(file: str) -> str:
    """A path with slashes as a reference: relative as it is, else of the scheme `file`."""
    told = quote(file, safe="/", errors="replace")
    if file.startswith("/"):
        return f"file://{told}"
    return f"file:///{told}" if PureWindowsPath(file).drive else told


def _suppressions(result: Result, known: Sequence[Waiver]) -> dict[str, Any]:
    """Why a waived result counts for nothing; no member in any other."""
    if result.verdict != "waived":
        return {}
    told = [inert(one.told()) for one in known] or [inert(result.reason)]
    return {
        "suppressions": [
            {"kind": "external", "status": "accepted", "justification": one} for one in told
        ]
    }


def _message(text: str) -> dict[str, str]:
    """A plain text; braces are doubled as the format asks, and nothing in it is a link."""
    told = inert(text).replace("{", "{{").replace("}", "}}")
    return {"text": told.replace("](", "] (")}
