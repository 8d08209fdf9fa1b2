"""What a report says of a message, and of a started stage, as plain values."""

from __future__ import annotations

from typing import Literal

import msgspec

Edge = Literal["client", "upstream"]
Direction = Literal["sent", "received"]
Headers = tuple[tuple[str, str], ...]


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


class ArmedTold(msgspec.Struct, frozen=True, kw_only=True):
    """What arming proved of a stage: tools that were called and refused, locks that were not laid.

    `skipped` are combinations that the operator side legally refused, `unproven` locks whose effect
    was not seen; each with the reason.
    """

    called: list[str]
    refused: list[str]
    skipped: dict[str, str]
    unproven: dict[str, str]


class StageTold(msgspec.Struct, frozen=True, kw_only=True):
    """A started stage: `place` names it alone, `name` all of its kind.

    `seconds` is how long arming took; `credentials` are the headers by which the target lets
    somebody in.
    """

    place: str
    name: str
    stage: str
    armed: ArmedTold
    seconds: float
    credentials: tuple[dict[str, str], ...] = ()
