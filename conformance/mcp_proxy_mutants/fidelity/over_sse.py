"""HTTP+SSE front (2024-11-05) of a relay: it wraps a streamable HTTP front, one stream a client."""

import asyncio
import contextlib
import json
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from mcp_proxy_mutants.fidelity.fronts import EVENTS, SESSION
from mcp_proxy_mutants.fidelity.mutant import MakeFront
from mcp_relay_reference import message
from mcp_relay_reference.front import Front, Receive, Send
from mcp_relay_reference.remote import Remote

STREAM, MESSAGES = "/sse", "/messages"
BOTH = (b"accept", b"application/json, text/event-stream")
GREETING = message.of(
    {"method": '"notifications/message"', "params": '{"level":"info","data":"Welcome."}'}
).line
LEFT_OUT = (b"accept", b"content-length")


class Line:
    """The stream of one client: what is to be sent on it, and the session behind it."""

    def __init__(self) -> None:
        """Begin without a session."""
        self.waiting = asyncio.Queue[bytes | None]()
        self.session = b""
        self.works = set[asyncio.Task[None]]()

    def put(self, text: bytes) -> None:
        """Send a message to the client."""
        data = b"".join(b"data: " + each + b"\n" for each in text.splitlines())
        self.waiting.put_nowait(b"event: message\n" + data + b"\n")


class OverSse(Front):
    """A front of streamable HTTP behind one of HTTP+SSE.

    `listens` says whether it opens the stream of each session behind.
    """

    listens = True

    def __init__(self, remote: Remote, make: MakeFront = Front) -> None:
        """Make the front behind, which has all there is to relay."""
        super().__init__(remote)
        self._behind = make(remote)
        self.lines: dict[str, Line] = {}

    async def close(self) -> None:
        """End every stream, and the front behind."""
        for line in self.lines.values():
            line.waiting.put_nowait(None)
        await self._behind.close()

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a GET by a stream, and take the messages that are posted to its endpoint."""
        name = parse_qs(scope["query_string"].decode()).get("session", [""])[0]
        if (scope["method"], scope["path"]) == ("GET", STREAM):
            await self._streamed(scope, receive, send)
        elif (scope["method"], scope["path"]) != ("POST", MESSAGES) or name not in self.lines:
            await _answer(send, 404)
        else:
            body, more = b"", True
            while more:
                event = await receive()
                body += event.get("body", b"")
                more = event.get("more_body", False)
            await self.taken(self.lines[name], scope, body, send)

    async def taken(self, line: Line, scope: Mapping[str, Any], body: bytes, send: Send) -> None:
        """Acknowledge a message, and put what comes for it on a client's stream.

        After a handshake, that is once the session's own stream is open.
        """
        if self.listens and b'"notifications/initialized"' in body:
            await self._begin(line, "POST", scope, body).wait()
            await self._begin(line, "GET", scope).wait()
        else:
            self._begin(line, "POST", scope, body)
        await _answer(send, 202)

    def put(self, line: Line, text: bytes) -> None:
        """Put a message on the stream of the client that it is for."""
        line.put(text)

    async def _streamed(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Name an endpoint, and send what comes until the client is gone; end its session then."""
        name, line = secrets.token_hex(16), Line()
        self.lines[name] = line
        kind = [(b"content-type", EVENTS.encode()), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": kind})
        place = f"event: endpoint\ndata: {MESSAGES}?session={name}\n\n"
        line.waiting.put_nowait(place.encode())
        line.put(GREETING)
        gone = asyncio.create_task(_gone(receive, line))
        try:
            while (event := await line.waiting.get()) is not None:
                await send({"type": "http.response.body", "body": event, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            del self.lines[name]
            gone.cancel()
            for work in line.works:
                work.cancel()
            await asyncio.gather(gone, *line.works, return_exceptions=True)
            if line.session:
                await self._relayed(line, "DELETE", scope, b"", asyncio.Event())

    def _begin(
        self, line: Line, method: str, scope: Mapping[str, Any], body: bytes = b""
    ) -> asyncio.Event:
        """Hand a request on in a task, which ends with the client; return what its answer sets."""
        begun = asyncio.Event()
        work = asyncio.create_task(self._relayed(line, method, scope, body, begun))
        line.works.add(work)
        work.add_done_callback(line.works.discard)
        return begun

    async def _relayed(
        self, line: Line, method: str, scope: Mapping[str, Any], body: bytes, begun: asyncio.Event
    ) -> None:
        """Hand a request to the front behind, and put each message that it sends on the stream.

        A request that gets no answer there is answered by an error.
        """
        headers = [each for each in scope["headers"] if each[0] not in LEFT_OUT]
        headers += [BOTH, *([(SESSION.encode(), line.session)] if line.session else [])]
        inner = {**scope, "method": method, "path": "/mcp", "query_string": b"", "headers": headers}
        unread = [{"type": "http.request", "body": body, "more_body": False}]
        asked, is_stream, waiting = _message(body), False, b""
        unanswered = {asked.get("id")} if "method" in asked and "id" in asked else set()

        async def read() -> Mapping[str, Any]:
            if not unread:
                await asyncio.Event().wait()
            return unread.pop()

        def put(text: bytes) -> None:
            came = _message(text)
            if "method" in came or came.get("id") in unanswered:
                unanswered.difference_update(set() if "method" in came else {came["id"]})
                self.put(line, text)

        async def take(event: dict[str, Any]) -> None:
            nonlocal is_stream, waiting
            if event["type"] == "http.response.start":
                told = dict(event["headers"])
                is_stream = EVENTS.encode() in told.get(b"content-type", b"")
                line.session = told.get(SESSION.encode(), line.session)
                begun.set()
                return
            waiting += event["body"]
            while is_stream and b"\n\n" in waiting:
                block, waiting = waiting.split(b"\n\n", 1)
                data = [each[5:].strip() for each in block.split(b"\n") if each[:5] == b"data:"]
                put(b"\n".join(data))

        try:
            await self._behind(inner, read, take)
            put(waiting)
            for own in unanswered:
                name = json.dumps(own)
                self.put(line, message.failure(name, message.LOST, "There is no answer."))
        finally:
            begun.set()


def _message(text: bytes) -> Mapping[str, Any]:
    """Return the members of a message, {} for a text that is none."""
    try:
        members = json.loads(text)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}


async def _gone(receive: Receive, line: Line) -> None:
    """Wait until the client is gone, and end its stream."""
    with contextlib.suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass
        line.waiting.put_nowait(None)


async def _answer(send: Send, status: int) -> None:
    """Answer by a status, and no body."""
    await send({"type": "http.response.start", "status": status, "headers": []})
    await send({"type": "http.response.body", "body": b""})
