"""What a strict server finds wrong with the messages of a client."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_proxy_conformance.upstream.faults.obliged import Obliged
from mcp_proxy_conformance.upstream.http import HttpRequest

ACCEPT = ("Accept", "application/json, text/event-stream")
REVISION = ("MCP-Protocol-Version", "2025-11-25")
PARAMS = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a client", "version": "1"},
}
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": PARAMS}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
PING = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


def _request(message: Any, path: str, headers: Any) -> HttpRequest:
    body = json.dumps(message).encode()
    return HttpRequest(method="POST", path=path, headers=tuple(headers), body=body)


def _complaints(*messages: Any, path: str = "/", headers: Any = (ACCEPT, REVISION)) -> list[str]:
    strict = Obliged()
    return [strict.complaint(_request(each, path, headers), 1) for each in messages]


@pytest.mark.parametrize("path", ["/", ""])
def test_nothing_is_wrong_with_a_session_of_right_messages(path: str) -> None:
    """Over HTTP and stdio; an answer may have the id of an own request."""
    messages = (INITIALIZE, PONG, PING, INITIALIZED, LIST)

    assert _complaints(*messages, path=path) == [""] * 5


@pytest.mark.parametrize(
    "headers",
    [
        [("accept", "text/event-stream;q=0.5,Application/JSON"), REVISION],
        [("Accept", "application/json"), ("Accept", "text/event-stream"), REVISION],
        [("Accept", "*/*"), REVISION],
    ],
)
def test_accept_may_have_any_form(headers: Any) -> None:
    """Accept may have weights, capitals, several lines, or any type."""
    assert _complaints(INITIALIZE, INITIALIZED, LIST, headers=headers) == [""] * 3


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([INITIALIZE | {"jsonrpc": "1.0"}], "jsonrpc"),
        ([INITIALIZE | {"id": None}], "neither a string nor an integer"),
        ([INITIALIZE | {"id": 1.5}], "neither a string nor an integer"),
        ([INITIALIZE | {"id": True}], "neither a string nor an integer"),
        ([INITIALIZE | {"params": {**PARAMS, "clientInfo": {"name": "x"}}}], "clientInfo"),
        ([INITIALIZE | {"params": {**PARAMS, "capabilities": None}}], "capabilities"),
        ([INITIALIZE | {"params": None}], "revision"),
        ([INITIALIZE, INITIALIZED, LIST | {"id": 1}], "used before"),
        ([INITIALIZE, LIST], "initialized was not sent"),
    ],
)
def test_a_message_that_breaks_a_rule_is_named(messages: Any, complaint: str) -> None:
    """Each rule of messages is found to be broken, and by the message that breaks it alone."""
    *before, last = _complaints(*messages)

    assert before == [""] * len(before)
    assert complaint in last


@pytest.mark.parametrize(
    ("headers", "complaint"),
    [
        ([REVISION], "Accept"),
        ([("Accept", "application/json"), REVISION], "Accept"),
        ([ACCEPT], "MCP-Protocol-Version"),
    ],
)
def test_a_header_that_lacks_is_named(headers: Any, complaint: str) -> None:
    """Each header that a request must have is missed."""
    assert complaint in _complaints(INITIALIZE, INITIALIZED, LIST, headers=headers)[-1]


def test_the_revision_is_asked_for_after_the_handshake_alone_and_of_no_older_one() -> None:
    """No header of a revision is due before there is one, or where there was none yet."""
    older = INITIALIZE | {"params": {**PARAMS, "protocolVersion": "2025-03-26"}}

    assert _complaints(INITIALIZE, headers=[ACCEPT]) == [""]
    assert _complaints(older, INITIALIZED, LIST, headers=[ACCEPT]) == [""] * 3


def test_the_ids_of_another_attempt_may_come_again() -> None:
    """An id is used once in a session, not in all of them."""
    strict = Obliged()
    request = _request(INITIALIZE, "/", (ACCEPT, REVISION))

    assert [strict.complaint(request, attempt) for attempt in (1, 2)] == ["", ""]
