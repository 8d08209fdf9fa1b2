"""Relay mutants over HTTP+SSE of 2024-11-05 that put messages on a wrong stream, or on none."""

import json
from collections.abc import Mapping
from typing import Any

from mcp_proxy_mutants.fidelity.mutant import relay_mutant
from mcp_proxy_mutants.fidelity.over_sse import Line, OverSse
from mcp_relay_reference.front import Send
from mcp_relay_reference.remote import Remote


class _ById(OverSse):
    """An answer goes to the stream of whoever has last asked under its id."""

    def __init__(self, remote: Remote) -> None:
        """Begin without requests."""
        super().__init__(remote)
        self._asked: dict[Any, Line] = {}

    async def taken(self, line: Line, scope: Mapping[str, Any], body: bytes, send: Send) -> None:
        """Note whose request a message is, then go on."""
        sent = json.loads(body)
        if "method" in sent and "id" in sent:
            self._asked[sent["id"]] = line
        await super().taken(line, scope, body, send)

    def put(self, line: Line, text: bytes) -> None:
        """Put an answer on the stream that is noted, other messages where they belong."""
        message = json.loads(text)
        own = line if "method" in message else self._asked.get(message["id"], line)
        own.put(text)


class _ToAll(OverSse):
    """Every notification goes to every stream."""

    def put(self, line: Line, text: bytes) -> None:
        """Put a notification on all streams, other messages where they belong."""
        message = json.loads(text)
        is_notification = "method" in message and "id" not in message
        for each in [*self.lines.values()] if is_notification else [line]:
            each.put(text)


class _Answering(OverSse):
    """Nothing comes on a stream but what comes for requests."""

    listens = False


MUTANTS = (
    relay_mutant(
        "relay-sorts-streams-by-id",
        "Over HTTP+SSE an answer goes to the client that has used its id last.",
        "RLY.apart.answers",
        front=_ById,
        transport="sse",
    ),
    relay_mutant(
        "relay-tells-every-stream",
        "Over HTTP+SSE a notification goes to every client.",
        "RLY.apart.progress",
        front=_ToAll,
        transport="sse",
    ),
    relay_mutant(
        "relay-streams-answers-alone",
        "Over HTTP+SSE nothing reaches a client outside of its requests.",
        "RLY.tools.changed.arrives",
        "RLY.back.resource-updated",
        front=_Answering,
        transport="sse",
    ),
)
