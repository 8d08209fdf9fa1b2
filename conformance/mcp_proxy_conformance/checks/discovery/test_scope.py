"""What discovery tells a scoped agent of locked tools beyond its scope: FR-007."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.discovery.agents import (
    names_beyond,
    scoped,
    statuses_beyond,
    telling_queries,
)
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage
from mcp_proxy_conformance.verdict import NotApplicable

SCOPE = stage("scope")
GROUPS = [group for one in SCOPE.tools().values() for group in one.groups]
SHARED = max(GROUPS, key=GROUPS.count)
each_agent = pytest.mark.parametrize(
    "agent", [name for name, servers in SCOPE.agents.items() if len(servers) == 1]
)


@requirement("FR-007.hidden")
@on(SCOPE, needs=("agents",))
@each_agent
def test_nothing_beyond_the_scope_is_told_under_the_flag(bench: Bench, agent: str) -> None:
    """No name, server, word or canary of a tool beyond the scope stands in a flagged answer."""
    view = scoped(bench, agent)
    queries = telling_queries(bench, agent)

    answers = [view.asked(query, include_disabled=True) for query in queries]

    leaks = {a.query: names_beyond(SCOPE, agent, a.text_without_echo(), a.query) for a in answers}
    assert {query: names for query, names in leaks.items() if names} == {}


@requirement("FR-007.hidden")
@on(SCOPE, needs=("agents",))
@each_agent
def test_no_remediation_is_given_for_locks_beyond_the_scope(bench: Bench, agent: str) -> None:
    """A status that only tools beyond the scope have is no key of the remediation map."""
    view = scoped(bench, agent)
    caused = {q: statuses_beyond(bench, agent, q) for q in telling_queries(bench, agent)}

    answers = [view.asked(query, include_disabled=True) for query in caused]

    own = {answer.query: set(answer.statuses().values()) for answer in answers}
    extra = {a.query: (set(a.remediation or {}) & caused[a.query]) - own[a.query] for a in answers}
    assert {query: keys for query, keys in extra.items() if keys} == {}


@requirement("FR-007.note")
@on(SCOPE, needs=("agents",))
@each_agent
def test_no_note_appears_for_matches_beyond_the_scope(bench: Bench, agent: str) -> None:
    """Where the flag reveals nothing to the agent, its default answer has no note either."""
    view = scoped(bench, agent)
    bench.require(bench.note_alive, "no note was seen on this stage")
    only = [query for query in telling_queries(bench, agent) if not view.revealed(query)]
    bench.require(only, "every query reveals locked tools within the scope as well")

    notes = {query: view.asked(query).note for query in only}

    assert {query: note for query, note in notes.items() if note} == {}


@requirement("FR-007.note")
@on(SCOPE, needs=("agents",))
@each_agent
def test_the_note_does_not_count_matches_beyond_the_scope(bench: Bench, agent: str) -> None:
    """Of a word that both servers share, the note tells no more than the agent's own tools."""
    view = scoped(bench, agent)
    telling_queries(bench, agent)
    locked = [key for key, state in bench.states.items() if not state.callable]
    own = sum(key.server in SCOPE.agents[agent] for key in locked)
    everyone = sum(SHARED in bench.tools[key].groups for key in locked)

    answer = view.discover(SHARED)
    told = numbers_in(answer.note or "")

    if answer.tools:
        raise NotApplicable("the answer lists a callable tool: no note is due")
    bench.require(told, "the agent was told no number by a note")
    bench.require(own < everyone, "the stage has too few matches beyond the scope")
    assert [number for number in told if min(told) > own and number <= everyone] == []
