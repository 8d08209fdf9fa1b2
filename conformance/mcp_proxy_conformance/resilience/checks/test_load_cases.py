"""The JSON cases of fixtures/resilience: the outcome of each server."""

from __future__ import annotations

from mcp_proxy_conformance.resilience.driven_loader import each_load
from mcp_proxy_conformance.resilience.load_bench import LoadBench
from mcp_proxy_conformance.resilience.load_case import LoadCase


@each_load(
    "timeout",
    "cut",
    "error",
    "authorization",
    "permanent",
    "denied",
    "unnamed",
    "failed",
    "page",
    "outcome",
    "recovery",
    "trap",
    "isolation",
    "order",
    "end",
    "again",
    "none",
    "text",
    "secret",
    "sharing",
    "warning",
)
def test_load_case(bench: LoadBench, case: LoadCase) -> None:
    """The servers of a load have the outcomes, attempts, tools and words that the case allows.

    Not applicable to a loader that declares nothing of what the case is about, or that reads only
    first pages where it is about later ones.
    """
    bench.judged(case).conclude()
