"""Outcome of a run: its headline, exit code and reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

CONFORMANT, VIOLATED, DECLARATION, BROKEN, INCOMPLETE, STALE = 0, 1, 2, 3, 4, 5
FAULT, INTERRUPTED = 70, 130
WORST_FIRST = (
    INTERRUPTED, FAULT, DECLARATION, VIOLATED, BROKEN, STALE, INCOMPLETE, CONFORMANT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run: its headline, its exit code, and the reason in one sentence."""

    headline: str
    exit: int
    why: str


def and_violated(outcome: Outcome, broken: Sequence[str]) -> Outcome:
    """Return the outcome; one of exit code 70 or 2 names the clauses that are broken beside."""
    if not broken or outcome.exit not in (FAULT, DECLARATION):
        return outcome
    why = f"{outcome.why}; broken: {', '.join(broken)}"
    return Outcome(f"{outcome.headline}, and violated", outcome.exit, why)


def broke(why: str) -> Outcome:
    """Return the outcome, of exit code 3, of a run whose target or adapter became unusable."""
    return Outcome("target or adapter broke", BROKEN, why)


GREEN = Outcome("conformant", CONFORMANT, "every clause passes or does not apply")
"""Outcome of a run in which every clause passes or does not apply."""
