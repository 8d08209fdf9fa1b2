"""Where each member of a JSON document lies, to the byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_proxy_conformance.wire.tree import Malformed, Member, Node, Span, decode_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MAX_DEPTH", "Malformed", "Member", "Node", "Span", "cut", "decode_string", "member"]
__all__ += ["inside", "parse", "replace"]

MAX_DEPTH = 400
"""Containers inside containers; below the interpreter's own limit wherever the stack stands."""

MAX_DIGITS = 4_000
"""Characters of one number; below the interpreter's own limit on digits."""

_PLAIN = rb'[^"\\\x00-\x1f]*+'
_LITERAL = rb'("' + _PLAIN + rb'(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})' + _PLAIN + rb')*+")'
_VALUE = re.compile(
    rb"[ \t\n\r]*(?:"
    + _LITERAL
    + rb"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|(true|false)|(null)|(\{)|(\[))"
)
_KINDS = ("", "string", "number", "boolean", "null", "object", "array")
_STRING, _NUMBER, _OBJECT = 1, 2, 5
_KEY = re.compile(rb"[ \t\n\r]*" + _LITERAL + rb"[ \t\n\r]*:")
_NEXT = re.compile(rb"[ \t\n\r]*([,\]}])")
_SPACE = re.compile(rb"[ \t\n\r]*")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_CLOSER = {"object": b"}", "array": b"]"}


class _Open(NamedTuple):
    kind: str
    start: int
    items: list[Node]
    members: list[Member]
    key: list[tuple[str, Span]]

    def take(self, node: Node, *, kept: bool) -> None:
        if self.kind == "object":
            name = self.key.pop()
            if kept:
                self.members.append(Member(*name, node))
        elif kept:
            self.items.append(node)


def _document(raw: bytes, at: int, end: int, keep: int) -> Node:
    """One pass over the bytes with an own stack, so that no depth can end the interpreter.

    Values inside of more than `keep` containers are read and not kept.
    """
    surrogates = _SURROGATE.search(raw, at, end) is not None
    opened: list[_Open] = []
    while True:
        if (found := _VALUE.match(raw, at)) is None:
            raise Malformed("a value was expected", _skipped(raw, at))
        group = found.lastindex or 0
        start, at = found.span(group)
        if group >= _OBJECT:
            if len(opened) == MAX_DEPTH:
                raise Malformed(f"nested more than {MAX_DEPTH} deep", start)
            top = _Open(_KINDS[group], start, [], [], [])
            opened.append(top)
            after = _NEXT.match(raw, at)
            if after is None or after[1] != _CLOSER[top.kind]:
                at = _named(raw, at, top)
                continue
            node = _closed(raw, opened.pop(), at := after.end())
        else:
            if group <= _NUMBER:
                _check(raw, Span(start, at), group, surrogates=surrogates)
            node = Node(_KINDS[group], start, at, raw)
        while opened:
            top = opened[-1]
            after = _NEXT.match(raw, at)
            if after is None or after[1] not in (b",", _CLOSER[top.kind]):
                closer = _CLOSER[top.kind].decode()
                raise Malformed(f"',' or '{closer}' was expected", _skipped(raw, at))
            top.take(node, kept=len(opened) <= keep)
            at = after.end()
            if after[1] == b",":
                at = _named(raw, at, top)
                break
            node = _closed(raw, opened.pop(), at)
        else:
            if (after_all := _skipped(raw, at)) != end:
                raise Malformed("something follows the end of the document", after_all)
            return node


def _check(raw: bytes, span: Span, group: int, *, surrogates: bool) -> None:
    """What the grammar alone does not tell of a string or a number."""
    if group == _STRING and surrogates:
        decode_string(raw[span.start : span.end], span.start)
    elif group == _NUMBER and span.end - span.start > MAX_DIGITS:
        raise Malformed(f"a number of more than {MAX_DIGITS} characters", span.start)


def _named(raw: bytes, at: int, top: _Open) -> int:
    """Read the name of an object's next member; where its value begins."""
    if top.kind != "object":
        return at
    if (found := _KEY.match(raw, at)) is None:
        raise Malformed("a member's name and ':' were expected", _skipped(raw, at))
    span = Span(*found.span(1))
    name = found[1][1:-1]
    plain = name.isascii() and b"\\" not in name
    top.key.append((name.decode() if plain else decode_string(found[1], span.start), span))
    return found.end()


def _closed(raw: bytes, top: _Open, end: int) -> Node:
    return Node(top.kind, top.start, end, raw, tuple(top.items), tuple(top.members))


def _skipped(raw: bytes, at: int) -> int:
    found = _SPACE.match(raw, at)
    return found.end() if found else at


def parse(raw: bytes, keep: int = MAX_DEPTH) -> Node:
    """The document as a tree of spans, with so many levels of it; `inside` tells the rest.

    Raises:
        Malformed: Not one JSON document in plain UTF-8 (RFC 8259), nested too deep, or a string
            that no UTF-8 can carry (a lone surrogate).
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        raise Malformed("a byte order mark stands before the document", 0)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("not UTF-8", error.start) from None
    return _document(raw, 0, len(raw), keep)


def inside(node: Node) -> Node:
    """A value that was read before, with all that it holds."""
    return _document(node.source, node.start, node.end, MAX_DEPTH)


def member(raw: bytes, path: Sequence[str | int]) -> Span | None:
    """Where the value at `path` lies; nothing if there is none. `parse` says what it raises."""
    node = parse(raw).at(path)
    return None if node is None else node.span


def cut(raw: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The bytes outside `spans`, which may overlap and come in any order."""
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(raw[at : max(start, at)])
        at = max(at, end)
    return b"".join([*kept, raw[at:]])


def replace(raw: bytes, span: tuple[int, int], by: bytes) -> bytes:
    """The bytes with one span replaced."""
    return raw[: span[0]] + by + raw[span[1] :]
