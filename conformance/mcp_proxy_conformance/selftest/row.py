"""One row of the kill matrix: a changed target, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["fault", "wire", "variant", "control", "target", "order"]
Cell = Literal[
    "killed", "killed for another reason", "survived", "acquitted", "accused", "behaved",
    "misbehaved", "broken", "unread", "unseeable", "violated", "incomplete", "needs --soak",
    "needs --baseline",
]  # fmt: skip
NEEDS: Mapping[str, Cell] = {"soak": "needs --soak", "baseline": "needs --baseline"}
"""The cells of what is only looked at when an option of `run` asks for it."""
GOOD = frozenset(
    {"killed", "unread", "acquitted", "behaved", "unseeable", "violated", "incomplete"}
    | set(NEEDS.values())
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One changed target: what it came to, by which checks, and what it was to come to.

    A target of kind `target` is the user's own, unchanged: what it violates is no fault of ours.
    """

    id: str
    kind: Kind
    text: str
    clauses: tuple[str, ...]
    cell: Cell
    by: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the suite behaved."""
        return self.cell in GOOD
