"""Trials of loaders with a base fault that shows only at servers with certain values."""

from __future__ import annotations

import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.resilience.judged import judged
from mcp_proxy_conformance.resilience.load_bench import says
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.resilience.loads import BROKEN, Loads, waits
from mcp_proxy_conformance.resilience.scenarios import (
    NAMES,
    load_case,
    row_name,
    scenarios,
    space,
)
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.space.space import Row, Scenario
from mcp_proxy_conformance.verdict.result import NotApplicable

PATIENCE = 0.4
"""Share of the time that a load may take, as of other mutants."""


def killed(base: Any, trigger: Row) -> bool:
    """Play the scenarios that have the trigger to the faulty loader; whether one convicts it."""
    known = space()
    rows: dict[str, Row] = {}

    def triggered(server_id: str) -> bool:
        return trigger.items() <= rows.get(server_id, {}).items()

    target = embedded_target(base.loader(triggered), patience=PATIENCE)
    folder = Path(tempfile.gettempdir())
    with closing(Loads(target.loader, folder, confirm=False)) as loads:
        judge = says(target)
        having = [each for each in _quickest_first(judge.reads)
                  if any(known.has(row, trigger) for row in each.rows)]  # fmt: skip
        try:
            for each in having:
                case = load_case(each, judge.reads)
                own = {row_name(server.server_id): server.server_id
                       for server in reversed(case.given.servers)}  # fmt: skip
                rows = {own[name]: known.defaults | row
                        for name, row in zip(NAMES, each.rows, strict=False)}  # fmt: skip
                with suppress(NotApplicable, *BROKEN):
                    if judged(loads.of(case), loads.of, judge).findings:
                        return True
        finally:
            loads.close()
            with suppress(TimeoutError):  # its fault may keep it busy
                target.close()
    return False


@cache
def _quickest_first(reads: Reads) -> list[Scenario]:
    return sorted(scenarios(), key=lambda each: waits(load_case(each, reads)))
