"""What a report says of a message, and of a started stage, as plain values."""

from __future__ import annotations

import msgspec

from mcp_proxy_conformance.wire.transcript import Direction, Edge, Headers, Message

BODY_MOST = 20_000


class Cited(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a result rests on, its credentials not yet taken out.

    `at` is in seconds since its transcript began, `cut` how many bytes of its body are not told.
    """

    edge: Edge
    direction: Direction
    at: float
    peer: str
    note: str
    headers: Headers
    body: str
    cut: int


class StageTold(msgspec.Struct, frozen=True, kw_only=True):
    """A started stage: `place` names it alone, `name` all of its kind.

    `armed` is what arming proved, `seconds` how long it took; `credentials` are the headers by
    which the target lets somebody in.
    """

    place: str
    name: str
    stage: str
    armed: dict[str, list[str] | dict[str, str]]
    seconds: float
    credentials: tuple[dict[str, str], ...] = ()


def cited(message: Message) -> Cited:
    """The message as a report cites it."""
    raw = message.raw
    return Cited(
        edge=message.edge,
        direction=message.direction,
        at=message.at,
        peer=message.peer,
        note=message.note,
        headers=message.headers,
        body=raw[:BODY_MOST].decode("utf-8", "backslashreplace"),
        cut=max(0, len(raw) - BODY_MOST),
    )
