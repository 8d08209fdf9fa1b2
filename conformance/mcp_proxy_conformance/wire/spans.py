"""Byte spans of every value in a JSON document: parsing, cutting, replacing."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Malformed(ValueError):
    """The bytes are not an unambiguous JSON document.

    Attributes:
        reason: The defect, in a few words.
        offset: The byte at which it was detected.
    """

    def __init__(self, reason: str, offset: int) -> None:
        """Keep reason and offset, and make the message of them."""
        super().__init__(f"{reason}, at byte {offset}")
        self.reason = reason
        self.offset = offset


class Span(NamedTuple):
    """A half-open range of byte offsets in a document."""

    start: int
    end: int


class Node(NamedTuple):
    """One value: its kind, its span in `source`, and its items or members.

    A named tuple, because a document has thousands of them. `kind` is one of `object`, `array`,
    `string`, `number`, `boolean`, `null`.
    """

    kind: str
    start: int
    end: int
    source: bytes
    items: tuple[Node, ...] = ()
    members: tuple[Member, ...] = ()

    def __repr__(self) -> str:
        """Leave the source out, which may be large."""
        return f"Node({self.kind}, {self.start}, {self.end})"

    @property
    def span(self) -> Span:
        """The span of the value."""
        return Span(self.start, self.end)

    @property
    def raw(self) -> bytes:
        """The exact bytes of the value."""
        return self.source[self.start : self.end]

    def value(self) -> Any:
        """Return the value as Python data; of members with the same name the last wins."""
        return json.loads(str(memoryview(self.source)[self.start : self.end], "utf-8"))

    def get(self, key: str | int) -> Node | None:
        """Return a member by name (the last of that name) or an item by index; None if absent."""
        if isinstance(key, int):
            return self.items[key] if -len(self.items) <= key < len(self.items) else None
        return next((m.value for m in reversed(self.members) if m.key == key), None)

    def at(self, path: Sequence[str | int]) -> Node | None:
        """Return the value at `path`, self for an empty one; None if any step is absent."""
        node: Node | None = self
        for key in path:
            if node is None:
                return None
            node = node.get(key)
        return node

    def with_comma(self, name: str) -> tuple[Span, ...]:
        """Return the span of each member of that name, with the comma to remove along with it.

        That is the comma after it or, for the last member, the one before.
        """
        spans = []
        for place, own in enumerate(self.members):
            if own.key != name:
                continue
            if place + 1 < len(self.members):
                spans.append(Span(own.key_span.start, self.members[place + 1].key_span.start))
            else:
                before = self.members[place - 1].value.end if place else own.key_span.start
                spans.append(Span(before, own.value.end))
        return tuple(spans)

    def duplicates(self) -> tuple[str, ...]:
        """Return the names that several members of this object share, each once, in order.

        Empty if there are none, or if it is not an object.
        """
        keys = [member.key for member in self.members]
        if len(set(keys)) == len(keys):
            return ()
        return tuple(key for key, n in Counter(keys).items() if n > 1)


class Member(NamedTuple):
    """One member of an object: its name decoded, the span of the name's literal, its value."""

    key: str
    key_span: Span
    value: Node


