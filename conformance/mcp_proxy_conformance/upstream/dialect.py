"""The wire dialect: the lawful ways to put right answers on the wire, and the bytes of each."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from mcp_proxy_conformance.upstream.http import render_head
from mcp_proxy_conformance.upstream.script import LIST_CHANGED, Scripted
from mcp_proxy_conformance.wire.jsonrpc import dumps

Headers = tuple[tuple[str, str], ...]
JSON: Headers = (("Content-Type", "application/json"),)
EVENTS: Headers = (("Content-Type", "text/event-stream"),)
Framing = Literal[
    "json", "stream", "crlf", "cr", "several-data", "no-space", "no-event", "comments", "ids",
    "primed", "bom", "fields",
]  # fmt: skip
Body = Literal[
    "length", "chunks", "split", "extensions", "close", "last", "old", "stays", "segments",
]  # fmt: skip
Before = Literal["nothing", "log", "progress", "ping", "same-id", "changed", "awaited"]
AWAITED = ("7", 7, "", 0)
"""The ids of the requests whose answers are awaited before the answer to a client's request."""
OLDER = "2025-06-18"
OK = 200
LATE_S, DRIPS_S, SEGMENT_S = 0.2, 0.1, 0.001
"""Seconds before a late answer, from the first to the last drip, and between two segments."""
SLOW = 0.4
"""The share of the timeout after which a slow server answers each request."""
SEPARATORS = "one\x85two\u2028three\u2029four\x7f"
_PIECES, _LAST_CHUNK = 8, b"0\r\n\r\n"
_ANY_CASE = ("Content-Type", "Transfer-Encoding", "Connection")
_INTERIM = render_head(102, ()) + render_head(103, (("Link", "</style.css>; rel=preload"),))
_SENTENCE = "Adds numbers/sums: größer, больше, 更多, 😀. "
_SIZES = {"small": 0, "70kB": 70_000, "1.1MB": 1_100_000, "8MB": 8_000_000}
_NUMBERS = b"[1E2,-0.0,1.5e-7,12345678901234567890]"
_LINE_END = re.compile(rb"\r(?=\n)")
_STRING_OR_MARK = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{\[,:]')
_INSIDE, _BETWEEN = re.compile(rb"[\xc0-\xff]"), re.compile(rb"[\x00-\x7f\xc0-\xff]")


class Dialect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a healthy server puts its right answers on the wire; `table` explains each value.

    Over stdio, only `size`, `before`, `form`, `pace` and the line ends of `crlf` have a meaning.
    """

    framing: Framing = "json"
    body: Body = "length"
    head: Literal["plain", "charset", "case", "bare", "interim"] = "plain"
    size: Literal["small", "70kB", "1.1MB", "8MB"] = "small"
    session: Literal["id", "none", "signs", "long", "insists"] = "id"
    revision: Literal["asked", "older"] = "asked"
    get: Literal["refused", "open", "talks", "ends"] = "refused"
    delete: Literal["taken", "refused"] = "taken"
    demands: Literal["little", "all"] = "little"
    before: Before = "nothing"
    form: Literal["compact", "escapes", "separators", "spaces", "order", "extra", "numbers"] = (
        "compact"
    )
    pace: Literal["prompt", "drips", "late", "slow"] = "prompt"
    coding: Literal["identity", "gzip"] = "identity"

    def delay_s(self, timeout_s: float) -> float:
        """Return the seconds that an answer takes, where the client has a timeout."""
        paces = {"late": LATE_S, "drips": DRIPS_S, "slow": SLOW * timeout_s}
        return paces.get(self.pace, 0.0)

    @property
    def only(self) -> str:
        """The only revision that the server supports; empty if it knows all."""
        return OLDER if self.revision == "older" else ""

    @property
    def description(self) -> str:
        """The description of the server's first tool: long or non-ASCII if the dialect needs it."""
        return self._text(_SIZES[self.size])

    @property
    def instructions(self) -> str:
        """The instructions of the server; empty if the dialect does not need any."""
        return self._text(min(_SIZES[self.size], _SIZES["70kB"]))

    def _text(self, size: int) -> str:
        cuts = self.body in ("split", "segments") or self.pace == "drips"
        if self.form == "separators":
            return _text(size) + SEPARATORS
        return _text(size) if size or cuts or self.form == "escapes" else ""


PLAIN = Dialect()
"""The default of each dimension."""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a healthy server may do so, in a sentence, and the source of that sentence."""

    sentence: str
    source: str


@cache
def table() -> Mapping[str, Mapping[str, Row]]:
    """Return each dimension's values, the default first, with why they are lawful."""
    raw = Path(__file__).with_name("dialect.toml").read_bytes()
    return msgspec.toml.decode(raw, type=dict[str, dict[str, Row]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """The right answer to one request, its own headers, and what the request allows.

    Attributes:
        answer: The message.
        id: The request's id.
        headers: Headers of the answer besides those of its body.
        progress: The request's token for notifications of progress.
        accepts: The request's Accept-Encoding.
        is_latest: Whether the revision with a handshake is the latest one.
        lists: Whether it is the first list of tools of its session.
        is_line: Whether it is answered over stdio.
    """

    answer: Scripted
    id: int | str | None = None
    headers: Headers = ()
    progress: int | str | None = None
    accepts: str = ""
    is_latest: bool = False
    lists: bool = False
    is_line: bool = False

    @property
    def body(self) -> bytes:
        """The body of the right answer; `{}` if it has none, so that there is something to cut."""
        return self.answer.body or b"{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Worn:
    """The bytes of an answer, sent after `wait_s` with a pause after each piece.

    `end`: whether the connection is kept afterwards, closed, or left as it is; `awaits`: the ids of
    the requests in the first piece, whose answers must have come before the next one.
    """

    pieces: tuple[bytes, ...]
    pause_s: float = 0.0
    wait_s: float = 0.0
    end: Literal["keep", "fin", "silence"] = "keep"
    awaits: tuple[int | str, ...] = ()


def worn(right: Right, dialect: Dialect, before: Sequence[Before] | None = None) -> Worn:
    """Return a right answer in a dialect; `before` replaces what the dialect has before it.

    Messages before an answer are left out where the protocol does not allow them; over HTTP they
    make a stream of an answer in JSON. An answer without a body, or of another status than 200,
    has neither.
    """
    body, white = right.answer.body, b"\t " if right.is_line else b" \n\t"
    ahead = (dialect.before,) if before is None else before
    messages = [*_ahead(ahead, right), body] if body else []
    formed = [_formed(each, dialect.form, white) for each in messages]
    end = b"\r\n" if dialect.framing == "crlf" else b"\n"
    if right.is_line:
        head, sent = b"", b"".join(each + end for each in formed)
    else:
        head, sent = _response(right, formed, dialect)
    pieces, pause_s, awaits = [head + sent], 0.0, tuple[int | str, ...]()
    if dialect.before == "awaited" and before is None and len(messages) > 1:
        primed = dialect.framing == "primed" and right.is_latest
        ahead_of = (
            b"".join(each + end for each in formed[:-1])
            if right.is_line
            else _events(formed[:-1], dialect.framing, primed=primed)
        )
        pieces, awaits = [head + ahead_of, sent[len(ahead_of) :]], AWAITED
    elif dialect.pace == "drips":
        pieces, pause_s = _cut(head + sent, _PIECES, _INSIDE), DRIPS_S / _PIECES
    elif dialect.body == "segments" and not right.is_line:
        pieces = _cut(head, 2 * _PIECES, _INSIDE) + _cut(sent, 6 * _PIECES, _INSIDE)
        pause_s = SEGMENT_S
    return Worn(
        pieces=tuple(pieces),
        pause_s=pause_s,
        wait_s=LATE_S if dialect.pace == "late" else 0.0,
        end=_end(right, dialect, len(messages)),
        awaits=awaits,
    )


def _streams(right: Right, dialect: Dialect, count: int) -> bool:
    """Whether that many messages are sent as a stream of events."""
    return right.answer.status == OK and (count > 1 or (count > 0 and dialect.framing != "json"))


def _end(right: Right, dialect: Dialect, count: int) -> Literal["keep", "fin", "silence"]:
    if right.is_line or dialect.body not in ("close", "last", "old", "stays"):
        return "keep"
    if dialect.body != "stays":
        return "fin"
    return "silence" if _streams(right, dialect, count) else "keep"


def _response(right: Right, messages: Sequence[bytes], dialect: Dialect) -> tuple[bytes, bytes]:
    """Return head and body of a response over HTTP, after its transfer coding."""
    body, headers = b"", right.headers
    streams = _streams(right, dialect, len(messages))
    if streams:
        primed = dialect.framing == "primed" and right.is_latest
        body, headers = _events(messages, dialect.framing, primed=primed), (*EVENTS, *headers)
    elif messages:
        typed = any(name.lower() == "content-type" for name, _ in headers)
        body, headers = messages[-1], headers if typed else (*JSON, *headers)
    if dialect.coding == "gzip" and body and _allows_gzip(right.accepts):
        body = gzip.compress(body, 1, mtime=0)
        headers = (*headers, ("Content-Encoding", "gzip"))
    match dialect.body:
        case "stays" if streams:
            headers = (*headers, ("Transfer-Encoding", "chunked"))
            body = _chunked(body, dialect.body).removesuffix(_LAST_CHUNK)
        case "chunks" | "split" | "extensions":
            own = (("Trailer", "Server-Timing"),) if dialect.body == "extensions" else ()
            headers = (*headers, *own, ("Transfer-Encoding", "chunked"))
            body = _chunked(body, dialect.body)
        case "close" | "last":
            length = (("Content-Length", str(len(body))),) if dialect.body == "last" else ()
            headers = (*headers, *length, ("Connection", "close"))
        case _:
            headers = (*headers, ("Content-Length", str(len(body))))
    head = _head(right.answer.status, headers, dialect.head)
    return head.replace(b"HTTP/1.1", b"HTTP/1.0") if dialect.body == "old" else head, body


def _allows_gzip(accepts: str) -> bool:
    codings = [each.lower().partition(";") for each in accepts.split(",")]
    weights = {name.strip(): weight.partition("=")[2].strip() or "1" for name, _, weight in codings}
    return weights.get("gzip", weights.get("*", "0")).strip("0.") != ""


def _head(status: int, headers: Headers, style: str) -> bytes:
    if style == "charset":
        headers = tuple(
            (k, f'{v}; charset="UTF-8"' if k == "Content-Type" else v) for k, v in headers
        )
    elif style == "case":
        headers = tuple((k.swapcase(), v.title() if k in _ANY_CASE else v) for k, v in headers)
    head = render_head(status, headers)
    if style == "bare":
        head = re.sub(rb"^(HTTP/1.1 \d+ )[^\r]*", rb"\1", head).replace(b": ", b":")
        head = re.sub(rb"(?m)(?<=:)(.+)\r$", rb"\1 \r", head)
    return _INTERIM + head if style == "interim" else head


def _chunked(body: bytes, style: str) -> bytes:
    extension, trailer = b"", b""
    if style == "extensions":
        extension, trailer = b';note="a;b"', b"Server-Timing: total;dur=1\r\n"
    chunks = _cut(body, _PIECES, _INSIDE if style == "split" else _BETWEEN)
    size = b"%04X" if style == "extensions" else b"%x"
    parts = [size % len(each) + extension + b"\r\n" + each + b"\r\n" for each in chunks if each]
    return b"".join([*parts, b"0", extension, b"\r\n", trailer, b"\r\n"])


def _cut(data: bytes, count: int, where: re.Pattern[bytes]) -> list[bytes]:
    """Cut data into about `count` pieces, inside or between characters as far as it has any.

    Inside characters is also inside the first line ends that have two.
    """
    step = max(1, -(-len(data) // count))
    ends = islice(_LINE_END.finditer(data), count // 2 if where is _INSIDE else 0)
    borders = {0, *(end.end() for end in ends)}
    for at in range(step, len(data), step):
        near = where.search(data, at, at + step - 1)
        borders.add(at if near is None else near.start() + (where is _INSIDE))
    return [data[a:b] for a, b in pairwise([*sorted(borders), len(data)])]


def _events(messages: Iterable[bytes], framing: Framing, *, primed: bool) -> bytes:
    space = b"" if framing == "no-space" else b" "
    lines = [b"id: 0", b"data:", b""] if primed else []
    for number, message in enumerate(messages, 1):
        if framing == "comments":
            lines += [b": before", b"", b":"]
        if framing == "fields":
            lines += [b"note: of no meaning", b"lonely"]
        elif framing != "no-event":
            lines.append(b"event:" + space + b"message")
        if framing == "ids":
            lines += [b"id: %d" % number, b"retry: 1000"]
        data = _spaced(message, b"\n") if framing in ("several-data", "crlf") else message
        for line in data.split(b"\n"):
            lines.append(b"data:" + space + line)
            if framing == "comments":
                lines.append(b": inside")
        lines += [b"event: message", b""] if framing == "fields" else [b""]
    if framing == "cr":
        lines.append(b":")  # or else readers wait whether the last CR begins a CR LF
    end = {"crlf": b"\r\n", "cr": b"\r"}.get(framing, b"\n")
    return (b"\xef\xbb\xbf" if framing == "bom" else b"") + end.join([*lines, b""])


def _formed(raw: bytes, form: str, white: bytes) -> bytes:
    """Return a message in another form of JSON; `white` is white space between tokens."""
    match form:
        case "spaces":
            return _spaced(raw, white)
        case "escapes":
            return json.dumps(json.loads(raw), separators=(",", ":")).replace("/", "\\/").encode()
        case "order":
            return dumps(json.loads(raw, object_pairs_hook=lambda pairs: dict(reversed(pairs))))
        case "extra" | "numbers":
            return dumps(_with_meta(json.loads(raw), form)).replace(b'"$numbers"', _NUMBERS)
    return raw


def _with_meta(message: dict[str, Any], form: str) -> dict[str, Any]:
    if (result := message.get("result")) is not None:
        more: dict[str, Any] = {"_meta": {"example.com/numbers": "$numbers"}}
        if form == "extra":  # some differ from known ones by letter case alone
            more = {"_meta": {"example.com/note": [None]}, "x-unknown": {"deep": [True]},
                    "Name": "none", "NextCursor": "none", "Tools": []}  # fmt: skip
        for each in (result, *(result.get("tools", ()) if form == "extra" else ())):
            each.update(more)
    return message


def _spaced(raw: bytes, white: bytes) -> bytes:
    """Return JSON with white space after its opening brackets, commas and colons."""
    return _STRING_OR_MARK.sub(lambda m: m[0] if m[0][:1] == b'"' else m[0] + white, raw)


def _ahead(kinds: Iterable[Before], right: Right) -> Iterator[bytes]:
    """Yield, in order, the messages before an answer that the protocol allows there.

    Progress needs the request's token; the stateless revision has no others.
    """
    for kind in kinds if right.answer.status == OK else ():
        message: dict[str, Any] = {"jsonrpc": "2.0"}
        if kind == "progress" and right.progress is not None:
            params = {"progressToken": right.progress, "progress": 1, "total": 2}
            yield dumps({**message, "method": "notifications/progress", "params": params})
        elif right.answer.stateless:
            continue
        elif kind == "awaited":
            for each in AWAITED:
                yield dumps({**message, "id": each, "method": "ping"})
        elif kind == "log":
            logged = {"level": "info", "data": "starting"}
            yield dumps({**message, "method": "notifications/message", "params": logged})
        elif kind in ("ping", "same-id"):
            own = right.id if kind == "same-id" else f"server/{right.id}"
            yield dumps({**message, "id": own, "method": "ping"})
        elif kind == "changed" and right.lists:
            yield LIST_CHANGED


@cache
def _text(size: int) -> str:
    return _SENTENCE * (1 + size // len(_SENTENCE.encode()))
