"""The HTTP client on raw servers: streams, nonsense, lost sessions, drips, closed connections."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proxy_conformance.wire import Client, ProtocolFault, SessionLost, Unreachable
from mcp_proxy_conformance.wire.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answers = Callable[[dict[str, Any]], list[bytes | float | None]]
    Serve = Callable[[Answers], "RawServer"]


def http(body: bytes, *, status: str = "200 OK", kind: str = "application/json") -> bytes:
    """Return an HTTP response with Content-Length, as bytes; `kind` is its media type."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def chunked(*events: bytes, end: bool = True) -> bytes:
    """Return an HTTP response that is an event stream, one chunk per event.

    Without `end` the last chunk is missing, so that the stream stays open.
    """
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events)
    return head + chunks + (b"0\r\n\r\n" if end else b"")


def result(message: dict[str, Any], members: bytes = b'"content":[]') -> bytes:
    """Return a JSON-RPC answer to the message; its result has these encoded members.

    A message without an id counts as 0; by default the content is empty.
    """
    return b'{"jsonrpc":"2.0","id":%d,"result":{%b}}' % (message.get("id", 0), members)


class RawServer:
    """Answers each POST with the parts that `answers(message)` returns, in order.

    Bytes are sent, a float is a pause in seconds, and None closes the connection.
    """

    def __init__(self, answers: Answers) -> None:
        """Listen on a free loopback port, and accept connections in a thread."""
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/mcp"
        self.connections = 0
        self.methods: list[str] = []
        self._live: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        """Serve each connection in a thread, and count it, until the listener is closed."""
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._live.append(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        """Answer the requests of one connection until it ends; errors of the socket are ignored."""
        try:
            with sock, sock.makefile("rb") as reader:
                while self._one(sock, reader):
                    pass
        except (OSError, ValueError):
            pass  # the client hung up, or the test is over

    def _one(self, sock: socket.socket, reader: Any) -> bool:
        """Answer one request and record its JSON-RPC method, or its HTTP method.

        Return whether the connection goes on: not after its end, nor after a None among the parts.
        """
        length, method = 0, reader.readline().split(b" ")[0]
        while (line := reader.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        if not method:
            return False
        message = json.loads(reader.read(length) or b"{}")
        self.methods.append(message.get("method", method.decode()))
        for part in self._parts(message):
            if part is None:
                return False
            if isinstance(part, float):
                time.sleep(part)
            else:
                sock.sendall(part)
        return True

    def _parts(self, message: dict[str, Any]) -> list[bytes | float | None]:
        """Return the parts to send: an accepted handshake with session s1, else those of `answers`.

        A body without a method gets an empty 200, as does DELETE.
        """
        match message.get("method"):
            case "initialize":
                body = result(message, b'"protocolVersion":"2025-06-18"')
                head, _, rest = http(body).partition(b"\r\n\r\n")
                return [head + b"\r\nMcp-Session-Id: s1\r\n\r\n" + rest]
            case "notifications/initialized":
                return [http(b"", status="202 Accepted")]
            case None:
                return [http(b"")]
        return self._answers(message)

    def close(self) -> None:
        """Stop listening and close every connection."""
        self._listener.close()
        for sock in self._live:
            sock.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Yield a function that starts a RawServer; all servers end with the test.

    It takes a function from a message to the parts sent for it: bytes are sent as they are, a float
    is a pause in seconds, None closes the connection. Handshakes are answered without it.
    """
    servers: list[RawServer] = []

    def start(answers: Answers) -> RawServer:
        """Start a RawServer with this function and return it."""
        servers.append(RawServer(answers))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def dripping(part: bytes) -> list[bytes | float | None]:
    """Return the part sixty times, each followed by a pause of 0.05 s: three seconds in all."""
    return [part, 0.05] * 60


NOTE = b'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}\n\n'


def _event(message: dict[str, Any]) -> bytes:
    """Return one event of a stream: the JSON-RPC answer to that message, with empty content."""
    return b"event: message\ndata: " + result(message) + b"\n\n"


def test_the_answer_is_found_in_a_stream(serve: Serve) -> None:
    """The answer is taken from an event stream; a notification before it is kept in `before`.

    Three requests go over one connection; closing sends a DELETE.
    """
    server = serve(lambda m: [chunked(NOTE, _event(m))])
    with Client(server.url, transcript=Transcript()) as client:
        replies = [client.request("tools/call") for _ in range(3)]

    assert [reply.result for reply in replies] == [b'{"content":[]}'] * 3
    assert [e.method for e in replies[0].before] == ["notifications/prompts/list_changed"]
    assert replies[0].received.raw == NOTE + b"event: message\ndata: " + replies[0].raw + b"\n\n"
    assert client.wire == "unopened"
    assert server.connections == 1
    assert server.methods[-1] == "DELETE"


@pytest.mark.parametrize("first", [b"id: 1\ndata: \n\n", b"event: ping\ndata: 12:30\n\n"])
def test_an_event_that_is_no_message_is_passed_over(serve: Serve, first: bytes) -> None:
    """An event with empty data, or of another type, before the answer is skipped.

    The notification after it is kept in `before`.
    """
    server = serve(lambda m: [chunked(first, NOTE, b"event:\ndata: " + result(m) + b"\n\n")])
    with Client(server.url, transcript=Transcript()) as client:
        reply = client.request("tools/call")

    assert (reply.result, len(reply.before)) == (b'{"content":[]}', 1)


def test_a_stream_that_stays_open_does_not_delay_its_answer(serve: Serve) -> None:
    """The answer in a stream that stays open for 2 s is returned within 0.5 s."""
    server = serve(lambda m: [chunked(_event(m), end=False), 2.0])
    with Client(server.url, transcript=Transcript()) as client:
        client.open()
        began = time.monotonic()
        reply = client.request("tools/call")

    assert reply.seconds < 0.5
    assert time.monotonic() - began < 1.0


NONSENSE: list[tuple[str, Answers]] = [
    ("http", lambda _: [http(b"<html>", status="502 Bad Gateway", kind="text/html")]),
    ("http", lambda _: [http(b"<html>", kind="text/html")]),
    ("http", lambda _: [http(b"", status="202 Accepted")]),
    ("http", lambda _: [http(b"", status="307 Away")]),
    ("http", lambda _: [http(b"{}", status="401 No")]),
    ("http", lambda _: [b"SSH-2.0-OpenSSH\r\n", None]),
    ("http", lambda _: [http(b"{}" + b" " * 97)[:-90], None]),
    ("http", lambda _: [chunked(b"data: x", end=False), None]),
    ("http", lambda m: [http(result(m)).replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n")]),
    ("json", lambda _: [http(b"")]),
    ("json", lambda m: [http(result(m)[:-1])]),
    ("json", lambda m: [http(b"\xef\xbb\xbf" + result(m))]),
    ("json", lambda m: [http(result(m, b'"a":NaN'))]),
    ("json", lambda m: [http(result(m, b'"a":' + b"[" * 5000 + b"]" * 5000))]),
    ("json", lambda _: [chunked(b"data: nonsense\n\n")]),
    ("envelope", lambda _: [http(b"{}")]),
    ("envelope", lambda _: [http(b"[]")]),
    ("id", lambda _: [http(result({"id": 0}))]),
    ("id", lambda _: [http(b'{"jsonrpc":"2.0","id":"1","result":{}}')]),
    ("id", lambda _: [http(b'{"jsonrpc":"2.0","id":null,"result":{}}')]),
    ("id", lambda m: [http(json.dumps(m).encode())]),
    ("id", lambda _: [chunked(_event({"id": 0}), end=False), 2.0]),
    ("stream", lambda _: [chunked(NOTE)]),
    ("stream", lambda m: [chunked(NOTE, _event(m)[:-2])]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "answers"), NONSENSE)
def test_nonsense_is_the_target_s_fault(serve: Serve, kind: str, answers: Answers) -> None:
    """Each wrong answer raises ProtocolFault of kind `http`, `json`, `envelope`, `id` or `stream`.

    The request is in the transcript all the same.
    """
    transcript = Transcript()
    client = Client(serve(answers).url, transcript=transcript).open()
    mark = transcript.mark()

    with pytest.raises(ProtocolFault) as caught:
        client.request("tools/call", {})

    assert caught.value.kind == kind
    assert transcript.since(mark)[0].note == "POST /mcp tools/call"
    client.close()


@pytest.mark.parametrize(
    "body",
    [
        b"Invalid session ID",
        b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"?"}}',
    ],
)
def test_a_lost_session_is_named(serve: Serve, body: bytes) -> None:
    """In a session, HTTP 404 without an error for the request's own id raises SessionLost."""
    server = serve(lambda _: [http(body, status="404 Not Found")])
    with Client(server.url, transcript=Transcript()) as client, pytest.raises(SessionLost):
        client.request("tools/list")


def test_an_error_with_its_http_status_is_a_value(serve: Serve) -> None:
    """HTTP 400 whose JSON-RPC error has the id null is returned as a reply: status and error."""
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}}'
    server = serve(lambda _: [http(error, status="400 Bad Request")])
    with Client(server.url, transcript=Transcript()) as client:
        reply = client.request("tools/call")

    assert (reply.status, reply.error) == (400, {"code": -32600, "message": "?"})


