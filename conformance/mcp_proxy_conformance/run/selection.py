"""The selection of checks, and their order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.index import Check, checks_in, split
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.resources import checks_dir
from mcp_proxy_conformance.run.collection import (
    address,
    clauses_of,
    is_named,
    named,
    place_of,
    shared_out,
)
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.run.session import Session


def select(items: list[pytest.Item], run: Session) -> None:
    """Leave the checks that are asked for, in the order of the run; a choice marks the run."""
    items[:] = [item for item in items if _in_profile(item, run)]
    for wanted in _choices(run):
        run.state.narrowed = True
        items[:] = [item for item in items if wanted(item)]
    selection = run.request.selection
    if selection.alone:
        items[:] = [item for item in items if _function(item) == selection.alone]
    arrange(items, selection)


def files(run: Session) -> list[Path]:
    """The files of the profile that hold checks that are asked for; of all, the profile's folders.

    Pytest need not import the others. What deviations name is collected too: its cases are known
    then.
    """
    asked, own = run.request.selection, run.subject.own_case
    choices: list[Callable[[Check], bool]] = []
    if asked.checks:
        words = {split(one)[0] for one in asked.checks}
        choices.append(lambda one: bool(words & {"", one.name}))
    if asked.alone:
        choices.append(lambda one: one.name == asked.alone)
    if own is not None:
        choices.append(lambda one: own.case.area in {area for _, area in one.areas})
    if sets := [each for each in (run.only, asked.clauses) if each is not None]:
        choices.append(lambda one: all(each.intersection(one.clauses) for each in sets))
    folders = run.profile.folders if choices else ()
    named_too = {split(one.id)[0] for one in run.request.deviations}
    wanted = {
        one.module: None
        for folder in folders
        for one in checks_in(folder)
        if one.name in named_too or all(choice(one) for choice in choices)
    }
    return [checks_dir() / one for one in wanted or run.profile.folders]


def share_out(items: list[pytest.Item], run: Session) -> None:
    """Leave those of the part that is asked for, which knows the order of the whole run."""
    if run.state.shard is not None:
        places = {one: place.name if (place := place_of(one)) else address(one) for one in items}
        order = {address(item): name for item, name in places.items()}
        run.state.shard = msgspec.structs.replace(run.state.shard, order=order)
        items[:] = shared_out(places, run.state.shard)


def left_out(items: list[pytest.Item], run: Session) -> bool:
    """Whether files that were named leave clauses of the profile without a check."""
    cited = {clause for item in items for clause in clauses_of(item)}
    known = catalogue().clauses
    return any(known[one].untested is None and one not in cited for one in run.profile.clauses)


def _choices(run: Session) -> list[Callable[[pytest.Item], bool]]:
    """What was asked for: each leaves out all that it does not mean."""
    selection = run.request.selection
    choices: list[Callable[[pytest.Item], bool]] = []
    if checks := selection.checks:
        choices.append(lambda item: any(is_named(item, one) for one in checks))
    if (only := run.only) is not None:
        choices.append(lambda item: bool(only.intersection(clauses_of(item))))
    if (own := run.subject.own_case) is not None:
        choices.append(lambda item: named(item)[1] == own.case.id)
    if (cited := selection.clauses) is not None:
        choices.append(lambda item: bool(cited.intersection(clauses_of(item))))
    if without := selection.without:
        choices.append(lambda item: named(item) not in without)
    return choices


def arrange(items: list[pytest.Item], selection: Selection) -> None:
    """Bring the checks of a stage together; those of fresh worlds come before."""
    places = {item: place for item in items if (place := place_of(item)) is not None}
    order: dict[str, int] = {}
    for place in places.values():
        if not place.fresh:
            order.setdefault(place.name, len(order))
    items.sort(key=lambda item: order.get(places[item].name, -1) if item in places else -2)
    if selection.first:
        items.sort(key=lambda item: _function(item) != selection.first)
    items[:] = items[::-1] if selection.backwards else items


def _in_profile(item: pytest.Item, run: Session) -> bool:
    """Whether a check cites a clause of the profile; other tests are none of our business."""
    cited = clauses_of(item)
    return not cited or bool(set(cited) & set(run.profile.clauses))


def _function(item: pytest.Item) -> str | None:
    return getattr(item, "originalname", None)
