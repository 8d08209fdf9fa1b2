"""The document of a selftest: the rows of what is tried, and what each check kills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.index import Check
from mcp_proxy_conformance.selftest import gather, matrix, order
from mcp_proxy_conformance.selftest.duels import duels
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.recordings import with_recordings
from mcp_proxy_conformance.selftest.row import Row
from mcp_proxy_conformance.selftest.standing import Standing, standing
from mcp_proxy_conformance.targets.adapter import Target

FORMAT = "mcp-proxy-conformance-selftest/1"
Document = dict[str, Any]
Heard = Callable[[Row, int, int], None]


def on_the_reference(
    wanted: Sequence[Trial],
    folder: Path,
    heard: Heard,
    *,
    full: bool,
    jobs: int,
    whole: bool,
    orders: Sequence[str] = (),
    alone: Sequence[Check] = (),
) -> Document:
    """Try those on proxies in this process; `heard` is told each row, its number and of how many.

    Each check must kill what it is listed with, if that is tried; `whole`: nothing was left out, so
    each must kill something. `orders` of `order.WAYS` are
    tried too, with the checks `alone`.
    """
    many = len(wanted) + len(orders)
    told, rest = gather.asked_for(wanted)
    rest = with_recordings(rest, folder)
    found = list(_heard(iter(told), many, heard))
    tried = matrix.rows(rest, folder, full=full, at_once=jobs)
    found += _heard(tried, many, heard, after=len(found))
    ordered = order.rows(orders, alone, folder, at_once=jobs)
    found += _heard(iter(ordered), many, heard, after=len(found))
    kills = _kills(found)
    lazy = gather.unproven(found, None if whole else {trial.changed.id for trial in rest})
    duelled = duels([] if full else gather.duels_of(lazy, rest), folder, at_once=jobs)
    won = {check: killed for check, killed in duelled if killed}
    for check, killed in won.items():
        kills.setdefault(check, []).append(killed)
    idle = sorted(check.name for check in lazy if check.name not in won)
    return of_rows(found, kills, full=full, idle=idle)


def in_front_of(
    make: Callable[[], Target],
    wanted: Sequence[Trial],
    folder: Path,
    heard: Heard,
    *,
    full: bool,
    jobs: int,
) -> Document:
    """Try faults of the wire on a target that `make` makes, after the target as it is.

    Raises:
        NotTried: The target as it is could not be tried.
    """
    base = standing(make, folder)
    told, seen = gather.in_front_of(base, wanted)
    told = [base.row, *told]
    found = list(_heard(iter(told), len(wanted) + 1, heard))
    tried = matrix.rows(seen, folder, full=full, at_once=jobs)
    found += _heard(tried, len(wanted) + 1, heard, after=len(told))
    return of_rows(found, _kills(found), full=full, target=_target(base))


def _heard(rows: Iterator[Row], many: int, heard: Heard, after: int = 0) -> Iterator[Row]:
    for number, row in enumerate(rows, after + 1):
        heard(row, number, many)
        yield row


def of_rows(
    found: Sequence[Row],
    kills: dict[str, list[str]],
    *,
    full: bool,
    idle: Sequence[str] = (),
    target: Document | None = None,
) -> Document:
    """The document of a selftest.

    `kills`: the counterexamples that each check was seen to kill; `idle`: the checks that did not
    kill what they are listed with; `target`: the user's own, as it is.
    """
    needed = _alone(found)
    return {
        "format": FORMAT,
        "good": all(row.good for row in found) and not idle,
        "target": target,
        "rows": [msgspec.to_builtins(row) for row in found],
        "checks": {check: sorted(set(ids)) for check, ids in sorted(kills.items())},
        "idle": list(idle),
        "alone": needed if full else [],
        "spare": sorted({*kills, *idle} - set(needed)) if full else [],
    }


def _target(base: Standing) -> Document:
    target, found = base.make(), base.found
    return {
        "kind": target.kind,
        "capabilities": sorted(target.capabilities),
        "headline": found.headline,
        "exit": found.exit,
        "not_passed": [
            {name: one[name] for name in ("check", "case", "verdict")} for one in found.results
        ],
    }


def _kills(found: Sequence[Row]) -> dict[str, list[str]]:
    kills: dict[str, list[str]] = {}
    for row in found:
        for check in row.by if row.cell == "killed" else ():
            kills.setdefault(check, []).append(row.id)
    return kills


def _alone(found: Sequence[Row]) -> list[str]:
    """The checks whose removal would let some counterexample survive."""
    return sorted({row.by[0] for row in found if row.cell == "killed" and len(row.by) == 1})
