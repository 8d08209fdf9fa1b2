"""Messages and started stages as a report cites them, as plain values."""

from __future__ import annotations

from typing import Literal

import msgspec

Edge = Literal["client", "upstream"]
Direction = Literal["sent", "received"]
Headers = tuple[tuple[str, str], ...]


class CitedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a result rests on, its credentials not yet redacted.

    `at` is in seconds since its transcript began, `cut` the number of bytes left out of its body.
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
    """Outcome of arming a stage: the tools called and refused, and the locks that were not laid.

    `skipped` are combinations that the operator side legally refused, `unproven` locks whose effect
    was not observed; each with the reason.
    """

    called: list[str]
    refused: list[str]
    skipped: dict[str, str]
    unproven: dict[str, str]


class StageTold(msgspec.Struct, frozen=True, kw_only=True):
    """A started stage: `place` names it alone, `name` all of its kind.

    `seconds` is how long arming took; `credentials` are headers that grant access to the target.
    """

    place: str
    name: str
    stage: str
    armed: ArmedTold
    seconds: float
    credentials: tuple[dict[str, str], ...] = ()