DRIPS: list[tuple[str, Answers]] = [
    ("wait", lambda _: [5.0]),
    ("wait", lambda _: [b"HTTP/1.1 200 OK\r\n", *dripping(b"A: b\r\n")]),
    ("read", lambda _: [http(b" " * 99)[:-99], *dripping(b" ")]),
    ("read", lambda _: [chunked(end=False), *dripping(b"3\r\n:\n\n\r\n")]),
]


@pytest.mark.parametrize(("phase", "answers"), DRIPS)
def test_no_drip_outlives_the_deadline(serve: Serve, phase: str, answers: Answers) -> None:
    """A server that is silent, or drips bytes, makes a request raise Unreachable at its 0.3 s.

    The phase is `wait` before the end of the head, `read` in the body.
    """
    client = Client(serve(answers).url, transcript=Transcript()).open()
    began = time.monotonic()

    with pytest.raises(Unreachable, match="no answer in time") as caught:
        client.request("tools/call", timeout=0.3)

    assert caught.value.phase == phase
    assert 0.25 < caught.value.seconds < 1.0
    assert time.monotonic() - began < 1.0
    client.close()


def test_a_connection_that_idled_out_is_replaced_unseen(serve: Serve) -> None:
    """A server that closes each connection after its answer gets each of three calls just once."""
    server = serve(lambda m: [http(result(m)), None])
    with Client(server.url, transcript=Transcript()) as client:
        for _ in range(3):
            client.request("tools/call")

    assert server.methods.count("tools/call") == 3


