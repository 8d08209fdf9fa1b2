"""Stability of statuses and refusals over a soak, asked for by --soak: FR-001, FR-011."""

from __future__ import annotations

import time
from contextlib import ExitStack

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.locked_entries import ask

MIXED, COMBOS, ALONE = stage("mixed"), stage("combos"), stage("alone")


@requirement("FR-001.endures")
@on(MIXED, fresh=True, needs=("soak",))
def test_what_is_revealed_stays_revealed_while_nothing_changes(bench: Bench) -> None:
    """After the wait that --soak sets, each tool has the same place in its answer as before.

    A place is a status, `callable` or `absent`. Tools of three stages are asked for by their own
    queries, with the flag. Inconclusive if it reveals none.
    """
    with ExitStack() as running:
        views, early = [bench], [_settled_statuses(bench)]
        for world in (COMBOS, ALONE):
            views.append(running.enter_context(bench.twin(world)))
            early.append(_settled_statuses(views[-1]))
        revealed = {status for statuses in early for status in statuses.values()} - {
            "callable",
            "absent",
        }
        bench.require_revealed(revealed)

        time.sleep(bench.started.target.soak_s)

        late = [_statuses(view) for view in views]
    before = {place: status for statuses in early for place, status in statuses.items()}
    after = {place: status for statuses in late for place, status in statuses.items()}
    assert after == before


@requirement("FR-011.never-reaches")
@on(MIXED, fresh=True, needs=("soak",))
def test_no_call_reaches_a_locked_tool_long_after_its_discovery(bench: Bench) -> None:
    """Tools listed as locked are still refused after the wait that --soak sets.

    Inconclusive if the flag revealed none of them, or if a call of a callable tool does not
    arrive.
    """
    keys = tuple(bench.armed.refused)
    bench.require_revealed(any(ask(bench, key).disabled for key in keys))
    free = [key for key in sorted(bench.armed.called) if bench.states[key].callable]
    bench.require(free, "no call of a callable tool reached its upstream", "not_reached")

    time.sleep(bench.started.target.soak_s)

    with bench.untouched(*keys):
        for key in keys:
            bench.call(key)
    bench.require(
        bench.call(free[0]).reached,
        "no call of a callable tool reached its upstream",
        "not_reached",
    )


def _settled_statuses(bench: Bench) -> dict[tuple[str, str], str]:
    """Wait until the settle time is over; return each tool's status then, by (tool, stage)."""
    bench.settle()
    return _statuses(bench)


def _statuses(bench: Bench) -> dict[tuple[str, str], str]:
    stage_name = f"stage {bench.world.id}"
    return {(str(key), stage_name): ask(bench, key).status(key) for key in bench.states}
