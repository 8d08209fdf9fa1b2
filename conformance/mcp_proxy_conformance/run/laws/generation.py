"""Values drawn by hypothesis: from a seed, without a database, without shrinking."""

from __future__ import annotations

from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], examples: int, seed: int) -> list[T]:
    """About so many different values, never more; the same ones for the same seed."""
    found: dict[str, T] = {}

    @hypothesis.seed(seed)
    @settings(
        max_examples=max(examples, 1),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy)
    def keep(value: T) -> None:
        if len(found) < examples:
            found.setdefault(repr(value), value)

    keep()
    return list(found.values())
