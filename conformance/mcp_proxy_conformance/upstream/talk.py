"""Requests and notifications that a scripted server sends its clients, and its SSE streams."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.wire.jsonrpc import dumps

if TYPE_CHECKING:
    from collections.abc import Collection

Send = Callable[[bytes], Awaitable[None]]
"""Sends one message to a client."""
ID, TOKEN = b'"$id"', b'"$token"'
"""Placeholders in a message for a fresh id, and for the progress token of the request."""
ANSWERED_S, SILENT_S = 1.5, 0.5
"""Seconds that the server waits for the answer to a request of its own, and to one of a method that
the last such request waited for in vain."""
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
NEEDS: Mapping[str, str] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The capability that a client must have declared before it is asked."""
COMPLETE = "notifications/elicitation/complete"
"""News of the end of an elicitation of a URL, for clients that declare `elicitation.url`."""


class Talk:
    """Messages of one server to its clients, lawful by what each session has declared and set.

    Attributes:
        declared: The capabilities that the client of each session has declared.
        levels: The least level of log messages of each session that has set one.
    """

    def __init__(self) -> None:
        """Begin without sessions."""
        self.declared: dict[str, Mapping[str, Any]] = {}
        self.levels: dict[str, str] = {}
        self._ids = itertools.count(1)
        self._due: dict[tuple[str, str], asyncio.Event] = {}
        self._silent = set[str]()
        self._listeners: dict[str, Send] = {}

    @property
    def listening(self) -> Collection[str]:
        """The ids of the sessions that listen."""
        return [*self._listeners]

    def listen(self, session: str, send: Send) -> None:
        """Register `send` to deliver messages to that session; an earlier one is replaced."""
        self._listeners[session] = send

    def unlisten(self, session: str, send: Send) -> None:
        """Remove `send` from that session, unless a later one has replaced it."""
        if self._listeners.get(session) is send:
            del self._listeners[session]

    def take(self, session: str, message: Any) -> None:
        """Take a client's message: an answer ends the wait of the server's request with its id.

        All other messages are ignored.
        """
        if isinstance(message, dict) and "method" not in message:
            due = self._due.get((session, json.dumps(message.get("id"))))
            if due is not None:
                due.set()

    async def say(
        self, messages: Sequence[bytes], session: str, token: Any, send: Send | None
    ) -> None:
        """Send messages by `send`, waiting up to 1.5 s for the answer to each request among them.

        The wait is at most 0.5 s for a method whose last request had no answer. Left out are
        progress without a token, requests that the session's client has not declared, and log
        messages below its level; all of them if `send` is None.
        """
        for text in messages:
            message = json.loads(text)
            if send is None or not self._is_lawful(message, session, token, text):
                continue
            own_id = f"server/{next(self._ids)}"
            filled = text.replace(ID, dumps(own_id)).replace(TOKEN, dumps(token))
            if "id" not in message:
                await send(filled)
                continue
            key = session, json.dumps(own_id)
            self._due[key] = asyncio.Event()
            await send(filled)
            patience_s = SILENT_S if message["method"] in self._silent else ANSWERED_S
            self._silent.add(message["method"])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._due[key].wait(), patience_s)
                self._silent.discard(message["method"])
            del self._due[key]

    async def tell(self, text: bytes, sessions: Collection[str] | None = None) -> int:
        """Send a message to the listening sessions, all or those of `sessions`.

        Return their number. A lost connection counts too.
        """
        listening = [*self._listeners.items()]
        chosen = [send for name, send in listening if sessions is None or name in sessions]
        for send in chosen:
            with contextlib.suppress(ConnectionError):
                await send(text)
        return len(chosen)

    def _is_lawful(self, message: Mapping[str, Any], session: str, token: Any, text: bytes) -> bool:
        """Whether the session's client may get that message, by its token, level or capabilities.

        `text` is the message with its placeholders, `token` the progress token of the request, if
        any.
        """
        method, params = message["method"], message.get("params", {})
        if TOKEN in text and token is None:
            return False
        if method == "notifications/message":
            least = self.levels.get(session, LEVELS[0])
            return params["level"] in LEVELS[LEVELS.index(least) if least in LEVELS else 99 :]
        declared = self.declared.get(session, {})
        if method == COMPLETE or params.get("mode") == "url":
            elicitation = declared.get("elicitation")
            return isinstance(elicitation, dict) and "url" in elicitation
        return method not in NEEDS or NEEDS[method] in declared


class EventStream:
    """The response to one HTTP request as a stream of events, which begins with its first one."""

    def __init__(self, writer: asyncio.StreamWriter, record: Callable[[bytes], None]) -> None:
        """Send nothing yet; `record` is called with each message that is sent."""
        self._writer = writer
        self._record = record
        self.begun = False

    async def begin(self) -> None:
        """Send the response's head and an empty comment; a second call does nothing."""
        if not self.begun:
            self.begun = True
            lines = ("HTTP/1.1 200 OK", "Content-Type: text/event-stream",
                     "Cache-Control: no-cache", "Transfer-Encoding: chunked", "", "")  # fmt: skip
            self._writer.write("\r\n".join(lines).encode())
            await self._piece(b": \n\n")

    async def send(self, message: bytes) -> None:
        """Record one message and send it as an event; the response begins if it has not yet."""
        await self.begin()
        self._record(message)
        await self._piece(b"event: message\ndata: " + message + b"\n\n")

    async def end(self) -> None:
        """End the response; the connection can be kept."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def _piece(self, piece: bytes) -> None:
        """Send bytes as one HTTP chunk, and wait until they are written."""
        self._writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await self._writer.drain()
