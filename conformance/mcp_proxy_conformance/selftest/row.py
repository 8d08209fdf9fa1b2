"""`MatrixRow` of a selftest: a target, mostly a changed one, and how the checks judged it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Source = Literal["laws", "cases", "checks"]
"""Kinds of checks: of scenarios, or of generated values; of cases in files; all others."""
Kind = Literal["fault", "wire", "variant", "control", "target", "order"]
Cell = Literal[
    "killed", "killed for another reason", "badly worded", "survived",
    "acquitted", "accused", "behaved", "misbehaved", "broken", "unread", "unseeable", "violated",
    "incomplete", "needs --soak", "needs --baseline",
]  # fmt: skip
NEEDS: Mapping[str, Cell] = {"soak": "needs --soak", "baseline": "needs --baseline"}
"""Cells of clauses that are judged only with an option of `run`."""
GOOD = frozenset(
    {"killed", "unread", "acquitted", "behaved", "unseeable", "violated", "incomplete"}
    | set(NEEDS.values())
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One changed target: its outcome (`cell`), the checks that decided it, and its clauses.

    `convicted` are the required clauses that failed, its own or others; `sources` the kinds of
    checks that killed a mutant. A target of kind `target` is the user's own, unchanged: what it
    violates is not our fault.
    """

    id: str
    kind: Kind
    text: str
    clauses: tuple[str, ...]
    cell: Cell
    by: tuple[str, ...] = ()
    convicted: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    reason: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the suite did what it must, as to kill a mutant: `cell` is in GOOD."""
        return self.cell in GOOD
