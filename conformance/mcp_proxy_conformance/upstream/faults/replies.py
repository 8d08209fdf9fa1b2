"""Replies of a fault server: each behaviour's bytes, delay and end of the connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from mcp_proxy_conformance.upstream.faults import behaviour as do
from mcp_proxy_conformance.upstream.http import render_response
from mcp_proxy_conformance.upstream.script import Scripted
from mcp_proxy_conformance.wire.jsonrpc import dumps

End = Literal["keep", "fin", "rst", "silence", "drip", "end"]
Headers = tuple[tuple[str, str], ...]
JSON: Headers = (("Content-Type", "application/json"),)
TEXT: Headers = (("Content-Type", "text/plain; charset=utf-8"),)
HTML: Headers = (("Content-Type", "text/html"),)
_ENDS: dict[type, End] = {do.Silence: "silence", do.Reset: "rst", do.Close: "fin"}
_WRONG: dict[type, tuple[bytes, Headers]] = {
    do.Html: (b"<!doctype html><title>Welcome</title><h1>It works</h1>", HTML),
    do.BrokenJson: (b'{"jsonrpc": "2.0", "result": {"tools": [', JSON),
    do.Empty: (b"", JSON),
}
_BLANKS = 1 << 16
_BLANK, _COMMENT = b"1\r\n \r\n", b"3\r\n:\n\n\r\n"
_STREAM = b"\r\n".join(
    [
        b"HTTP/1.1 200 OK",
        b"Content-Type: text/event-stream",
        b"Cache-Control: no-cache",
        b"Transfer-Encoding: chunked",
        b"\r\n",
    ]
)
_BARE_STREAM = _STREAM.replace(b"Transfer-Encoding: chunked", b"Connection: close")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """The bytes sent in answer to one request after `wait_s` seconds, and the connection's end.

    `crumb` is sent repeatedly by a drip.
    """

    data: bytes = b""
    end: End = "keep"
    crumb: bytes = b" "
    wait_s: float = 0.0
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """The right answer to one request: its message, the request's id, and its own headers.

    `progress` is the request's token for notifications of progress.
    """

    answer: Scripted
    id: int | str | None
    headers: Headers = ()
    progress: int | str | None = None

    @property
    def body(self) -> bytes:
        """The body of the right answer; `{}` if it has none, so that there is something to cut."""
        return self.answer.body or b"{}"

    def with_header(self, name: str, value: str) -> ScriptedReply:
        """Return the whole right answer with that header added, or in place of one of that name."""
        headers = tuple(header for header in self.headers if header[0] != name)
        return whole(self.answer.status, self.answer.body, (*headers, (name, value)))


def whole(status: int, body: bytes, headers: Headers = ()) -> ScriptedReply:
    """Return a complete response, after which the connection is kept; a body is JSON by default."""
    if body and not any(name.lower() == "content-type" for name, _ in headers):
        headers = (*JSON, *headers)
    return ScriptedReply(data=render_response(status, body, headers), status=status)


def reply(played: do.Behaviour, right: Right, *, token: str, location: str) -> ScriptedReply:
    """Return the reply that a behaviour makes of the right answer: its bytes, and what follows.

    Args:
        played: A behaviour of requests; one of connections is answered healthy.
        right: The right answer.
        token: The value of the server's cookies and session ids.
        location: The target of `Redirect`.
    """
    match played:
        case do.Slow(seconds=seconds):
            data = whole(right.answer.status, right.answer.body, right.headers).data
            return ScriptedReply(data=data, wait_s=seconds, status=right.answer.status)
        case do.Stream(after=after) if right.answer.body:
            messages = [*_ahead(after, right), right.answer.body]
            events = b"".join(b"event: message\ndata: " + each + b"\n\n" for each in messages)
            headers = (("Content-Type", "text/event-stream"), *right.headers)
            return whole(right.answer.status, events, headers)
        case do.Status(code=code, body=body, headers=own, by=by):
            headers = tuple(own.items())
            typed = any(name.lower() == "content-type" for name in own)
            sent = whole(code, body.encode(), headers if typed or not body else (*TEXT, *headers))
            return replace(sent, end=by or "keep")
        case do.Redirect(code=code):
            return whole(code, b"", (("Location", location),))
        case do.Silence() | do.Reset() | do.Close():
            return ScriptedReply(end=_ENDS[type(played)])
        case do.CutJson(by=by):
            half, blanks = (len(right.body) + 1) // 2, b" " * (_BLANKS if by == "drip" else 0)
            data = render_response(200, right.body + blanks, JSON)[: -half - len(blanks)]
            return ScriptedReply(data=data, end=by, status=200)
        case do.CutSse(where=where, by=by):
            event = b"event: message\ndata: " + right.body[: len(right.body) // 2]
            piece = event if by == "end" else b"%x\r\n%b\r\n" % (len(event), event)
            begun, crumb = (piece, _BLANK) if where == "inside" else (b"", _COMMENT)
            head = _BARE_STREAM if by == "end" else _STREAM
            return ScriptedReply(data=head + begun, end=by, crumb=crumb, status=200)
        case do.Html() | do.BrokenJson() | do.Empty():
            return whole(200, *_WRONG[type(played)])
        case do.JsonrpcError() | do.OtherResult():
            return whole(200, dumps({"jsonrpc": "2.0", "id": right.id, **played.members}))
        case do.SetCookie():
            return right.with_header("Set-Cookie", f"fault-server={token}; Path=/")
        case do.HandSession():
            return right.with_header("Mcp-Session-Id", token)
        case _:
            return whole(right.answer.status, right.answer.body, right.headers)


def _ahead(after: Iterable[do.Ahead], right: Right) -> Iterator[bytes]:
    """Yield, in order, the notifications before an answer that the protocol allows there.

    Progress needs the request's token; the stateless revision has no log messages unasked.
    """
    for kind in after:
        if kind == "progress" and right.progress is not None:
            params: dict[str, Any] = {"progressToken": right.progress, "progress": 1, "total": 2}
            yield dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        elif kind == "log" and not right.answer.stateless:
            params = {"level": "info", "data": "starting"}
            yield dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
