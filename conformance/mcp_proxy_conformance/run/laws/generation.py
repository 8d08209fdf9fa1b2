"""Generation of values by hypothesis: from a seed, without a database, without shrinking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TypeVar
from unittest.mock import patch

import hypothesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.configuration import set_hypothesis_home_dir, storage_directory
from hypothesis.internal.cache import LRUCache
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.strategies import SearchStrategy

from mcp_proxy_conformance.run.deadline import postponed

T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], examples: int, seed: int) -> list[T]:
    """Draw up to `examples` values that differ by their repr; the same ones for the same seed.

    An alarm of a time limit that is due meanwhile is raised once they are drawn.
    """
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
        """Keep a drawn value if it is new and fewer than `examples` are kept."""
        if len(values) < examples:
            values.setdefault(repr(value), value)

    with postponed(), _nothing_kept(), _no_constants_of_the_code():
        keep()
    return list(values.values())


@contextmanager
def _nothing_kept() -> Iterator[None]:
    """Have hypothesis use a temporary folder for its files during the block; then restore."""
    before = storage_directory(intent_to_write=False).home_directory
    with TemporaryDirectory() as place:
        set_hypothesis_home_dir(place)
        try:
            yield
        finally:
            set_hypothesis_home_dir(before)


@contextmanager
def _no_constants_of_the_code() -> Iterator[None]:
    """Have hypothesis draw no constants from the code of loaded modules during the block.

    With them the same seed would give other values after any change of the code; hypothesis has
    no setting for this.
    """
    none = patch.object(providers.HypothesisProvider, "_local_constants", Constants())
    with none, patch.object(providers, "CONSTANTS_CACHE", LRUCache(1024)):
        yield
