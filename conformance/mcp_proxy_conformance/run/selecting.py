"""Which of the collected checks run, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.run.asked import given_to, only_of
from mcp_proxy_conformance.run.collected import (
    address,
    clauses_of,
    is_named,
    named,
    place_of,
)
from mcp_proxy_conformance.run.given import Given
from mcp_proxy_conformance.run.load_run import LoadRun
from mcp_proxy_conformance.run.session import Run
from mcp_proxy_conformance.run.sharding import shared_out
from mcp_proxy_conformance.run.world_run import WorldRun


def select(items: list[pytest.Item], run: Run, config: pytest.Config) -> None:
    """Leave the checks that are asked for, in the order of the run; a choice marks the run."""
    items[:] = [item for item in items if _in_profile(item, run)]
    for wanted in _choices(run, config):
        run.narrowed = True
        items[:] = [item for item in items if wanted(item)]
    given = given_to(config)
    if given is not None and given.only:
        items[:] = [item for item in items if _function(item) == given.only]
    arrange(items, given)


def share_out(items: list[pytest.Item], run: Run) -> None:
    """Leave those of the part that is asked for, which knows the order of the whole run."""
    if run.shard is not None:
        places = {one: place.name if (place := place_of(one)) else address(one) for one in items}
        order = {address(item): name for item, name in places.items()}
        run.shard = msgspec.structs.replace(run.shard, order=order)
        items[:] = shared_out(places, run.shard)


def left_out(items: list[pytest.Item], run: Run) -> bool:
    """Whether files that were named leave clauses of the profile without a check."""
    cited = {clause for item in items for clause in clauses_of(item)}
    known = catalogue().clauses
    return any(known[one].untested is None and one not in cited for one in run.profile.clauses)


def _choices(run: Run, config: pytest.Config) -> list[Callable[[pytest.Item], bool]]:
    """What was asked for: each leaves out all that it does not mean."""
    choices: list[Callable[[pytest.Item], bool]] = []
    if checks := config.getoption("--check"):
        choices.append(lambda item: any(is_named(item, one) for one in checks))
    if (only := only_of(config, run.profile)) is not None:
        choices.append(lambda item: bool(only.intersection(clauses_of(item))))
    if isinstance(run, LoadRun) and (own := run.loader_target.case) is not None:
        choices.append(lambda item: named(item)[1] == own.id)
    if isinstance(run, WorldRun) and (mine := run.own) is not None:
        choices.append(lambda item: named(item)[1] == mine[0].id)
    given = given_to(config)
    if given is not None and (cited := given.clauses) is not None:
        choices.append(lambda item: bool(cited.intersection(clauses_of(item))))
    if given is not None and (without := given.without):
        choices.append(lambda item: named(item) not in without)
    return choices


def arrange(items: list[pytest.Item], given: Given | None) -> None:
    """Bring the checks of a stage together; those of fresh worlds come before."""
    places = {item: place for item in items if (place := place_of(item)) is not None}
    order: dict[str, int] = {}
    for place in places.values():
        if not place.fresh:
            order.setdefault(place.name, len(order))
    items.sort(key=lambda item: order.get(places[item].name, -1) if item in places else -2)
    if given is not None:
        items.sort(key=lambda item: _function(item) != given.first)
        items[:] = items[::-1] if given.backwards else items


def _in_profile(item: pytest.Item, run: Run) -> bool:
    """Whether a check cites a clause of the profile; other tests are none of our business."""
    cited = clauses_of(item)
    return not cited or bool(set(cited) & set(run.profile.clauses))


def _function(item: pytest.Item) -> str | None:
    return getattr(item, "originalname", None)
