"""What is revealed stays revealed while nothing changes: FR-001, asked for by --soak."""

from __future__ import annotations

import time
from contextlib import ExitStack

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.discovery.locked import ask
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage

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


def _early(bench: Bench) -> dict[str, str]:
    bench.settle()
    return _told(bench)


def _told(bench: Bench) -> dict[str, str]:
    """Where an answer with the flag puts each tool that is there, each asked for by itself."""
    return {str(key): ask(bench, key).status(key) for key in bench.states}
