"""Controls of the selftest: targets whose run must end in a way known beforehand."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from mcp_proxy_conformance.selftest.trial import Verdicts
from mcp_proxy_conformance.targets.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A target whose verdict is known beforehand, which the checks of the suite must reach.

    `profile` judges it. `misses` gets the verdicts of a run on it, and returns how they are wrong;
    empty if right. `clauses`: run only the checks that cite one of these; None runs all.
    """

    id: str
    text: str
    target: Callable[[], Target]
    misses: Callable[[Verdicts], str]
    profile: str
    clauses: frozenset[str] | None = None


def unobserved(passed: Collection[str]) -> str:
    """Return a fault that names these wrongly passed clauses; empty if there are none."""
    return (
        f"clauses pass although nothing of them was observed: {', '.join(sorted(passed))}"
        if passed
        else ""
    )
