"""Event streams that a server closes before the answer: resumed by GET with the last event id."""

from __future__ import annotations

import asyncio
import http.server
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.streamable_http import EventMessage, EventStore

from mcp_proxy_conformance.wire import Client, ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.transcript import Transcript

GIVEN = "session-1"
WELCOME = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}


def event(data: str = "", place: str = "", more: str = "") -> str:
    """Return the text of one event, with this data.

    `place` is its id, if not empty; `more` are lines before it.
    """
    return f"{more}{f'id: {place}' if place else ''}\ndata: {data}\n\n".lstrip("\n")


@dataclass
class Script:
    """A server's script: the stream for a POST, then one stream per GET; and what it was asked.

    `status` is that of a GET, `abrupt` drops the last chunk, `opening` includes the handshake.
    """

    post: str
    gets: list[str] = field(default_factory=list)
    status: int = 200
    abrupt: bool = False
    opening: bool = False
    asked: list[dict[str, str]] = field(default_factory=list)
    at: list[float] = field(default_factory=list)

    def turn(self) -> str:
        """Return the stream for the next GET; the last one is repeated."""
        return self.gets.pop(0) if len(self.gets) > 1 else self.gets[0]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as `script` says: each call, and the handshake if `opening`; admits every client."""

    protocol_version = "HTTP/1.1"
    script: Script
    waiting: dict[str, Any]

    def do_POST(self) -> None:
        """Answer one message, and note its time: 202 to a notification, else a stream or a result.

        A tool call gets the script's stream, as does `initialize` if the script is `opening`.
        """
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.script.at.append(time.monotonic())
        if "id" not in message:
            self._whole(b"", 202)
            return
        type(self).waiting = message
        method = message["method"]
        if method == "tools/call" or (self.script.opening and method == "initialize"):
            self._stream(self.script.post)
            return
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": WELCOME}
        self._whole(json.dumps(answer).encode())

    def do_GET(self) -> None:
        """Note the headers and the time of a GET; answer with the script's next stream.

        If the script's status is not 200, answer with that and an empty body.
        """
        self.script.asked.append(dict(self.headers.items()))
        self.script.at.append(time.monotonic())
        if self.script.status == 200:
            self._stream(self.script.turn())
        else:
            self._whole(b"", self.script.status)

    def do_DELETE(self) -> None:
        """Answer the DELETE of a session with an empty 200."""
        self._whole(b"")

    def _whole(self, body: bytes, status: int = 200) -> None:
        """Send a JSON response of that body, with its length and the session's id."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Mcp-Session-Id", GIVEN)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, text: str) -> None:
        """Send the text as an event stream, with ANSWER replaced by the waiting request's answer.

        If the script is abrupt, close the connection without the last chunk.
        """
        result = WELCOME if self.waiting["method"] == "initialize" else {"content": []}
        answer = {"jsonrpc": "2.0", "id": self.waiting["id"], "result": result}
        body = text.replace("ANSWER", json.dumps(answer)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Mcp-Session-Id", GIVEN)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(body), body) if body else b"")
        if self.script.abrupt:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Discard the line that the server would print."""


@pytest.fixture
def serve() -> Iterator[Callable[[Script], str]]:
    """Yield a function that starts a server that follows a Script, and returns its URL.

    All servers end with the test.
    """
    servers = []

    def start(script: Script) -> str:
        """Start a server that follows this script, in a thread, and return its URL."""
        handler = type("Scripted", (Handler,), {"script": script, "waiting": {}})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/mcp"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def client(url: str, timeout: float = 5.0) -> Client:
    """Return an unopened client of the handshake wire; the timeout is in seconds."""
    return Client(url, transcript=Transcript(), timeout=timeout, wire="handshake")


PRIMED = event(place="p/1")
ANSWERED = event("ANSWER", "p/9")


@pytest.mark.parametrize(
    ("gets", "asked_from", "abrupt"),
    [
        ([ANSWERED], ["p/1"], False),
        ([ANSWERED], ["p/1"], True),
        ([event(place="p/2"), ANSWERED], ["p/1", "p/2"], True),
        (
            [event('{"jsonrpc":"2.0","method":"notifications/x"}', "p/2"), ANSWERED],
            ["p/1", "p/2"],
            False,
        ),
        (["", ANSWERED], ["p/1", "p/1"], False),
    ],
)
def test_a_closed_stream_is_taken_up_where_it_ended(
    gets: list[str], asked_from: list[str], abrupt: bool, serve: Callable[[Script], str]
) -> None:
    """After its stream closes without the answer, the client asks on by GET until the answer comes.

    Each GET has the last event id received, the session's id, and accepts event streams only.
    """
    script = Script(PRIMED, list(gets), abrupt=abrupt)

    with client(serve(script)) as talk:
        reply = talk.call_tool("any")

    assert reply.value() == {"content": []}
    assert [request_headers["Last-Event-ID"] for request_headers in script.asked] == asked_from
    assert {request_headers["Mcp-Session-Id"] for request_headers in script.asked} == {GIVEN}
    assert {request_headers["Accept"] for request_headers in script.asked} == {"text/event-stream"}


def test_the_handshake_may_be_closed_too(serve: Callable[[Script], str]) -> None:
    """A handshake whose stream closes is resumed, with the session id of its first response."""
    script = Script(PRIMED, [ANSWERED], opening=True)

    with client(serve(script)) as talk:
        talk.open()
        session = talk.session

    assert session == GIVEN
    assert script.asked[0]["Mcp-Session-Id"] == GIVEN


def test_it_is_waited_for_as_long_as_the_target_says(serve: Callable[[Script], str]) -> None:
    """A stream with `retry: 400` is resumed 400 ms later or more."""
    script = Script(event(place="p/1", more="retry: 400\n"), [ANSWERED])

    with client(serve(script)) as talk:
        talk.call_tool("any")

    assert script.at[-1] - script.at[-2] >= 0.4


@pytest.mark.parametrize("more", ["", "retry: 60000\n"])
def test_what_never_comes_is_not_waited_for_longer(
    more: str, serve: Callable[[Script], str]
) -> None:
    """If the answer never comes, a call raises Unreachable at its 1 s, after less than ten GETs."""
    script = Script(event(place="p/1", more=more), [PRIMED])

    with client(serve(script), timeout=1.0) as talk, pytest.raises(Unreachable, match="in time"):
        talk.call_tool("any")

    assert len(script.asked) < 10


@pytest.mark.parametrize("status", [405, 404, 500])
def test_who_does_not_go_on_has_not_answered(status: int, serve: Callable[[Script], str]) -> None:
    """A GET answered with 405, 404 or 500 raises ProtocolFault: the event's id, the status."""
    script = Script(PRIMED, [""], status=status)

    with client(serve(script)) as talk, pytest.raises(ProtocolFault) as fault:
        talk.call_tool("any")

    assert str(fault.value).startswith(
        f'expected the stream to go on after its event "p/1", but the target sent HTTP {status}'
    )


@pytest.mark.parametrize("place", ["caf\u00e9 \U0001f600", "a b"])
def test_an_id_of_any_letters_is_given_back(place: str, serve: Callable[[Script], str]) -> None:
    """An event id with spaces or other letters is sent back with the same UTF-8 bytes."""
    script = Script(event(place=place), [ANSWERED])

    with client(serve(script)) as talk:
        talk.call_tool("any")

    last_id = script.asked[0]["Last-Event-ID"]
    assert last_id.encode("latin-1").decode("utf-8") == place


NO_PLACE = [event(), event() + ": remark\n\n", "", event(place="a\x1bb"), event(place="a\x00b")]


@pytest.mark.parametrize("post", NO_PLACE)
def test_a_stream_without_ids_cannot_be_taken_up(post: str, serve: Callable[[Script], str]) -> None:
    """A stream that closes without an event id, or with one of control characters, is not resumed.

    The call raises ProtocolFault, and no GET is sent.
    """
    script = Script(post, [ANSWERED])

    with client(serve(script)) as talk, pytest.raises(ProtocolFault, match="ended without it"):
        talk.call_tool("any")

    assert script.asked == []


class Stored(EventStore):
    """Store of the official SDK that keeps all events, in order."""

    def __init__(self) -> None:
        """Begin without events."""
        self.kept: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep the event and return its number, from 1, as its id."""
        self.kept.append((stream_id, message))
        return str(len(self.kept))

    async def replay_events_after(
        self, last_event_id: str, send_callback: Callable[[EventMessage], Awaitable[None]]
    ) -> str | None:
        """Send all later events of that event's stream, without empty ones.

        Return the stream's id.
        """
        after = int(last_event_id)
        stream = self.kept[after - 1][0]
        for number, (of, message) in enumerate(self.kept[after:], start=after + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def test_the_official_server_may_close_its_stream() -> None:
    """A tool of the Python SDK closes its stream and works on for 0.3 s; its answer is received."""
    made = MCPServer("slow")

    @made.tool()
    async def slow(context: Context) -> str:
        """Close the request's stream, wait 0.3 s, and answer `done`."""
        await context.close_sse_stream()
        await asyncio.sleep(0.3)
        return "done"

    app = made.streamable_http_app(event_store=Stored(), retry_interval=50)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        while not server.started:
            time.sleep(0.01)
        with client(url) as talk:
            reply = talk.call_tool("slow")
        server.should_exit = True
        thread.join(10)

    assert reply.text == "done"
