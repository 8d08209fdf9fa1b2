"""An agent's scope in discovery: no entry, count, remediation or note of tools beyond: FR-007."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import Step, server, tool, world
from mcp_proxy_conformance.discovery.agents import (
    names_beyond,
    queries_beyond,
    scoped,
    statuses_beyond,
)
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.counts import more_than, own_locked, whole_result
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.offered import places
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import NotApplicable

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
def test_nothing_beyond_the_scope_is_told_under_the_flag(bench: Bench, agent: str) -> None:
    """An answer with the flag contains no name or text of a tool beyond the agent's scope.

    The same holds for the whole result, at other endpoints, in the stateless revision, and
    right after the administrator has asked the same. Inconclusive if the flag reveals no tool
    beyond the scope to the administrator.
    """
    view = scoped(bench, agent)
    queries = queries_beyond(bench, agent)
    views = {view.place: view} | places(view)

    answers = {
        (query, place): _after_the_administrator(there, query, include_disabled=True)
        for place, there in views.items()
        for query in queries
    }

    leaks = {
        place: names_beyond(SCOPE, agent, a.text_without_echo(), a.query)
        for place, a in answers.items()
    }
    assert {place: names for place, names in leaks.items() if names} == {}


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
@on(SCOPE, needs=("agents",))
@each_agent
def test_no_count_in_an_answer_includes_locks_beyond_the_scope(bench: Bench, agent: str) -> None:
    """No number beside a status, anywhere in the result, exceeds the agent's own locked tools.

    The same holds with the flag and without it. Inconclusive if the flag reveals no tool beyond
    the scope to the administrator.
    """
    view = scoped(bench, agent)
    queries = queries_beyond(bench, agent)
    own = own_locked(bench, agent)

    answers = {
        in_words({"query": query} | flag): view.asked(query, **flag)
        for query in queries
        for flag in ({}, {"include_disabled": True})
    }

    more = {place: more_than(own, whole_result(a.reply)) for place, a in answers.items()}
    assert {place: numbers for place, numbers in more.items() if numbers} == {}


@requirement("FR-007.hidden")
@on(SCOPE, needs=("agents",))
@each_agent
def test_no_remediation_is_given_for_locks_beyond_the_scope(bench: Bench, agent: str) -> None:
    """A status that only tools beyond the scope have is not a key of the remediation map.

    It is a status that the flag reveals for the same query to the administrator alone.
    Inconclusive if there is no such query.
    """
    view = scoped(bench, agent)
    caused = {q: statuses_beyond(bench, agent, q) for q in queries_beyond(bench, agent)}

    answers = [view.asked(query, include_disabled=True) for query in caused]

    own = {answer.query: set(answer.statuses().values()) for answer in answers}
    extra = {a.query: (set(a.remediation or {}) & caused[a.query]) - own[a.query] for a in answers}
    assert {query: keys for query, keys in extra.items() if keys} == {}


@requirement("FR-007.note")
@on(SCOPE, needs=("agents",))
@each_agent
def test_no_note_appears_for_matches_beyond_the_scope(bench: Bench, agent: str) -> None:
    """A query that reveals nothing to the agent with the flag gets no note without it.

    The same holds at other endpoints, and right after the administrator has asked the same.
    Inconclusive if no note was seen, or if every query reveals locked tools to the agent.
    """
    view = scoped(bench, agent)
    bench.require_note(bench.note_alive)
    own = [k for k, s in bench.states.items() if k.server in SCOPE.agents[agent] and not s.callable]
    only = [
        query
        for query in queries_beyond(bench, agent)
        if not view.revealed(query) and not any(bench.tools[k].holds(query) for k in own)
    ]
    bench.require(only, "every query also reveals locked tools within the scope")

    notes = {
        (query, place): _after_the_administrator(there, query).note
        for place, there in ({view.place: view} | places(view)).items()
        for query in only
    }

    assert {place: note for place, note in notes.items() if note} == {}


@requirement("FR-007.note")
@on(SCOPE, needs=("agents",))
@each_agent
def test_the_note_does_not_count_matches_beyond_the_scope(bench: Bench, agent: str) -> None:
    """For a word shared by both servers, the note counts only tools within the agent's scope.

    The note is wrong if its numbers exceed the agent's own locked tools, and one does not exceed
    all that match. Not applicable if the answer lists a callable tool; inconclusive if the note has
    no number, or too few tools beyond the scope match to tell.
    """
    view = scoped(bench, agent)
    queries_beyond(bench, agent)
    locked = [key for key, state in bench.states.items() if not state.callable]
    own = sum(key.server in SCOPE.agents[agent] for key in locked)
    everyone = sum(SHARED in bench.tools[key].groups for key in locked)

    answer = _after_the_administrator(view, SHARED)
    numbers = numbers_in(answer.note or "")

    if answer.tools:
        raise NotApplicable("the answer lists a callable tool, so no note is due")
    bench.require(numbers, "the agent's note has no number")
    bench.require(own < everyone, "too few locked tools beyond the scope match")
    too_many = min(numbers) > own and any(number <= everyone for number in numbers)
    over = {SHARED: answer.note} if too_many else {}
    assert over == dict.fromkeys(over, f"at most {own}")


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


def _after_the_administrator(view: Bench, query: str, *, include_disabled: Any = ABSENT) -> Answer:
    """Ask as the administrator, then as the view's agent, with that flag; return the latter.

    A target that keeps answers must not give an agent the administrator's.
    """
    view.as_agent(None).discover(query, include_disabled=include_disabled)
    return view.discover(query, include_disabled=include_disabled)
