"""The exchange that a failure quotes: that of its finding, whatever the check asked afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_proxy_conformance.report.document import ReportedMessage
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.verdict.cited import Direction
from mcp_proxy_conformance.verdict.result import Finding, Result


def message(direction: Direction, body: str) -> ReportedMessage:
    """Return a message on the client's edge."""
    note = "POST /mcp tools/call"
    return ReportedMessage(
        edge="client", direction=direction, peer="", note=note, headers={}, body=body, cut=0
    )


def exchanges(*calls: tuple[dict[str, Any], str]) -> dict[str, ReportedMessage]:
    """Return requests with these arguments and answers with these texts, by place from s/1 on."""
    messages = list[ReportedMessage]()
    for arguments, text in calls:
        body = json.dumps({"params": {"name": "retrieve_tools", "arguments": arguments}})
        messages += [message("sent", body), message("received", text)]
    return {f"s/{number}": each for number, each in enumerate(messages, 1)}


def quoted(messages: dict[str, ReportedMessage], *findings: Finding) -> list[str]:
    """Return the places of the answers that a failure with these findings quotes."""
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
    """A control that asks last is not what the finding is about."""
    found = Finding(path="locked entries", clauses=("FR-006.cap",), observed=10, message="s/2")

    assert quoted(ASKED_LAST, found) == ["s/2"]


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
    """The flag of the request is as the clause has it; words and numbers are those of the place."""
    assert quoted(ASKED_LAST, Finding(path=path, clauses=(clause,))) == [place]


def test_a_query_of_another_tool_is_not_quoted() -> None:
    """The word of the place is looked for in requests before answers."""
    messages = exchanges(({"query": "mobegup"}, "none"), ({"query": "takifero"}, "see mobegup"))

    assert quoted(messages, Finding(path="mobegup", clauses=("FR-009.note",))) == ["s/2"]
