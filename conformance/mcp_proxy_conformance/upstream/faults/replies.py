"""Replies of a fault server: each behaviour's bytes, delay and end of the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from mcp_proxy_conformance.upstream.dialect import (
    EVENTS,
    JSON,
    Dialect,
    Headers,
    Right,
    worn,
)
from mcp_proxy_conformance.upstream.faults import behaviour as do
from mcp_proxy_conformance.upstream.http import render_head, render_response
from mcp_proxy_conformance.upstream.script import Scripted
from mcp_proxy_conformance.wire.jsonrpc import dumps

End = Literal["keep", "fin", "rst", "silence", "drip", "end"]
TEXT: Headers = (("Content-Type", "text/plain; charset=utf-8"),)
HTML: Headers = (("Content-Type", "text/html"),)
_ENDS: dict[type, End] = {
    do.Silence: "silence", do.Reset: "rst", do.Refuses: "rst", do.Close: "fin", do.Exits: "fin",
}  # fmt: skip
_WRONG: dict[type, tuple[bytes, Headers]] = {
    do.Html: (b"<!doctype html><title>Welcome</title><h1>It works</h1>", HTML),
    do.BrokenJson: (b'{"jsonrpc": "2.0", "result": {"tools": [', JSON),
    do.Empty: (b"", JSON),
}
_GIVEN: dict[type, tuple[str, str]] = {
    do.SetCookie: ("Set-Cookie", "fault-server={}; Path=/"),
    do.HandSession: ("Mcp-Session-Id", "{}"),
}
_BLANKS = 1 << 16
_BLANK, _COMMENT = b"1\r\n \r\n", b"3\r\n:\n\n\r\n"
_STREAM = (*EVENTS, ("Cache-Control", "no-cache"))


class Answered:
    """The answers to a server's own requests that are waited for, by JSON type and id."""

    def __init__(self, ids: Iterable[int | str] = ()) -> None:
        """Wait for answers to these ids."""
        self._left = {(type(each), each) for each in ids}
        self._all = asyncio.Event()

    def take(self, answered: object) -> None:
        """Note that an id was answered."""
        self._left.discard((type(answered), answered))
        if not self._left:
            self._all.set()

    @property
    def is_whole(self) -> bool:
        """Whether all were answered."""
        return not self._left

    async def wait(self) -> None:
        """Wait until all were answered."""
        if self._left:
            await self._all.wait()


ALREADY = Answered()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    """The bytes sent in answer to one request, and the connection's end.

    `crumb` is sent repeatedly by a drip; `closes`: the port stops listening before it is sent;
    `answered` is waited for after the first piece; `fails`: it is not the right answer.
    """

    pieces: tuple[bytes, ...] = ()
    pause_s: float = 0.0
    wait_s: float = 0.0
    end: End = "keep"
    crumb: bytes = b" "
    closes: bool = False
    answered: Answered = ALREADY
    status: int | None = None
    fails: bool = False


def whole(status: int, body: bytes, headers: Headers = ()) -> ScriptedReply:
    """Return a complete response, after which the connection is kept; a body is JSON by default."""
    if body and not any(name.lower() == "content-type" for name, _ in headers):
        headers = (*JSON, *headers)
    return ScriptedReply(pieces=(render_response(status, body, headers),), status=status)


def well(
    right: Right, dialect: Dialect, before: tuple[do.Ahead, ...] | None = None
) -> ScriptedReply:
    """Return the right answer in a dialect; `before` replaces what the dialect has before it."""
    made, status = worn(right, dialect, before), right.answer.status
    return ScriptedReply(
        pieces=made.pieces, pause_s=made.pause_s, wait_s=made.wait_s,
        end=made.end, status=status,
        answered=Answered(made.awaits) if made.awaits else ALREADY,
    )  # fmt: skip


