"""Trials of loaders with a base fault that shows only at servers with certain values."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache, partial
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
from mcp_proxy_conformance.run.space.space import Row, Scenario, in_words
from mcp_proxy_conformance.verdict.result import NotApplicable

PATIENCE = 0.4
"""Share of the time that a load may take, as of other mutants."""


def named(trigger: Row) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Yield each loader that has a base fault at servers with these values: its name, its trial.

    A fault that no server with these values could show is left out. A trial returns whether a
    finding convicts the loader.
    """
    known = space()
    from mcp_proxy_mutants.resilience.triggered import BASES  # noqa: PLC0415 - others do without

    for base in BASES:
        fits = (
            {**shows, **trigger}
            for shows in base.shows
            if all(trigger.get(name, value) == value for name, value in shows.items())
        )
        if any(not known.excluded(values) for values in fits):
            yield f"{base.name} where {in_words(trigger)}", partial(killed, base, trigger)


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
        having = [each for each in _quickest_first(judge.reads) if any(
            trigger.items() <= (known.defaults | row).items() for row in each.rows)]  # fmt: skip
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
