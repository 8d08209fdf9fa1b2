"""The nodes of a JSON document, each with its place in the bytes."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Malformed(ValueError):
    """The bytes are no JSON document that can be read in one way only.

    Attributes:
        reason: What is wrong, in a few words.
        offset: The byte at which it was seen.
    """

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"{reason}, at byte {offset}")
        self.reason = reason
        self.offset = offset


class Span(NamedTuple):
    """A half-open range of bytes."""

    start: int
    end: int


class Node(NamedTuple):
    """One value: its kind, where it lies in `source`, and what it holds.

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
        return f"Node({self.kind}, {self.start}, {self.end})"

    @property
    def span(self) -> Span:
        """Where the value lies."""
        return Span(self.start, self.end)

    @property
    def raw(self) -> bytes:
        """The exact bytes of the value."""
        return self.source[self.start : self.end]

    def value(self) -> Any:
        """The value as Python data; of members with one name the last wins."""
        return json.loads(self.raw.decode())

    def get(self, key: str | int) -> Node | None:
        """A member by name (the last of that name) or an item by index; nothing if absent."""
        if isinstance(key, int):
            return self.items[key] if -len(self.items) <= key < len(self.items) else None
        return next((m.value for m in reversed(self.members) if m.key == key), None)

    def at(self, path: Sequence[str | int]) -> Node | None:
        """The value at `path`; nothing if any step is absent."""
        node: Node | None = self
        for key in path:
            if node is None:
                return None
            node = node.get(key)
        return node

    def with_comma(self, name: str) -> tuple[Span, ...]:
        """Where each member of that name lies, with the one comma that goes if it goes."""
        found = []
        for place, own in enumerate(self.members):
            if own.key != name:
                continue
            if place + 1 < len(self.members):
                found.append(Span(own.key_span.start, self.members[place + 1].key_span.start))
            else:
                before = self.members[place - 1].value.end if place else own.key_span.start
                found.append(Span(before, own.value.end))
        return tuple(found)

    def duplicates(self) -> tuple[str, ...]:
        """Names that more than one member of this object bears, in order of appearance."""
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
    """The text of one JSON string literal, quotes included.

    Raises:
        Malformed: Not a string literal, or a text that no UTF-8 can carry.
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
