"""What a collected check says of itself: its name, its clauses, and where it works."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mcp_proxy_conformance.catalogue.index import split
from mcp_proxy_conformance.catalogue.world import World


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
