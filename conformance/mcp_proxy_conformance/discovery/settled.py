"""A check of a proxy called until its verdict is settled, and a failure confirmed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.catalogue.world import locks_of
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.lacks import lacks_of
from mcp_proxy_conformance.run.judgement import Ending, attempt, confirmed
from mcp_proxy_conformance.verdict.result import Verdict

AGAIN_S = 0.05


def judge(
    check: Callable[[Bench], Any],
    bench: Bench,
    confirm: Callable[[], Bench] | None,
    *,
    trial: bool = False,
) -> Ending:
    """Call a check until its verdict is settled, confirm a failure, and return how it ended.

    A failure or inconclusive ending is tried again until the target's settle time is over, and once
    more if answers were shared with other checks; never if the check changed something on the
    operator side. A failure counts only if the check also fails on the bench that `confirm` returns
    (None: at once). An inconclusive call after a failure leaves the failure standing if `confirm`
    is given or it is a `trial`. Breaches of schemas count in the answers of the last call.
    """
    started = bench.started
    touched_at, settled = started.last_change, dict[Verdict, float]()
    failed: Ending | None = None
    while True:
        mark, shared = started.transcript.mark(), bool(started.answers)
        started.taken()
        ending = replace(attempt(lambda: check(bench)), since=mark)
        of_schemas = started.taken()
        # observing a lock again postpones settled_at; an absent lock has no claim that must follow
        open_end = settled.setdefault(ending.verdict, started.settled_at) > time.monotonic()
        untouched = started.last_change == touched_at
        if ending.verdict == "inconclusive" and failed is not None:
            ending = failed
            break
        if ending.verdict == "fail" and (confirm is not None or trial):
            failed = ending
        if ending.verdict not in ("fail", "inconclusive") or ending.final:
            break
        if not untouched or not (open_end or shared):
            break
        started.answers.clear()
        if open_end:
            time.sleep(AGAIN_S)
    if ending.verdict == "fail" and not ending.final and confirm is not None:
        ending = confirmed(ending, attempt(lambda: check(confirm())))
    lacks = lacks_of(bench, ending.cause)
    return replace(ending, of_schemas=of_schemas, states=locks_of(bench.states), lacks=lacks)
