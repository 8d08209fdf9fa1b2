"""Scenarios of the space of discovery: tools with all kinds of locks and histories, asked for."""

from __future__ import annotations

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.case import Case, each_case
from mcp_proxy_conformance.discovery.driven_proxy import ScenarioBench
from mcp_proxy_conformance.discovery.scenarios import ScenarioCase
from mcp_proxy_conformance.discovery.views import looked_at


@each_case("scenario")
def test_scenario(bench: ScenarioBench, case: ScenarioCase) -> None:
    """Whatever locks a tool has, and whatever happened to it, it is told of as they allow.

    Each law of discovery is tried on answers, listings and refusals.
    """
    bench.compared(case).conclude()


@each_case("scope-bytes")
def test_what_lies_beyond_its_scope_changes_no_byte(
    bench: ScenarioBench, case: ScenarioCase
) -> None:
    """An agent's answers keep their bytes when something beyond its scope is locked.

    The same holds for answers with the flag and without it.
    """
    bench.compared(case).conclude()


@each_case("law")
def test_what_was_once_generated_is_answered_as_it_should(bench: Bench, case: Case) -> None:
    """Small worlds that once broke a law are answered as their cases expect.

    A case is compared as it is written and, if there is one, from another endpoint or agent.
    """
    looked_at(case, bench).conclude()
