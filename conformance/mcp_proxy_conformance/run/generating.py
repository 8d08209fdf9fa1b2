"""How hypothesis generates for the laws: from a seed, without a database, without shrinking."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings

_Keep = TypeVar("_Keep", bound=Callable[..., None])


def generating(examples: int, seed: int) -> Callable[[_Keep], _Keep]:
    """Decorate a `hypothesis.given`: about so many values, the same ones for the same seed."""
    chosen = settings(
        max_examples=max(examples, 1),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    def decorated(keep: _Keep) -> _Keep:
        return hypothesis.seed(seed)(chosen(keep))

    return decorated