def decode_string(literal: bytes, offset: int = 0) -> str:
    """Return the text of one JSON string literal, quotes included; `offset` is for the error.

    Raises:
        Malformed: Not a string literal, or a text that UTF-8 cannot encode.
    """
    try:
        text = json.loads(literal)
    except (ValueError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise Malformed("a string was expected", offset)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise Malformed("a string with a lone surrogate", offset) from None
    return text


__all__ = ["MAX_DEPTH", "Malformed", "Member", "Node", "Span", "cut", "decode_string", "member"]
__all__ += ["inside", "parse", "replace"]

MAX_DEPTH = 400
"""The deepest nesting of containers; below the interpreter's own limit at any stack depth."""

MAX_DIGITS = 4_000
"""The most characters of one number; below the interpreter's own limit on digits."""

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
_SHALLOW = 3
"""Levels of containers that one pattern reads inside another, of which nothing is kept."""


@cache
def _rest() -> re.Pattern[bytes]:
    """Return the pattern of a container's rest after its opening bracket.

    It matches in linear time, and less than `_document` accepts: no deeper values than `_SHALLOW`
    levels, and no longer numbers than of 99 digits a part.
    """
    space = rb"[ \t\n\r]*+"
    literal = _LITERAL.replace(b'("', b'(?:"', 1)
    digits = rb"[0-9]{1,99}+"
    number = rb"-?+(?:0|[1-9][0-9]{0,98}+)(?:\." + digits + rb")?+(?:[eE][-+]?+" + digits + rb")?+"
    scalar = b"|".join((literal, number, rb"true|false|null"))
    value = scalar
    for _ in range(_SHALLOW + 1):
        each = space + rb"(?:" + value + rb")" + space
        name = space + literal + space + rb":"
        members = rb"(?:" + name + each + rb"(?:,(?!" + space + rb"\})|(?=\})))*+" + space
        items = rb"(?:" + each + rb"(?:,(?!" + space + rb"\])|(?=\])))*+" + space
        rest = rb"(?<=\{)" + members + rb"\}|(?<=\[)" + items + rb"\]"
        value = scalar + rb"|[{\[](?:" + rest + rb")"
    return re.compile(rest)


class _Open(NamedTuple):
    """An array or object whose end is not read yet; `key` is the name read last."""

    kind: str
    start: int
    items: list[Node]
    members: list[Member]
    key: list[tuple[str, Span]]

    def take(self, node: Node, *, kept: bool) -> None:
        """Add a value, under the name that was read last if this is an object.

        One that is not kept only uses up its name.
        """
        if self.kind == "object":
            name = self.key.pop()
            if kept:
                self.members.append(Member(*name, node))
        elif kept:
            self.items.append(node)


def _document(raw: bytes, at: int, end: int, keep: int) -> Node:
    """Parse raw[at:end] in one pass, with an explicit stack: no depth crashes the interpreter.

    Values nested in more than `keep` containers are parsed and not kept. Raises Malformed unless it
    is one JSON value, and for one with more than 400 levels.
    """
    surrogates = _SURROGATE.search(raw, at, end) is not None
    opened: list[_Open] = []
    while True:
        if (match := _VALUE.match(raw, at)) is None:
            raise Malformed("a value was expected", _skipped(raw, at))
        group = match.lastindex or 0
        start, at = match.span(group)
        if (
            group >= _OBJECT
            and keep <= len(opened) < MAX_DEPTH - _SHALLOW
            and not surrogates
            and (rest := _rest().match(raw, at))
        ):
            node = Node(_KINDS[group], start, at := rest.end(), raw)
        elif group >= _OBJECT:
            if len(opened) == MAX_DEPTH:
                raise Malformed(f"nested more than {MAX_DEPTH} levels deep", start)
            top = _Open(_KINDS[group], start, [], [], [])
            opened.append(top)
            after = _NEXT.match(raw, at)
            if after is None or after[1] != _CLOSER[top.kind]:
                at = _named(raw, at, top)
                continue
            node = _closed(raw, opened.pop(), at := after.end())
        else:
            _check(raw, Span(start, at), group, surrogates=surrogates)
            node = Node(_KINDS[group], start, at, raw)
        while opened:
            top = opened[-1]
            after = _NEXT.match(raw, at)
            if after is None or after[1] not in (b",", _CLOSER[top.kind]):
                raise Malformed(
                    f"a comma or the end of the {top.kind} was expected", _skipped(raw, at)
                )
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
    """Raise Malformed for a string with a lone surrogate, or a number of over 4000 characters.

    `group`, the token's group in the pattern of tokens, says whether it is a string or a number.
    Strings are looked at only if the document has escapes of surrogates.
    """
    if group == _STRING and surrogates:
        decode_string(raw[span.start : span.end], span.start)
    elif group == _NUMBER and span.end - span.start > MAX_DIGITS:
        raise Malformed(f"a number of more than {MAX_DIGITS} characters", span.start)


def _named(raw: bytes, at: int, top: _Open) -> int:
    """Read the next member's name, into `top`, if that is an object; return the start of the value.

    For an array return `at`. Malformed without a name and a colon.
    """
    if top.kind != "object":
        return at
    if (match := _KEY.match(raw, at)) is None:
        raise Malformed("a member's name and a colon were expected", _skipped(raw, at))
    span = Span(*match.span(1))
    name = match[1][1:-1]
    plain = name.isascii() and b"\\" not in name
    top.key.append((name.decode() if plain else decode_string(match[1], span.start), span))
    return match.end()


def _closed(raw: bytes, top: _Open, end: int) -> Node:
    """Return the node of a container that ends before the offset `end`."""
    return Node(top.kind, top.start, end, raw, tuple(top.items), tuple(top.members))


def _skipped(raw: bytes, at: int) -> int:
    """Return the offset of the first byte from `at` on that is not white space."""
    match = _SPACE.match(raw, at)
    return match.end() if match else at


def parse(raw: bytes, keep: int = MAX_DEPTH) -> Node:
    """Return the document as a tree of spans, `keep` levels deep; `inside` reads the rest.

    Raises:
        Malformed: Not one JSON document in plain UTF-8 (RFC 8259), nested more than 400 levels
            deep, a string that UTF-8 cannot encode (a lone surrogate), or a number of more than
            4000 characters.
    """
    if raw.startswith(b"\xef\xbb\xbf"):
        raise Malformed("a byte order mark before the document", 0)
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed("not UTF-8", error.start) from None
    return _document(raw, 0, len(raw), keep)


def inside(node: Node) -> Node:
    """Return a node's value parsed again with all of its levels, of which a first parse keeps few.

    Positions remain those in the whole document.
    """
    return _document(node.source, node.start, node.end, MAX_DEPTH)


def member(raw: bytes, path: Sequence[str | int]) -> Span | None:
    """Return the span of the value at `path`, None if absent; Malformed where `parse` raises it."""
    node = parse(raw).at(path)
    return None if node is None else node.span


def cut(raw: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """Return the bytes outside `spans`, which may overlap and come in any order."""
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(raw[at : max(start, at)])
        at = max(at, end)
    return b"".join([*kept, raw[at:]])


def replace(raw: bytes, span: tuple[int, int], by: bytes) -> bytes:
    """Return `raw` with the bytes of one span replaced by `by`."""
    return raw[: span[0]] + by + raw[span[1] :]
