"""The exchange (request and answer) that a failure quotes: the one that its finding is about."""

from __future__ import annotations

import json
from typing import Any

from mcp_proxy_conformance.report.document import ReportedMessage
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.verdict.cited import Direction
from mcp_proxy_conformance.verdict.result import Finding, Result


def message(direction: Direction, body: str) -> ReportedMessage:
    """Return a `tools/call` message of the client, sent or received, with that body."""
    note = "POST /mcp tools/call"
    return ReportedMessage(
        edge="client", direction=direction, peer="", note=note, headers={}, body=body, cut=0
    )


def exchanges(*calls: tuple[dict[str, Any], str]) -> dict[str, ReportedMessage]:
    """Return {place: message}, places `s/1` on, of calls of retrieve_tools and their answers.

    Each call is (its arguments, the answer's text).
    """
    messages = list[ReportedMessage]()
    for arguments, text in calls:
        body = json.dumps({"params": {"name": "retrieve_tools", "arguments": arguments}})
        messages += [message("sent", body), message("received", text)]
    return {f"s/{number}": each for number, each in enumerate(messages, 1)}


def quoted(messages: dict[str, ReportedMessage], *findings: Finding) -> list[str]:
    """Return the places of the messages that a failure with these findings quotes.

    It is on the clauses of the first finding, and rests on all of the messages.
    """
    result = Result(
        check="test_x",
        case=None,
        clauses=findings[0].clauses,
        level="required",
        verdict="fail",
        reason="",
        stage="s",
        findings=findings,
        messages=tuple(messages),
    )
    return [culprit.place for culprit in guilty(result, messages)]


ASKED = exchanges(
    ({"query": "pipekan", "limit": -1}, "eleven entries"),
    ({"query": "pipekan", "limit": 5}, "none"),
    ({"query": "pipekan", "limit": 1e300}, "eleven entries"),
)


def test_the_answers_that_findings_were_read_from_are_quoted() -> None:
    """The first finding's answer is quoted first, then those of others, whatever else has it."""
    first = Finding(path="limit 5", clauses=("FR-006.cap",), messages=("s/3", "s/4"))
    second = Finding(path="limit -1", clauses=("FR-006.cap",), messages=("s/1", "s/2"),
                     observed="eleven entries")  # fmt: skip

    assert quoted(ASKED, first, second) == ["s/4", "s/2"]


def test_a_request_without_an_answer_is_quoted_itself() -> None:
    """Of a finding that was read from a request alone, that request is quoted."""
    unanswered = Finding(path="limit 5", clauses=("FR-006.cap",), messages=("s/3",))
    answered = Finding(path="limit -1", clauses=("FR-006.cap",), messages=("s/1", "s/2"))

    assert quoted(ASKED, unanswered, answered) == ["s/3", "s/2"]


def test_without_a_finding_that_names_any_the_last_answer_is_quoted() -> None:
    """Of a finding that names no message, the target's last answer is quoted."""
    assert quoted(ASKED, Finding(path="limit 5", clauses=("FR-006.cap",))) == ["s/6"]
