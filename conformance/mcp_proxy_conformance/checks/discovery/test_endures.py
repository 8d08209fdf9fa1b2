"""What holds while nothing changes holds later too: FR-001, FR-011, asked for by --soak."""

from __future__ import annotations

import time
from contextlib import ExitStack

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.locked import ask

MIXED, COMBOS, ALONE = stage("mixed"), stage("combos"), stage("alone")


@requirement("FR-001.endures")
@on(MIXED, fresh=True, needs=("soak",))
def test_what_is_revealed_stays_revealed_while_nothing_changes(bench: Bench) -> None:
    """Every tool is told as it was at first, callable or by its status, once the soak is over."""
    with ExitStack() as running:
        views, early = [bench], [_early(bench)]
        for world in (COMBOS, ALONE):
            views.append(running.enter_context(bench.twin(world)))
            early.append(_early(views[-1]))
        revealed = {status for told in early for status in told.values()} - {"callable", "absent"}
        bench.require(revealed, "the feature was not seen")

        time.sleep(bench.started.target.soak_s)

        late = [_told(view) for view in views]
    changed = {
        f"{name} on {view.world.id}": (before[name], now[name])
        for view, before, now in zip(views, early, late, strict=True)
        for name in before
        if before[name] != now[name]
    }
    assert changed == {}


@requirement("FR-011.never-reaches")
@on(MIXED, fresh=True, needs=("soak",))
def test_no_call_reaches_a_locked_tool_long_after_its_discovery(bench: Bench) -> None:
    """Tools that were told as locked are refused still once the soak is over."""
    keys = tuple(bench.armed.refused)
    bench.require(any(ask(bench, key).disabled for key in keys), "the feature was not seen")
    free = next(key for key in sorted(bench.armed.called) if bench.states[key].callable)

    time.sleep(bench.started.target.soak_s)

    with bench.untouched(*keys):
        for key in keys:
            bench.call(key)
    bench.require(bench.call(free).reached, "no callable tool was reached")


def _early(bench: Bench) -> dict[str, str]:
    bench.settle()
    return _told(bench)


def _told(bench: Bench) -> dict[str, str]:
    """Where an answer with the flag puts each tool that is there, each asked for by itself."""
    return {str(key): ask(bench, key).status(key) for key in bench.states}
