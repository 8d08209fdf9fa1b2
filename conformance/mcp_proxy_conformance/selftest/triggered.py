"""Triggered mutants: base faults that show only at values, or pairs of values, of a space."""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from mcp_proxy_conformance.run.space.space import Row, Space, in_words

PAIRS = 300
"""Pairs of values in the fixed sample."""
LEAST = {"values": 0.95, "pairs": 0.85}
"""The share of each kind that must die."""


class Base(Protocol):
    """A base fault: its name, and sets of values of which a row needs one for it to show."""

    @property
    def name(self) -> str:
        """The name of the fault."""

    @property
    def shows(self) -> Sequence[Row]:
        """The sets of values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggeredMutants:
    """The triggered mutants of one specification: its space, its base faults, and their trials.

    `killed(base, trigger)` plays what has the trigger to that fault, and returns whether it dies;
    `is_playable`: whether a fault can show only there.
    """

    space: Callable[[], Space]
    bases: Callable[[], Sequence[Base]]
    killed: Callable[[Base, Row], bool]
    is_playable: Callable[[Base, Row], bool] = lambda _base, _trigger: True

    def mutants(self) -> Iterator[tuple[str, str, Callable[[], bool]]]:
        """Yield (`values` or `pairs`, name, trial): each fault at each value, one at each pair."""
        space, chance = self.space(), random.Random(0)  # noqa: S311 - a fixed sample
        for dimension, values in space.values.items():
            for value in values:
                for name, trial in self._named({dimension: value}):
                    yield "values", name, trial
        admissible = [pair for pair, sentence in space.pairs.items() if not sentence]
        for pair in chance.sample(admissible, PAIRS):
            if several := list(self._named(dict(pair))):
                yield "pairs", *chance.choice(several)

    def _named(self, trigger: Row) -> Iterator[tuple[str, Callable[[], bool]]]:
        """Yield each fault at rows with these values: its name, its trial.

        One that no row with these values could show is left out.
        """
        known = self.space()
        for base in self.bases():
            fits = (
                {**shows, **trigger}
                for shows in base.shows
                if all(trigger.get(name, value) == value for name, value in shows.items())
            )
            if self.is_playable(base, trigger) and any(not known.excluded(v) for v in fits):
                yield f"{base.name} where {in_words(trigger)}", partial(self.killed, base, trigger)


def enough(lives: dict[str, Any]) -> bool:
    """Whether the share of each kind that died is large enough."""
    return all(
        len(found["survivors"]) <= found["tried"] * (1 - LEAST[kind])
        for kind, found in lives.items()
    )


def tried(
    mutants: Sequence[tuple[str, str, Callable[[], bool]]], jobs: int, done: Callable[[], None]
) -> dict[str, Any]:
    """Try the mutants in several processes; return by kind how many were tried, and who lives."""
    global _MUTANTS  # noqa: PLW0603 - forked processes inherit it; trials are no plain values
    _MUTANTS = mutants
    lives: dict[str, Any] = {kind: {"tried": 0, "survivors": []} for kind in LEAST}
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=40) as pool:
        for at, died in pool.imap_unordered(_one, range(len(mutants))):
            kind, name, _ = mutants[at]
            lives[kind]["tried"] += 1
            lives[kind]["survivors"] += [] if died else [name]
            done()
        pool.close()
        pool.join()
    return lives


_MUTANTS: Sequence[tuple[str, str, Callable[[], bool]]] = ()


def _one(at: int) -> tuple[int, bool]:
    return at, _MUTANTS[at][2]()