def reply(
    played: do.Behaviour, right: Right, dialect: Dialect, *, token: str, location: str
) -> ScriptedReply:
    """Return the reply that a behaviour makes of the right answer: its bytes, and what follows.

    Args:
        played: A behaviour of requests; one of connections is answered healthy.
        right: The right answer.
        dialect: How right answers are put on the wire.
        token: The value of the server's cookies and session ids.
        location: The target of `Redirect`.
    """
    match played:
        case do.Slow(seconds=seconds):
            made = well(right, dialect)
            return replace(made, wait_s=made.wait_s + seconds)
        case do.Stream(after=after):
            framing = "stream" if dialect.framing == "json" else dialect.framing
            return well(right, msgspec.structs.replace(dialect, framing=framing), after)
        case do.Status(code=code, body=body, headers=own, by=by):
            typed = any(name.lower() == "content-type" for name in own)
            headers = tuple(own.items()) if typed or not body else (*TEXT, *own.items())
            said = Scripted(method="", status=code, body=body.encode())
            head = "plain" if dialect.head == "charset" else dialect.head
            bodily = msgspec.structs.replace(dialect, form="compact", head=head)
            sent = well(replace(right, answer=said, headers=headers), bodily, ())
            return sent if by is None else replace(sent, end=by)
        case do.Redirect(code=code):
            return whole(code, b"", (("Location", location),))
        case do.Silence() | do.Reset() | do.Close() | do.Refuses() | do.Exits():
            goes_on = right.is_line and isinstance(played, do.Silence)
            return ScriptedReply(end="keep" if goes_on else _ENDS[type(played)])
        case do.Chatter():
            return _chatter(right)
        case do.CutJson():
            return _cut_json(right, played)
        case do.CutSse():
            return _cut_stream(right, played)
        case do.Html() | do.BrokenJson() | do.Empty():
            wrong, headers = _WRONG[type(played)]
            return _wrong(right, wrong, headers)
        case do.JsonrpcError() | do.OtherResult():
            return _wrong(right, dumps({"jsonrpc": "2.0", "id": right.id, **played.members}))
        case do.SetCookie() | do.HandSession():
            name, form = _GIVEN[type(played)]
            return _with_header(right, dialect, name, form.format(token))
        case _:
            return well(right, dialect)


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _cut_json(right: Right, played: do.CutJson) -> ScriptedReply:
    """Return a part of the right answer as JSON, or all of it but not of the body it is in."""
    if played.where == "end":
        data = render_head(200, (*JSON, ("Transfer-Encoding", "chunked"))) + _chunk(right.body)
        return ScriptedReply(pieces=(data,), end=played.by, status=200)
    if played.where == "short":
        data = render_response(200, right.body + b"\n", JSON)[:-1]
        return ScriptedReply(pieces=(data,), end=played.by, status=200)
    half, blanks = (len(right.body) + 1) // 2, b" " * (_BLANKS if played.by == "drip" else 0)
    begun = render_response(200, right.body + blanks, JSON)[: -half - len(blanks)]
    data = right.body[:-half] if right.is_line else begun
    return ScriptedReply(pieces=(data,), end=played.by, status=200)


def _cut_stream(right: Right, played: do.CutSse) -> ScriptedReply:
    """Return the head of a stream, and its first event without its end, or nothing of it."""
    whole, half = right.body + b"\n", right.body[: len(right.body) // 2]
    event = b"event: message\ndata: " + (whole if played.where == "end" else half)
    piece = event if played.by == "end" else _chunk(event)
    part, crumb = (b"", _COMMENT) if played.where == "before" else (piece, _BLANK)
    last = ("Connection", "close") if played.by == "end" else ("Transfer-Encoding", "chunked")
    data = render_head(200, (*_STREAM, last)) + part
    return ScriptedReply(pieces=(data,), end=played.by, crumb=crumb, status=200)


def _chatter(right: Right) -> ScriptedReply:
    """Return log messages without an end."""
    said = {"level": "info", "data": "still starting"}
    note = dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": said})
    if right.is_line:
        return ScriptedReply(pieces=(note + b"\n",), end="drip", crumb=note + b"\n")
    return _open_stream(b"event: message\ndata: " + note + b"\n\n", "drip")


def stream(kind: str) -> ScriptedReply:
    """Return an event stream that stays open, has a request (`talks`) or `ends` at once."""
    if kind == "ends":
        return whole(200, b"retry: 1000\n\n", _STREAM)
    ping = dumps({"jsonrpc": "2.0", "id": "get", "method": "ping"})
    event = b"event: message\ndata: " + ping + b"\n\n" if kind == "talks" else b": open\n\n"
    return _open_stream(event, "silence")


def _open_stream(event: bytes, end: End) -> ScriptedReply:
    """Return an open stream; a drip repeats its event."""
    chunk = _chunk(event)
    return ScriptedReply(
        pieces=(render_head(200, (*_STREAM, ("Transfer-Encoding", "chunked"))) + chunk,),
        end=end, crumb=chunk, status=200,
    )  # fmt: skip


def _wrong(right: Right, body: bytes, headers: Headers = ()) -> ScriptedReply:
    made = whole(200, body, headers)
    return replace(made, pieces=(body + b"\n",)) if right.is_line else made


def _with_header(right: Right, dialect: Dialect, name: str, value: str) -> ScriptedReply:
    headers = tuple(header for header in right.headers if header[0] != name)
    return well(replace(right, headers=(*headers, (name, value))), dialect)
