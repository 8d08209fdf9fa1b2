"""An agent's scope in discovery: no entry, count, remediation or note of tools beyond: FR-007."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import Step, server, tool, world
from mcp_proxy_conformance.discovery.agents import (
    names_beyond,
    queries_beyond,
    scoped,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.requests import in_words

SCOPE = stage("scope")
GROUPS = [group for member in SCOPE.tools().values() for group in member.groups]
SHARED = max(GROUPS, key=GROUPS.count)
WITHHELD = structs.replace(
    world(
        server("forge", tool("zorvik_list")),
        server("forgery", tool("tamupo_open"), tool("bitoko_lend"), trusted=False),
        server("attic", tool("tarnix_push")),
        agents={"north": ("forge",)},
    ),
    steps=(
        Step(unlock="approval", server="forgery", tools=("tamupo_open", "bitoko_lend")),
        Step(add=tool("fegadu_seal")[0], server="forgery"),
        Step(change="bitoko_lend", server="forgery", description="Lend bitoko, at once."),
        Step(refresh="forgery"),
        Step(lock="quarantine", server="attic"),
    ),
)
AT_ONCE = 12
"""Requests of each caller in a check of callers that ask at the same time."""
each_agent = pytest.mark.parametrize(
    "agent", [name for name, servers in SCOPE.agents.items() if len(servers) == 1]
)


@requirement("FR-007.hidden")
@on(SCOPE, needs=("agents",))
@each_agent
def test_nothing_beyond_the_scope_is_told_while_the_administrator_asks(
    bench: Bench, agent: str
) -> None:
    """While the administrator asks the same, answers to an agent name no tool beyond its scope.

    Eight threads ask with the flag, each in sessions of its own. Inconclusive if the flag reveals
    no tool beyond the scope to the administrator.
    """
    view = scoped(bench, agent)
    query = queries_beyond(bench, agent)[0]
    asked = [partial(each.discover, query, include_disabled=True) for each in (view, bench)]

    answers = bench.together(asked * AT_ONCE)[::2]

    leaks = {
        (a.reply.named(f"request {n}"), a.query): names_beyond(
            SCOPE, agent, a.text_without_echo(), a.query
        )
        for n, a in enumerate(answers, 1)
    }
    assert {request: names for request, names in leaks.items() if names} == {}


@requirement("FR-007.hidden")
@on(WITHHELD, needs=("agents",))
def test_no_withheld_tool_beyond_the_scope_is_told(bench: Bench) -> None:
    """Withheld tools beyond agent north's server, forge, are not revealed to it under the flag.

    They are pending, changed and quarantined tools; the name of the server forgery begins with
    forge's. Inconclusive if the flag reveals none of them to the administrator.
    """
    bench.needs_one_of("approval", "quarantine")
    view = scoped(bench, "north")
    hidden = [key for key in bench.armed.refused if key.server != "forge"]
    shown = bench.until(
        lambda: [key for key in hidden if key in bench.revealed(key.tool)],
        lambda revealed: len(revealed) == len(hidden),
    )
    bench.require(shown, "the flag revealed no withheld tool to the administrator")

    answers = {
        (key, query): view.widest(query, include_disabled=True)
        for key in shown
        for query in (key.tool, str(key))
    }

    leaks = {
        in_words({"query": query}): names
        for (key, query), answer in answers.items()
        if (names := names_beyond(WITHHELD, "north", answer.text_without_echo(), query))
        or (names := [str(listed) for listed in answer.statuses() if key.tool in listed.tool])
    }
    assert leaks == {}
