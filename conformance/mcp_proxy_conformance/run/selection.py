"""Selection of a run's checks by profile, options and shard; the files to import; the order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.index import Check, checks_in, split
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.run.collection import (
    address,
    clauses_of,
    is_named,
    named,
    place_of,
    shared_out,
)
from mcp_proxy_conformance.run.session import RunSession

QUICK = "mixed"
"""The stage of `--quick`, with tools under each kind of lock."""


def select(items: list[pytest.Item], run: RunSession) -> None:
    """Reduce `items` in place to the profile's selected checks, and sort them as `arrange` does.

    Any selecting option but `alone` marks the run as narrowed.
    """
    items[:] = [item for item in items if _in_profile(item, run)]
    for wanted in _choices(run):
        run.state.narrowed = True
        items[:] = [item for item in items if wanted(item)]
    selection = run.request.selection
    if selection.alone:
        items[:] = [
            item for item in items if getattr(item, "originalname", None) == selection.alone
        ]
    arrange(items, run)


def files(run: RunSession) -> list[Path]:
    """Return the check files to collect: those with selected checks, or the profile's folders.

    All folders if no option chooses checks, or no file matches. Checks that deviations (known
    failures) name are collected too, so that their cases are known.
    """
    selection = run.request.selection
    areas = {own.case.area for own in run.subject.own_cases}
    choices: list[Callable[[Check], bool]] = []
    if selection.checks:
        words = {split(wanted)[0] for wanted in selection.checks}
        choices.append(lambda check: bool(words & {"", check.name}))
    if selection.alone:
        choices.append(lambda check: check.name == selection.alone)
    if areas:
        choices.append(lambda check: not areas.isdisjoint(area for _, area in check.areas))
    if sets := [each for each in (run.only, selection.clauses) if each is not None]:
        choices.append(lambda check: all(each.intersection(check.clauses) for each in sets))
    folders = run.profile.folders if choices else ()
    named_too = {split(deviation.id)[0] for deviation in run.request.deviations}
    wanted = {
        check.path: None
        for folder in folders
        for check in checks_in(folder)
        if check.name in named_too or all(choice(check) for choice in choices)
    }
    return list(wanted or run.profile.folders)


def share_out(items: list[pytest.Item], run: RunSession) -> None:
    """Reduce `items` in place to the requested shard, which records the order of all checks.

    It does nothing without a shard.
    """
    if run.state.shard is not None:
        places = {
            item: place.name if (place := place_of(item)) else address(item) for item in items
        }
        order = {address(item): name for item, name in places.items()}
        run.state.shard = msgspec.structs.replace(run.state.shard, order=order)
        items[:] = shared_out(places, run.state.shard)


def left_out(items: list[pytest.Item], run: RunSession) -> bool:
    """Whether the items cite fewer clauses than the profile has, those marked untested aside."""
    cited = {clause for item in items for clause in clauses_of(item)}
    known = catalogue().clauses
    return any(
        known[clause_id].untested is None and clause_id not in cited
        for clause_id in run.profile.clauses
    )


def _choices(run: RunSession) -> list[Callable[[pytest.Item], bool]]:
    """Return the predicates of the options that are used; a check runs if all of them hold."""
    selection = run.request.selection
    choices: list[Callable[[pytest.Item], bool]] = []
    if checks := selection.checks:
        choices.append(lambda item: any(is_named(item, wanted) for wanted in checks))
    if selection.quick:
        choices.append(lambda item: (place := place_of(item)) is not None and place.name == QUICK)
    if (only := run.only) is not None:
        choices.append(lambda item: bool(only.intersection(clauses_of(item))))
    if own := {each.case.id for each in run.subject.own_cases}:
        choices.append(lambda item: named(item)[1] in own)
    if (cited := selection.clauses) is not None:
        choices.append(lambda item: bool(cited.intersection(clauses_of(item))))
    if without := selection.without:
        choices.append(lambda item: named(item) not in without)
    return choices


def arrange(items: list[pytest.Item], run: RunSession) -> None:
    """Sort `items` in place: checks without a place, those of fresh worlds, then by shared stage.

    If the subject reuses stages, fresh worlds come after them. Early checks (`is_early`) come last.
    Stages keep the order of their first check. `backwards` reverses the
    whole.
    """
    selection = run.request.selection
    places = {item: place for item in items if (place := place_of(item)) is not None}
    order: dict[str, int] = {}
    for place in places.values():
        if not place.fresh:
            order.setdefault(place.name, len(order))

    def rank(item: pytest.Item) -> int:
        """Return an item's sort key: its stage's index, lower without a place, highest if early.

        Fresh worlds are before all stages or, if the subject reuses stages, after them.
        """
        if item not in places:
            return -2
        if run.subject.is_early(places[item]):
            return len(order) + 1
        fresh = len(order) if run.subject.reuses else -1
        return order.get(places[item].name, fresh)

    items.sort(key=rank)
    items[:] = items[::-1] if selection.backwards else items


def _in_profile(item: pytest.Item, run: RunSession) -> bool:
    """Whether a check cites a clause of the profile, or no clause at all."""
    cited = clauses_of(item)
    return not cited or bool(set(cited) & set(run.profile.clauses))
