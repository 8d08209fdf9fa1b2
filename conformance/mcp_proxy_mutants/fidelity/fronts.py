"""HTTP fronts of changed relays: of numbered sessions, resumed streams, ended sessions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mcp_relay_reference.front import Front, Receive, Send
from mcp_relay_reference.remote import Remote

EVENTS, SESSION = "text/event-stream", "mcp-session-id"


class Numbered(NamedTuple):
    """One event that was sent: its client's session, the number of its stream, and its lines."""

    session: str
    stream: int
    lines: bytes


Choose = Callable[[Sequence[Numbered], int, str], Sequence[Numbered]]
"""Chooses what is sent again, of all events, after the one at a place, to a session."""


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a request by lower-case name."""
    return {name.decode("latin-1"): text.decode("latin-1") for name, text in scope["headers"]}


class Counting(Front):
    """A front whose session ids are numbers from 1 on."""

    def __init__(self, upstream: Sequence[str] | Remote) -> None:
        """Keep the upstream; no session has begun."""
        super().__init__(upstream)
        self._names: list[bytes] = []

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request in the session of that number."""
        numbers = {b"%d" % at: name for at, name in enumerate(self._names, 1)}

        async def counted(event: dict[str, Any]) -> None:
            await send(event | {"headers": self._changed(event.get("headers", ()), self._number)})

        headers = self._changed(scope["headers"], lambda own: numbers.get(own, own))
        await super().__call__({**scope, "headers": headers}, receive, counted)

    def _number(self, name: bytes) -> bytes:
        """Return the number of a session, the next one for a new session."""
        if name not in self._names:
            self._names.append(name)
        return b"%d" % (self._names.index(name) + 1)

    @staticmethod
    def _changed(
        headers: Sequence[tuple[bytes, bytes]], change: Callable[[bytes], bytes]
    ) -> Sequence[tuple[bytes, bytes]]:
        return [
            (name, change(text) if name == SESSION.encode() else text) for name, text in headers
        ]


class Resuming(Front):
    """A front that numbers the events of all its streams, and sends them again upon request."""

    def __init__(self, upstream: Sequence[str] | Remote, choose: Choose) -> None:
        """Keep the upstream, and the choice of what is sent again."""
        super().__init__(upstream)
        self._choose = choose
        self._sent: list[Numbered] = []
        self._streams = 0

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a GET with `Last-Event-ID` from memory; number the events of other answers."""
        headers = headers_of(scope)
        session, last = headers.get(SESSION, ""), headers.get("last-event-id", "")
        if scope["method"] == "GET" and last.isdigit():
            again = self._choose(self._sent, int(last), session)
            kind = [(b"content-type", EVENTS.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": kind})
            body = b"".join(each.lines + b"\n\n" for each in again)
            await send({"type": "http.response.body", "body": body})
            return
        self._streams += 1
        await super().__call__(scope, receive, self._numbering(send, session, self._streams))

    def _numbering(self, send: Send, session: str, stream: int) -> Send:
        """Return a function that sends on, with an id in each event of a stream."""
        is_stream, waiting = False, b""

        async def numbered(event: dict[str, Any]) -> None:
            nonlocal is_stream, waiting
            if event["type"] == "http.response.start":
                is_stream = dict(event["headers"]).get(b"content-type") == EVENTS.encode()
            elif is_stream:
                *blocks, waiting = (waiting + event["body"]).split(b"\n\n")
                event = event | {"body": b"".join(self._number(session, stream, blocks))}
            await send(event)

        return numbered

    def _number(self, session: str, stream: int, blocks: Sequence[bytes]) -> Sequence[bytes]:
        """Return the bytes of events, with ids in those that have data, which are kept."""
        events = []
        for block in blocks:
            lines = block
            if b"data:" in block:
                lines = b"id: %d\n" % len(self._sent) + block
                self._sent.append(Numbered(session, stream, lines))
            events.append(lines + b"\n\n")
        return events


class Endless(Front):
    """A front that accepts the end of a session, and goes on to serve it."""

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer DELETE with 200, and nothing else; relay other requests."""
        if scope["method"] != "DELETE":
            await super().__call__(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
