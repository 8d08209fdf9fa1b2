"""What MCP obliges a client to in each message, as a server that is strict sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mcp_proxy_conformance.upstream.http import HttpRequest
from mcp_proxy_conformance.wire.jsonrpc import message_of, object_of

Message = dict[str, Any]
ACCEPTED = ("application/json", "text/event-stream")
HEADED = "2025-06-18"
"""The first revision in which requests after `initialize` have their revision in a header."""


class Obliged:
    """The messages of each attempt at one server, and what they break."""

    def __init__(self) -> None:
        """Begin with no attempt."""
        self._sent: dict[int, list[Message]] = {}

    def complaint(self, request: HttpRequest, attempt: int) -> str:
        """Note a message of a revision with a handshake; return what it breaks, "" for nothing."""
        message, before = message_of(request.body), self._sent.setdefault(attempt, [])
        found = [*_of_message(message, before)]
        before.append(message)
        return next(iter([*found, *(_of_headers(request, before) if request.path else ())]), "")


def _of_message(message: Message, before: Sequence[Message]) -> Iterator[str]:
    if "method" not in message:
        return
    own = message.get("id")
    if message.get("jsonrpc") != "2.0":
        yield "jsonrpc is not 2.0"
    if "id" in message and (isinstance(own, bool) or not isinstance(own, int | str)):
        yield "the id is neither a string nor an integer"
    if own is not None and any(each.get("id") == own for each in before if "method" in each):
        yield "the id was used before in this session"
    if message["method"] == "initialize":
        params = object_of(message.get("params"))
        info = object_of(params.get("clientInfo"))
        texts = (params.get("protocolVersion"), info.get("name"), info.get("version"))
        whole = all(isinstance(each, str) for each in texts)
        if not whole or not isinstance(params.get("capabilities"), dict):
            yield "initialize lacks its revision, capabilities or clientInfo"
    elif own is not None and message["method"] != "ping" and not _has_agreed(before):
        yield "the notification initialized was not sent before"


def _of_headers(request: HttpRequest, sent: Sequence[Message]) -> Iterator[str]:
    accept = ",".join(v.lower() for k, v in request.headers if k.lower() == "accept")
    if "*/*" not in accept and not all(each in accept for each in ACCEPTED):
        yield f"Accept does not list {' and '.join(ACCEPTED)}"
    asked = object_of(sent[0].get("params")).get("protocolVersion")
    if (
        _has_agreed(sent)
        and str(asked or "") >= HEADED
        and not request.header("mcp-protocol-version")
    ):
        yield "the header MCP-Protocol-Version is missing"


def _has_agreed(sent: Sequence[Message]) -> bool:
    return any(each.get("method") == "notifications/initialized" for each in sent)
