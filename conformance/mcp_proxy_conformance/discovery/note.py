"""Note of a default answer (FR-009): when it is owed, and which numbers it may have."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolState, World
from mcp_proxy_conformance.discovery.agents import beyond, onlookers
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import is_withheld, must_have_note
from mcp_proxy_conformance.verdict.exchanges import Exactly, View
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable


def queries_of(world: World) -> tuple[str, ...]:
    """Return queries by which locked tools of this world are to be found, each once.

    They are words shared by tools, and the names of tools that only their exact name must find:
    those added or changed, or whose server is quarantined.
    """
    names = [step.add.name if step.add else step.change for step in world.steps]
    quarantined = {step.server for step in world.steps if step.lock == "quarantine"}
    names += [key.tool for key in world.tools() if key.server in quarantined]
    groups = [group for tool in world.tools().values() for group in tool.groups]
    return tuple(dict.fromkeys([*groups, *(name for name in names if name)]))


def on_stages_of_locked_tools() -> pytest.MarkDecorator:
    """Return a decorator that gives a check each stage where queries find only locked tools.

    The check's argument `queries` gets the queries to ask there.
    """
    worlds = [stage("alone"), stage("shut")]
    params = [
        pytest.param(
            queries_of(world), marks=pytest.mark.on(world, fresh=False, needs=()), id=world.id
        )
        for world in worlds
    ]
    return pytest.mark.parametrize("queries", params)


def owed(bench: Bench, queries: Iterable[str], limit: Any = ABSENT) -> dict[Exactly, Answer]:
    """Return, by query, the answers that owe a note: no callable tool, yet a relevant one revealed.

    `limit` is that of the requests without the flag. An error owes a note, too, if the same request
    is answered with one again, unless its text names the flag or the request with the flag is an
    error as well. Raises NotApplicable if callable tools     answer every query, Inconclusive if no
    note is owed.
    """
    answers = {query: _answer(bench, query, limit) for query in queries}
    open_tools = any(state.callable for state in bench.states.values())
    if open_tools and all(answer.tools for answer in answers.values()):
        raise NotApplicable("its search lists callable tools for every query, so no note is due")
    owing = {
        answer.reply.named(query): answer
        for query, answer in answers.items()
        if not _is_excused(bench, answer)
        and must_have_note(
            callables=len(answer.tools),
            relevant=sum(bench.relevant(k, query) for k in bench.revealed(query)),
        )
    }
    bench.require(
        owing, "the flag revealed no relevant tool for a query that finds no callable one"
    )
    return owing


def _answer(bench: Bench, query: str, limit: Any) -> Answer:
    """Return the answer without the flag; that of a second request if the first one is an error."""
    answer = bench.asked(query, limit=limit)
    return answer if answer.error is None else bench.discover(query, limit=limit)


def _is_excused(bench: Bench, answer: Answer) -> bool:
    """Whether an answer is an error that names the flag, or its query with the flag is one as well.

    False for an answer that is not an error.
    """
    if answer.error is None:
        return False
    flagged = bench.asked(answer.query, include_disabled=True, limit=100)
    return FLAG in answer.error or flagged.error is not None


def owed_everywhere(bench: Bench, queries: Iterable[str]) -> dict[tuple[str, ...], Answer]:
    """Return the answers that owe a note, as `owed` does, from every view of the target.

    Views are the bench itself, the same at limit 1, other endpoints, and agents of every
    server. Keys are the query and the view. A view where no note is owed is left out; for
    the bench itself, NotApplicable or Inconclusive is raised.
    """
    queries = tuple(queries)
    owing: dict[tuple[str, ...], Answer] = {
        (query, bench.place): answer for query, answer in owed(bench, queries).items()
    }
    limited = [(View("at limit 1"), bench, 1)]
    limited += [(place, view, ABSENT) for place, view in onlookers(bench).items()]
    for place, view, limit in limited:
        with suppress(Inconclusive, NotApplicable):
            answers = owed(view, queries, limit)
            owing |= {(query, place): answer for query, answer in answers.items()}
    return owing


INDEXED = (ToolState(config=True), ToolState(user=True), ToolState(config=True, user=True))
"""The locks whose tools stay in the search index, so that their number can be known."""


def leads_on(answer: Answer) -> bool:
    """Whether the answer's note names the flag; False without a note."""
    return FLAG in (answer.note or "")


def numbers_allowed(bench: Bench, query: str) -> tuple[set[int], Bounds]:
    """Return (the numbers of locked matches that the flag shows, bounds of a note's number).

    A target may count the entries of one answer or all matches, with or without those that it
    lists for any query, of which some may match: hence up to five numbers.
    """
    sections = [bench.revealed(query), bench.revealed(query, limit=ABSENT)]
    indexed = [sum(bench.states.get(key) in INDEXED for key in section) for section in sections]
    relevant = sum(bench.relevant(key, query) for key in sections[0])
    most = most_matches(bench, query)
    bounds = Bounds(min=min(indexed), max=most if most is None else max(most, *indexed))
    return {*map(len, sections), *indexed, relevant}, bounds


def most_matches(bench: Bench, query: str) -> int | None:
    """Return how many locked tools in scope may match a query; None for 100 matches or more.

    These are the tools that the query found while callable, or is meant to find, and all
    withheld ones, which may be listed whatever the query is. Those that cannot be looked up count.
    """
    listed, states = bench.armed.shown.get(query, ()), bench.states
    if len(listed) >= SHOW_LIMIT:
        return None
    meant = [key for key in states if is_withheld(states[key]) or bench.tools[key].holds(query)]
    outside = () if bench.agent is None else beyond(bench.world, bench.agent)
    matches = {key for key in (*meant, *listed) if key.server not in outside}
    if len(matches) >= SHOW_LIMIT:
        return None
    found = [states.get(key, ToolState()) for key in matches]
    return sum(state.lost or not state.callable for state in found)


def counts_right(note: str, numbers: Collection[int], bounds: Bounds, *, full: bool) -> bool:
    """Whether a number in the note is among `numbers` or, if `full`, within the bounds.

    `full`: more tools may match than are shown.
    """
    return any(bounds.holds(number) if full else number in numbers for number in numbers_in(note))
