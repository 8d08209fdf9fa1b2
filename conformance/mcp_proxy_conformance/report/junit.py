"""Report as JUnit XML in the form that Jenkins reads, with a test case per result."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import (
    again,
    causes_of,
    consequences,
    sentence,
    target_of,
    waived_by,
)
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import Result

SUITE = "mcp-proxy-conformance"
LONGEST = 1e9


def render(report: Report) -> str:
    """Return the XML: a case per result; headline, reason, target and causes as properties.

    If the exit code is not 0 and no case shows it, an error case is added.
    """
    cases = [_case(result, report) for result in report.results]
    if report.exit and not _number_with("failure", cases) + _number_with("error", cases):
        cases.append(_unfinished(report))
    counts = {
        "tests": str(len(cases)),
        "failures": str(_number_with("failure", cases)),
        "errors": str(_number_with("error", cases)),
        "time": _seconds(report.timing.get("seconds")),
    }
    suites = ET.Element("testsuites", {"name": SUITE, **counts})
    skipped = {"skipped": str(_number_with("skipped", cases))}
    suite = ET.SubElement(
        suites, "testsuite", {"name": inert(report.profile.name)} | counts | skipped
    )
    facts = {"headline": report.headline, "why": report.why, "target": target_of(report)}
    properties = ET.SubElement(suite, "properties")
    facts |= {
        f"cause {cause.id}": f"{cause.sentence} {cause.why} {consequences(cause)}"
        for cause in report.causes
    }
    for key, value in facts.items():
        ET.SubElement(properties, "property", {"name": key, "value": inert(value)})
    suite.extend(cases)
    ET.indent(suites)
    text = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _case(result: Result, report: Report) -> ET.Element:
    """Return a result's test case, classed under its first clause, with the verdict's element.

    A result that counts as passed has none; if it is advisory and did not pass, it has
    `system-out` with its text.
    """
    case = ET.Element(
        "testcase",
        {
            "classname": inert(result.clauses[0] if result.clauses else SUITE),
            "name": inert(result.name),
            "group": inert(" ".join(result.clauses)),
            "time": _seconds(_spent(report.timing, result.name)),
        },
    )
    if verdict := _verdict(result):
        tag, kind = verdict
        reason = _waived(result, report) or result.reason
        first = next(iter(inert(reason).splitlines()), result.verdict)
        element = ET.SubElement(case, tag, {"message": first})
        if tag != "skipped":
            element.set("type", kind)
            element.text = inert(_text(result, report))
    elif result.level == "advisory" and result.verdict != "pass":
        out = ET.SubElement(case, "system-out")
        out.text = inert(f"advisory: {result.verdict}\n{_text(result, report)}")
    return case


def _unfinished(report: Report) -> ET.Element:
    """Return an error case, named `run`, for an exit code that no result explains."""
    case = ET.Element("testcase", {"classname": SUITE, "name": "run", "time": _seconds(None)})
    attributes = {"message": inert(report.why), "type": inert(report.headline)}
    ET.SubElement(case, "error", attributes)
    return case


def _verdict(result: Result) -> tuple[str, str] | None:
    """Return (XML element of a result's verdict, its `type`); None for what counts as passed.

    Advisory failures count as passed, and advisory errors unless the suite is to blame.
    """
    match result.verdict, result.level:
        case "not_applicable" | "waived" as word, _:
            return "skipped", word
        case "error", level if level == "required" or result.blame == "suite":
            return "error", result.blame or "error"
        case "fail" | "inconclusive" as word, "required":
            return "failure", word
    return None


def _waived(result: Result, report: Report) -> str:
    """Return the deviations that waive the result, on one line; "" if none does."""
    known = waived_by(result, report.waivers)
    return "; ".join(" ".join(f"waived by {waiver.in_words()}".split()) for waiver in known)


def _text(result: Result, report: Report) -> str:
    """Return the text of a failure: shared causes, clauses' texts, reason, evidence, a command."""
    clauses = [f"{clause_id}: {sentence(clause_id).text}" for clause_id in result.clauses]
    reproduce = f"reproduce with: {again(result.name, report)}"
    shared = [
        f"cause {cause.id}: {cause.sentence}"
        for cause in causes_of(result, report)
        if len(cause.results) + len(cause.open_results) > 1
    ]
    return "\n".join([*shared, *clauses, result.reason, *result.told, reproduce])


def _number_with(tag: str, cases: list[ET.Element]) -> int:
    """Return how many of the cases have an element with that tag."""
    return sum(case.find(tag) is not None for case in cases)


def _spent(timing: dict[str, Any], wanted: str) -> Any:
    """Return the seconds that `timing` has for the result of that name; None if it has none."""
    results = timing.get("results")
    spent = results.get(wanted) if isinstance(results, dict) else None
    return spent.get("seconds") if isinstance(spent, dict) else None


def _seconds(spent: Any) -> str:
    """Return seconds with three decimals; "0.000" for anything but a number from 0 to 1e9."""
    number = isinstance(spent, (int, float)) and not isinstance(spent, bool)
    return f"{spent:.3f}" if number and 0 <= spent < LONGEST else "0.000"
