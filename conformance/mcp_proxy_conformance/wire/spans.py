"""Where each member of a JSON document lies, to the byte."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_proxy_conformance.wire.tree import Malformed, Member, Node, Span, decode_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MAX_DEPTH", "Malformed", "Member", "Node", "Span", "cut", "decode_string", "member"]
__all__ += ["parse", "replace"]

MAX_DEPTH = 400
"""Containers inside containers; below the interpreter's own limit wherever the stack stands."""

MAX_DIGITS = 4_000
"""Characters of one number; below the interpreter's own limit on digits."""

_PLAIN = rb'[^"\\\x00-\x1f]*'
_LITERAL = rb'("' + _PLAIN + rb'(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})' + _PLAIN + rb')*")'
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


class _Scanner:
    """One pass over the bytes with an own stack, so that no depth can end the interpreter."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.at = 0
        self.open: list[_Open] = []
        self.surrogates = _SURROGATE.search(raw) is not None

    def document(self) -> Node:
        node = self._value()
        while node is None or self.open:
            node = self._first() if node is None else self._after(node)
        end = self._skip()
        if end != len(self.raw):
            raise Malformed("something follows the end of the document", end)
        return node

    def _skip(self) -> int:
        found = _SPACE.match(self.raw, self.at)
        return found.end() if found else self.at

    def _value(self) -> Node | None:
        """A scalar, or nothing when a container was opened."""
        found = _VALUE.match(self.raw, self.at)
        if found is None:
            raise Malformed("a value was expected", self._skip())
        group = found.lastindex or 0
        start, end = found.span(group)
        self.at = end
        if group >= _OBJECT:
            if len(self.open) == MAX_DEPTH:
                raise Malformed(f"nested more than {MAX_DEPTH} deep", start)
            self.open.append(_Open(_KINDS[group], start, [], [], []))
            return None
        if group == _STRING and self.surrogates:
            decode_string(self.raw[start:end], start)
        elif group == _NUMBER and end - start > MAX_DIGITS:
            raise Malformed(f"a number of more than {MAX_DIGITS} characters", start)
        return Node(_KINDS[group], start, end, self.raw)

    def _first(self) -> Node | None:
        """What follows an opening bracket: its closing one, or the first value."""
        found = _NEXT.match(self.raw, self.at)
        if found and found[1] == _CLOSER[self.open[-1].kind]:
            return self._close(found.end())
        return self._named_value()

    def _after(self, node: Node) -> Node | None:
        """What follows a value inside a container: the next value, or the closing bracket."""
        top = self.open[-1]
        if top.kind == "object":
            key, span = top.key.pop()
            top.members.append(Member(key, span, node))
        else:
            top.items.append(node)
        found = _NEXT.match(self.raw, self.at)
        if found is None or (found[1] != b"," and found[1] != _CLOSER[top.kind]):
            closer = _CLOSER[top.kind].decode()
            raise Malformed(f"',' or '{closer}' was expected", self._skip())
        self.at = found.end()
        return self._named_value() if found[1] == b"," else self._close(found.end())

    def _named_value(self) -> Node | None:
        top = self.open[-1]
        if top.kind == "object":
            found = _KEY.match(self.raw, self.at)
            if found is None:
                raise Malformed("a member's name and ':' were expected", self._skip())
            span = Span(*found.span(1))
            top.key.append((decode_string(found[1], span.start), span))
            self.at = found.end()
        return self._value()

    def _close(self, end: int) -> Node:
        self.at = end
        top = self.open.pop()
        return Node(top.kind, top.start, end, self.raw, tuple(top.items), tuple(top.members))


def parse(raw: bytes) -> Node:
    """The document as a tree of spans.

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
    return _Scanner(raw).document()


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
