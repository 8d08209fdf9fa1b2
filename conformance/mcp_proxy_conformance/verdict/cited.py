"""Types of what a report cites: messages, and started stages with the proof of their locks."""

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


class CitedLocks(msgspec.Struct, frozen=True, kw_only=True):
    """Result of proving a stage's locks: the tools called and refused, and the locks not proven.

    `skipped` are combinations that the operator side legally refused, `unproven` locks whose effect
    was not observed; each with the reason.
    """

    called: list[str]
    refused: list[str]
    skipped: dict[str, str]
    unproven: dict[str, str]


class CitedStage(msgspec.Struct, frozen=True, kw_only=True):
    """One started target of a stage: `place` is its own name, `name` is shared by all of its kind.

    `armed` says which of its locks were proven before any check, `seconds` how long that took;
    `credentials` are headers that grant access to the target.
    """

    place: str
    name: str
    stage: str
    armed: CitedLocks
    seconds: float
    credentials: tuple[dict[str, str], ...] = ()
