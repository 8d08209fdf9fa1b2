"""Generation of values by hypothesis: from a seed, without a database, without shrinking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
from hypothesis.strategies import SearchStrategy

T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], examples: int, seed: int) -> list[T]:
    """Draw up to `examples` distinct values; the same ones for the same seed."""
    values: dict[str, T] = {}

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
        if len(values) < examples:
            values.setdefault(repr(value), value)

    with _nothing_kept():
        keep()
    return list(values.values())


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """Have hypothesis write its files into a temporary folder during the block."""
    before = storage_directory(intent_to_write=False).home_directory
    with TemporaryDirectory() as place:
        set_hypothesis_home_dir(place)
        try:
            yield
        finally:
            set_hypothesis_home_dir(before)
