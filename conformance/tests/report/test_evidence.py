"""The exchange (request and answer) that a failure quotes: the one that its finding is about."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


ASKED_LAST = exchanges(
    ({"query": "pipekan", "include_disabled": True, "limit": 2}, "ten entries"),
    ({"query": "pipekan"}, "none"),
    ({"query": "pipekan", "include_disabled": True, "limit": 100}, "ten entries"),
)


def test_the_answer_that_was_compared_is_quoted() -> None:
    """If a finding names its message, only that message is quoted, not the last answer."""
    finding = Finding(path="locked entries", clauses=("FR-006.cap",), observed=10, message="s/2")

    assert quoted(ASKED_LAST, finding) == ["s/2"]


@pytest.mark.parametrize(
    ("path", "clause", "place"),
    [
        ("pipekan at limit 2", "FR-006.cap", "s/2"),
        ("pipekan", "FR-009.note", "s/4"),
        ("pipekan", "FR-002.no-section", "s/4"),
        ("pipekan", "FR-001.reveals-config", "s/6"),
    ],
)
def test_else_the_exchange_that_fits_the_place_is_quoted(
    path: str, clause: str, place: str
) -> None:
    """For a finding without a message, the answer whose request fits it is quoted.

    Query and limit must fit the finding's path, the flag its clause.
    """
    assert quoted(ASKED_LAST, Finding(path=path, clauses=(clause,))) == [place]


def test_a_query_of_another_tool_is_not_quoted() -> None:
    """The answer to the query in a finding's path is quoted, not a later one that has its word."""
    messages = exchanges(({"query": "mobegup"}, "none"), ({"query": "takifero"}, "see mobegup"))

    assert quoted(messages, Finding(path="mobegup", clauses=("FR-009.note",))) == ["s/2"]
