"""Scenarios of the space of loads: many servers, each unusual in its own way, loaded together."""

from __future__ import annotations

from mcp_proxy_conformance.resilience.driven_loader import each_load
from mcp_proxy_conformance.resilience.load_bench import LoadBench
from mcp_proxy_conformance.resilience.load_case import LoadCase


@each_load("scenario")
def test_scenario(bench: LoadBench, case: LoadCase) -> None:
    """Whatever a server does, each ends as its own behaviour allows, and hurts no other.

    Status, attempts, tools, errors and warnings are judged, and later loads of the same process.
    """
    bench.judged(case).conclude()


@each_load("law")
def test_a_single_row_ends_as_it_should(bench: LoadBench, case: LoadCase) -> None:
    """A server that a scenario has shown to fail, by itself, has the outcome that is allowed."""
    bench.judged(case).conclude()
