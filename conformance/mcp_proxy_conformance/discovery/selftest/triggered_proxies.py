"""Trials of proxies with a base fault that shows only at rows with certain values."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.discovery.laws.player import play
from mcp_proxy_conformance.discovery.scenarios import Plan, plan_of, scenarios, space
from mcp_proxy_conformance.discovery.selftest.changed import mutated
from mcp_proxy_conformance.run.space.space import Row
from mcp_proxy_conformance.targets.target import AdapterError

OF_REQUESTS = {"query", "limit", "agent", "callables", "locked"}
"""Dimensions of a row's request: what shows only there shows in answers to it alone."""

AT_ONCE_S = 0.3
"""Seconds that any act on the reference takes at most to be in force."""


def is_playable(base: Any, trigger: Row) -> bool:
    """Whether a fault can show only at rows with these values."""
    return bool(base.of_requests or not OF_REQUESTS & trigger.keys())


def killed(base: Any, trigger: Row) -> bool:
    """Play the scenarios that have the trigger to the faulty proxy; whether one convicts it."""
    from mcp_proxy_mutants.discovery.triggered import Triggered  # noqa: PLC0415

    triggered = Triggered(requests=set() if OF_REQUESTS & trigger.keys() else None)
    target = replace(mutated(base.proxy(triggered)), enforce_s=AT_ONCE_S)
    try:
        for each in scenarios():
            rows = [at for at, row in enumerate(each.rows) if space().has(row, trigger)]
            plan = plan_of(each, target.capabilities)
            if rows and _convicts(target, plan, triggered, rows):
                return True
    finally:
        target.close()
    return False


def _convicts(target: Any, plan: Plan, triggered: Any, rows: list[int]) -> bool:
    """Play a scenario to a proxy whose fault shows at these of its rows; whether a law convicts."""
    triggered.tools.clear()
    triggered.tools |= {str(plan.tools[at]) for at in rows}
    if triggered.requests is not None:
        own = (plan.world.requests[at] for at in rows)
        triggered.requests.clear()
        triggered.requests |= {
            (each["query"], each.get("limit"), each.get("agent", "")) for each in own
        }
    folder = Path(tempfile.mkdtemp())
    try:
        return bool(play(target, plan, folder).compared.findings)
    except AdapterError:
        return False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
