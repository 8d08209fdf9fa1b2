"""Collected checks: their names, clauses and places, and the parts of a run."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest

from mcp_proxy_conformance.catalogue.index import split
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.verdict.record import Shard


@dataclass(frozen=True, slots=True)
class Place:
    """Where a check works: its world, shared or fresh, and the capabilities it needs."""

    name: str
    world: World
    fresh: bool
    needs: tuple[str, ...]


def named(item: pytest.Item) -> tuple[str, str | None]:
    """The name of a check, and that of its case if it has cases."""
    name = getattr(item, "originalname", None) or item.name
    return name, item.callspec.id if hasattr(item, "callspec") else None


def is_named(item: pytest.Item, wanted: str) -> bool:
    """Whether an option that names a check, a case or both means this one."""
    name, case = named(item)
    check_wanted, case_wanted = split(wanted)
    return check_wanted in ("", name) and case_wanted in ("", case or "")


def clauses_of(item: pytest.Item) -> tuple[str, ...]:
    """The clauses that a check, or its case, cites."""
    return tuple(dict.fromkeys(c for mark in item.iter_markers("requirement") for c in mark.args))


def address(item: pytest.Item) -> str:
    """Where a check stands: the name of its file, its own, and that of its case."""
    return item.nodeid.rpartition("/")[2]


def place_of(item: pytest.Item) -> Place | None:
    """Where a check works, from its `on` mark."""
    mark = item.get_closest_marker("on")
    if mark is None:
        return None
    (world,) = mark.args
    fresh = mark.kwargs["fresh"]
    name = address(item) if fresh else world.id
    return Place(name=name, world=world, fresh=fresh, needs=tuple(mark.kwargs["needs"]))


T = TypeVar("T", bound=Hashable)
SHOWN = 40
MOST = 4
"""Digits of a number in the name of a part: no run has so many checks."""
START = 20
"""To start a target costs about as much as so many checks on one that is there."""


class BadShard(ValueError):
    """What names a part cannot be used; the message says how to write one."""


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
