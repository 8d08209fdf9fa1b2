"""Exchanges of a check with its target, and which of them the place of a finding names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

Members = frozenset[tuple[str, str]]
MOST = 1000


def members_of(request: Iterable[tuple[str, Any]]) -> Members:
    """Return the members of a request as they are compared: texts as they are, others as JSON."""
    return frozenset(
        (name, value if isinstance(value, str) else json.dumps(value, default=str))
        for name, value in request
    )


class Named(str):  # noqa: SLOT000 - it has members
    """A part of a finding's place that names requests: words for a reader, and their members."""

    members: Members = frozenset()

    def __new__(cls, words: str, request: Iterable[tuple[str, Any]] = ()) -> Self:
        """Make the part from its words and the (name, value) members of the requests."""
        made = super().__new__(cls, words)
        made.members = members_of(request)
        return made


class View(Named):
    """A part of a place that names the view of a target; the usual view has no words."""


class Exactly(str):  # noqa: SLOT000 - it has a message
    """A part of a place, or a value, that names one exchange: words, and a message of it, by id."""

    message = ""

    def __new__(cls, words: str, message: str = "") -> Self:
        """Make the part from its words and the message."""
        made = super().__new__(cls, words)
        made.message = message
        return made


@dataclass(frozen=True, slots=True)
class Exchange:
    """The messages of one request and its answer, by id, in order, and the request's members."""

    messages: tuple[str, ...]
    members: Members

    def named_by(self, part: object) -> int:
        """Return by how many of its members a part of a place names this exchange; 0 if it doesn't.

        The value of a member names it by one, one of its own messages by more than any others.
        """
        if isinstance(part, Exactly):
            return MOST * (part.message in self.messages)
        if isinstance(part, Named):
            return len(part.members) * (part.members <= self.members)
        return int(str(part) != "" and any(value == str(part) for _, value in self.members))


def parts_of(place: object) -> Iterator[object]:
    """Yield the parts of a place, as the key of a compared mapping has it; a tuple is nested."""
    if isinstance(place, tuple) and not hasattr(place, "_fields"):
        for part in place:
            yield from parts_of(part)
    else:
        yield place


def exact_in(value: object) -> list[Exactly]:
    """Return the value, or the items of a list, if they name their exchanges."""
    items = value if isinstance(value, (list, tuple)) else (value,)
    return [item for item in items if isinstance(item, Exactly)]


def messages_at(
    place: object, exchanges: Sequence[Exchange], value: object = None
) -> tuple[str, ...]:
    """Return the messages of the exchange that a place names by most, of several the latest.

    If it names none, they are those of the latest of all; () without any exchange. A value that
    names its exchange, or the items of a list that do, are asked before the place.
    """
    if exact := exact_in(value):
        each = (messages_at(item, exchanges) for item in exact)
        return tuple(dict.fromkeys(message for messages in each for message in messages))
    parts = [*parts_of(place)]
    named = [sum(map(exchange.named_by, parts)) for exchange in exchanges]
    latest = max(range(len(named)), key=lambda at: (named[at], at), default=None)
    return () if latest is None else exchanges[latest].messages
