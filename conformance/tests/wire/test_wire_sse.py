"""The client over HTTP+SSE, on scripted servers: its endpoint, its answers, and bad streams."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mcp_proxy_conformance.wire import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.sse import SseClient
from mcp_proxy_conformance.wire.transcript import Transcript

OPENED = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old"}}
HERE = b"event: endpoint\ndata: messages?session=1\n\n"
PING = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'
ENDLESS, LATE = b"data: " + b"x" * (17 << 20), 0.3
Answer = Callable[[dict[str, Any]], list[bytes | None]]
"""The messages that follow a posted one on the stream; None ends the stream."""


def answered(asked: dict[str, Any]) -> list[bytes | None]:
    """Return the answer to a request, after a request of the server; nothing to a notification."""
    if "id" not in asked:
        return []
    result = OPENED if asked["method"] == "initialize" else {"method": asked["method"]}
    return [PING, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()]


@contextmanager
def serving(
    *, first: bytes = HERE, answer: Answer = answered, status: int = 202, kind: str = "event-stream"
) -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Serve HTTP+SSE on the loopback; give the URL and the (path, headers) of each POST.

    The stream begins with the bytes `first`; a POST is answered by `status`.
    """
    came, posts = queue.SimpleQueue[bytes | None](), list[tuple[str, dict[str, str]]]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(first)
            while (message := came.get()) is not None:
                self.wfile.write(b"data: " + message + b"\n\n")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            posts.append((self.path, dict(self.headers.items())))
            for message in answer(json.loads(body)):
                came.put(message)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/old/sse", posts
    finally:
        came.put(None)
        server.shutdown()
        server.server_close()


def client(url: str, timeout: float = 5, **headers: str) -> SseClient:
    """Return a client of that URL."""
    return SseClient(url, transcript=Transcript(), headers=headers, timeout=timeout)


def test_answers_come_on_the_stream_and_requests_go_to_its_endpoint() -> None:
    """A request is answered on the stream; what came before the answer stands beside it."""
    with serving() as (url, posts), client(url, Authorization="Bearer x") as talk:
        reply = talk.request("tools/list")

        assert (reply.value(), reply.status) == ({"method": "tools/list"}, 0)
        assert [each.raw for each in reply.before] == [PING]
        assert talk.wire == "handshake 2024-11-05 (sse)"
    assert {path for path, _ in posts} == {"/old/messages?session=1"}
    assert {headers["Authorization"] for _, headers in posts} == {"Bearer x"}
    assert posts[-1][1]["MCP-Protocol-Version"] == "2024-11-05"


def test_each_message_of_the_stream_is_recorded_as_it_comes() -> None:
    """The transcript has each message of a stream that goes on."""
    transcript = Transcript()
    with serving() as (url, _), SseClient(url, transcript=transcript) as talk:
        reply = talk.request("tools/list")

        assert reply.received in transcript.since(0)
        assert reply.received.raw == reply.raw


def test_a_late_answer_is_not_taken_for_another() -> None:
    """The answer to a request that was given up is skipped when it comes with the next one."""
    late: list[bytes | None] = []

    def answer(asked: dict[str, Any]) -> list[bytes | None]:
        """Keep the answer to a call until the next request."""
        given = late + answered(asked)
        late.clear()
        if asked["method"] == "tools/call":
            late.extend(given)
            return []
        return given

    with serving(answer=answer) as (url, _), client(url) as talk:
        with pytest.raises(Unreachable, match="no answer in time"):
            talk.request("tools/call", timeout=LATE)
        assert talk.request("tools/list").value() == {"method": "tools/list"}


def test_a_message_goes_out_as_it_is() -> None:
    """`exchange` sends bytes as they are, and returns the first message that is accepted."""
    body = b'{"jsonrpc":"2.0","id":"a","method":"ping"}'
    with serving() as (url, _), client(url) as talk:
        assert b'"id": "a"' in talk.exchange(body, lambda text: b'"result"' in text)


@pytest.mark.parametrize(
    ("served", "message"),
    [
        ({"first": b""}, "no event `endpoint` in time"),
        ({"first": b"event: endpoint\ndata: http://localhost:1/messages\n\n"}, "of the origin of"),
        ({"first": b"event: endpoint\ndata: http://[/\n\n"}, "of the origin of"),
        ({"kind": "plain"}, "expected an event stream, but the target sent HTTP 200, text/plain"),
        ({"status": 400}, "expected HTTP 202, but the target sent HTTP 400"),
        ({"answer": lambda _: [None]}, "the stream ended"),
        ({"answer": lambda _: [b"<html>"]}, "expected a JSON document"),
        ({"answer": lambda _: [b'{"jsonrpc":"2.0","id":0,"result":{}}']}, "an answer to request 0"),
        ({"answer": lambda _: []}, "no answer in time"),
        ({"first": HERE + ENDLESS}, "at most 16777216 bytes of an event"),
    ],
    ids=lambda value: None if isinstance(value, str) else next(iter(value)),
)
def test_a_bad_stream_is_one_sentence_in_time(served: dict[str, Any], message: str) -> None:
    """What HTTP+SSE does not allow is one fault, within the seconds of a request."""
    began = time.monotonic()
    with (
        serving(**served) as (url, _),
        client(url, timeout=1) as talk,
        pytest.raises((Unreachable, ProtocolFault), match=message),
    ):
        talk.request("tools/list")
    assert time.monotonic() - began < 4


def test_nothing_at_the_url_is_unreachable() -> None:
    """A refused connection raises Unreachable, at once."""
    with pytest.raises(Unreachable, match="the connection was refused"):
        client("http://127.0.0.1:9/sse").open()
