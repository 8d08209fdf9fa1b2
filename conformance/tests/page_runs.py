"""Hand-written reports to be shown as pages, `PAGES`: forty failures, endless words, deviations."""

from __future__ import annotations

from hand_written_reports import BAD, CLEAN, ONE, Json, clause, finding, message, report, result

FORTY = report(
    *(
        result("fail") | {"case": f"{number}", "findings": [finding(11, 10, f"query {number}")]}
        for number in range(40)
    )
)
ENDLESS = "w" * 3000
LONG = report(
    result("fail", text=ENDLESS) | {"stage": ENDLESS, "check": ENDLESS},
    result("error", text=ENDLESS),
    text=ENDLESS,
)
DEVIATION = {
    "id": "FR-006.cap",
    "reason": "Eleven entries until the next major release.",
    "issue": "https://issues.example/7",
    "expires": "2027-01-31",
    "file": "mcp-proxy-conformance-deviations.toml",
    "line": 4,
    "state": "used",
    "results": 1,
}
STALE = DEVIATION | {"id": "FR-001.accepts", "state": "stale", "line": 11, "results": 0}
_WAIVED = report(result("waived") | {"findings": [finding(11, 10)]})
WAIVED: Json = _WAIVED | {
    "headline": "passes with 1 deviation",
    "clauses": [
        clause("FR-006.cap", "required", "waived", "assert 11 <= 10"),
        *_WAIVED["clauses"][2:],
    ],
    "waivers": [DEVIATION, STALE],
}
PAGES = {
    "none": CLEAN,
    "one": ONE,
    "forty": FORTY,
    "hostile": BAD,
    "long": LONG,
    "waived": WAIVED,
}


def failing_report(*messages: Json, **members: object) -> Json:
    """Return a report with one failure that rests on these messages, in this order.

    `members` replace those of the failed result.
    """
    places = {f"crowd/{number}": sent for number, sent in enumerate(messages, 1)}
    failed = result("fail") | {"messages": list(places)} | members
    return report(failed) | {"messages": places}


def message_of(direction: str, body: str, edge: str = "client") -> Json:
    """Return one message of a report, as JSON, with that body and empty words in its note.

    `direction` is `sent` or `received`; `edge` is `client` or `upstream`.
    """
    return message(direction, "") | {"body": body, "edge": edge}
