"""Collected pytest items as checks: names, clauses, world and needs; shards such as 1/3."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest

from mcp_proxy_conformance.catalogue.index import split
from mcp_proxy_conformance.catalogue.world import GENERATED, World
from mcp_proxy_conformance.verdict.record import Shard


@dataclass(frozen=True, slots=True)
class Place:
    """Where a check runs: a world of servers, tools and locks, and the capabilities it needs.

    Checks with the same `name` share one started target. It is the name of a shared stage or, if
    the world is `fresh` (made for one check), the address of that check. A `long` one takes many
    seconds on a target that settles slowly.
    """

    name: str
    world: World
    fresh: bool
    needs: tuple[str, ...]
    long: bool = False

    @property
    def is_generated(self) -> bool:
        """Whether its checks are of a space, all of which the first one begins."""
        return self.name.startswith(GENERATED)

    @property
    def unit(self) -> str:
        """What is kept in one process: the place, or all that are of a space."""
        return GENERATED if self.is_generated else self.name


def named(item: pytest.Item) -> tuple[str, str | None]:
    """Return (name of a check's function, without parameters; id of its case, None without one)."""
    name = getattr(item, "originalname", None) or item.name
    return name, item.callspec.id if hasattr(item, "callspec") else None


def is_named(item: pytest.Item, wanted: str) -> bool:
    """Whether `wanted` (CHECK, CHECK[CASE] or [CASE], as --check takes it) names this check.

    Names are compared whole, case-sensitively; CHECK names the check with each of its cases. A case
    may be named without the brackets.
    """
    name, case = named(item)
    check_wanted, case_wanted = split(wanted)
    return check_wanted in ("", name) and case_wanted in ("", case or "")


def clauses_of(item: pytest.Item) -> tuple[str, ...]:
    """Return the clauses that a check cites by its marks, each once; those of its case included."""
    return tuple(dict.fromkeys(c for mark in item.iter_markers("requirement") for c in mark.args))


def address(item: pytest.Item) -> str:
    """Return the address of a check: its node id without the folder, `FILE::NAME[CASE]`."""
    return item.nodeid.rpartition("/")[2]


def place_of(item: pytest.Item) -> Place | None:
    """Return the Place of a check by its nearest mark `on`; None without that mark.

    It is named by the check's address if the world is fresh, else by the world's id.
    """
    mark = item.get_closest_marker("on")
    if mark is None:
        return None
    (world,) = mark.args
    fresh = mark.kwargs["fresh"]
    name = address(item) if fresh else world.id
    needs, long = tuple(mark.kwargs["needs"]), mark.kwargs.get("long", False)
    return Place(name=name, world=world, fresh=fresh, needs=needs, long=long)


T = TypeVar("T", bound=Hashable)
SHOWN = 40
MOST = 4
"""The most digits of a number in the name of a shard: no run has that many checks."""
START = 20
"""Starting a target costs about as much as 20 checks."""


class BadShard(ValueError):
    """The name of a shard is unusable; the message shows the right form."""


def shard_of(text: str) -> Shard:
    """Parse a shard that is written like 1/3, with numbers of at most four digits.

    Raises BadShard for another form, for 0, and for a number above the count.
    """
    number, slash, of = text.partition("/")
    words = [word for word in (number, of) if word.isascii() and word.isdecimal()]
    numbers = [int(word) for word in words if len(word) <= MOST]
    if not slash or len(numbers) != len((number, of)) or not 1 <= numbers[0] <= numbers[1]:
        raise BadShard(f"--shard {text[:SHOWN]!r} is not a part; write 1/3 for the first of three")
    return Shard(number=numbers[0], of=numbers[1])


def shared_out(places: Mapping[T, str], shard: Shard) -> Sequence[T]:
    """Return the checks of this shard in their order; `places` maps each check to its place's name.

    Checks of one place stay together. Places are assigned, the one with most checks first, to
    the shard with the least work so far, counting a start as 20 checks: every shard computes
    the same.
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