def test_a_client_that_announces_the_end_of_its_connection_ends_it(serve: Serve) -> None:
    """With the header `Connection: close`, a client opens a new connection for each request."""
    server = serve(lambda m: [http(result(m))])
    closing = {"Connection": "close"}
    with Client(server.url, transcript=Transcript(), headers=closing) as client:
        for _ in range(2):
            client.request("tools/call")

        assert server.connections == len(server.methods)


def test_a_connection_closed_without_an_answer_is_tried_once_more(serve: Serve) -> None:
    """A call on a kept connection that closes without an answer is sent once more, no oftener.

    Then Unreachable is raised; the transcript has both requests.
    """
    server = serve(lambda _: [None])
    transcript = Transcript()
    client = Client(server.url, transcript=transcript).open()
    mark = transcript.mark()

    with pytest.raises(Unreachable, match="closed while waiting"):
        client.request("tools/call")

    assert len(transcript.since(mark)) == 2
    client.close()


@pytest.mark.parametrize(
    "members", [b'"tools":[],"nextCursor":"a"', b'"tools":[{}]', b'"tools":{}', b""]
)
def test_a_cursor_that_leads_in_a_circle_is_a_fault(serve: Serve, members: bytes) -> None:
    """`tools()` raises ProtocolFault if a cursor repeats, or the tools are missing or malformed."""
    server = serve(lambda m: [http(result(m, members))])
    with Client(server.url, transcript=Transcript()) as client, pytest.raises(ProtocolFault):
        client.tools()
