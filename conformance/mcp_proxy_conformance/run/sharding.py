"""A run in parts that other machines can take: which checks a part has."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import msgspec

T = TypeVar("T", bound=Hashable)
SHOWN = 40
MOST = 4
"""Digits of a number in the name of a part: no run has so many checks."""
START = 20
"""To start a target costs about as much as so many checks on one that is there."""


class BadShard(ValueError):
    """What names a part cannot be used; the message says how to write one."""


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """The part `number` of `of`; `order`: the addresses of all parts' checks, and their places."""

    number: int
    of: int
    order: dict[str, str] = {}

    @property
    def name(self) -> str:
        """As users write it."""
        return f"{self.number}/{self.of}"


def shard_of(told: str) -> Shard:
    """The part that is written like 1/3; raises BadShard."""
    number, slash, of = told.partition("/")
    words = [one for one in (number, of) if one.isascii() and one.isdecimal()]
    numbers = [int(one) for one in words if len(one) <= MOST]
    if not slash or len(numbers) != len((number, of)) or not 1 <= numbers[0] <= numbers[1]:
        raise BadShard(f"--shard {told[:SHOWN]!r} is no part; write 1/3 for the first of three")
    return Shard(number=numbers[0], of=numbers[1])


def shared_out(places: Mapping[T, str], shard: Shard) -> Sequence[T]:
    """Those of the checks that this part has, in their order.

    The checks of one place stay together. The dearest place goes first, each to the part that has
    the least: every part comes to the same division.
    """
    units: dict[str, list[T]] = {}
    for check, place in places.items():
        units.setdefault(place, []).append(check)
    costs = [0] * shard.of
    mine: set[T] = set()
    for unit in sorted(units.values(), key=len, reverse=True):
        at = costs.index(min(costs))
        costs[at] += START + len(unit)
        if at == shard.number - 1:
            mine.update(unit)
    return [check for check in places if check in mine]
