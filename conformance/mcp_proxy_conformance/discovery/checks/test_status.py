"""Statuses of locked tools: six words, precedence of locks, one entry, repeatable: FR-004."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.grounds import REVEALS, compare_places
from mcp_proxy_conformance.discovery.locked_entries import (
    ask,
    every_answer,
    own_answer,
    own_query,
    places,
)
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import CALLABLE, allowed_statuses, is_withheld
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable

MIXED = stage("mixed")
COMBOS = stage("combos")
SCOPE = stage("scope")
ALL_LOCKS = ("approval", "quarantine", "server_off")
BY_APPROVAL = {"pending_approval", "server_quarantined"}
TIMES, THREADS = 20, 8
WORDS = frozenset({*STATUSES, CALLABLE})
"""Places that a tool can have; any other word is for FR-004.enum."""


@requirement("FR-004.enum")
@on(MIXED)
def test_every_status_is_one_of_six_words(bench: Bench) -> None:
    """On a stage with every lock kind, no query returns a status outside the six.

    Other endpoints and agents that see every server are asked, too. Inconclusive if the flag
    reveals nothing.
    """
    queries = {*bench.world.queries(), *(key.tool for key in bench.armed.refused)}
    bench.expect_revealing()

    answers = [bench.asked(query, include_disabled=True) for query in sorted(queries)]
    answers += [answer for _, answer in every_answer(bench, bench.armed.refused)]

    statuses = {
        a.reply.named(
            entry.status if isinstance(entry.members.get("status"), str) else "not a text"
        )
        for a in answers
        for entry in a.disabled
    }
    assert statuses - {*STATUSES} == set()


@requirement("FR-004.precedence")
@on(COMBOS, needs=ALL_LOCKS)
@pytest.mark.parametrize("server", [server.name for server in COMBOS.servers])
def test_a_tool_with_several_locks_has_the_status_of_the_first(bench: Bench, server: str) -> None:
    """Each combination of locks has a status that the fixed order of reasons allows.

    Inconclusive if a lock of the server is unproven, or if none of its tools is listed although
    one must be. Not applicable if none is listed and their locks allow that.
    """
    states = {key: state for key, state in bench.states.items() if key.server == server}
    proven = [key for key, state in states.items() if state.callable or key in bench.armed.refused]
    bench.require(len(proven) == len(states), "a lock had no effect", "no_effect")

    shown = {
        key: observed
        for key in proven
        if (observed := places(bench, key) & _judged_places(states[key]))
    }
    if not shown and all(NOWHERE in allowed_statuses(states[key]) for key in proven):
        raise NotApplicable("none of these tools is listed, which their locks allow")
    bench.require_revealed(shown)

    compared = Comparison()
    for key, observed in shown.items():
        compare_places(compared, key, states[key], observed)
    compared.conclude()


@requirement("FR-004.precedence")
@on(MIXED)
def test_each_kind_of_lock_has_its_own_status(bench: Bench) -> None:
    """Every refused tool has a status that its lock allows, config before the user's.

    Answers to its own query and from other views are read; a tool under a single lock that is not
    listed is left to FR-001. Inconclusive if the flag reveals none of them.
    """
    bench.expect_revealing()

    shown = {
        key: places(bench, key) & _judged_places(bench.states[key]) for key in bench.armed.refused
    }
    for key, answer in every_answer(bench, bench.armed.refused):
        shown[key] |= {answer.status(key)} & _judged_places(bench.states[key])
    bench.require_revealed(any(shown.values()))

    compared = Comparison()
    for key, observed in shown.items():
        compare_places(compared, key, bench.states[key], observed)
    compared.conclude()


@requirement("FR-004.once")
@on(COMBOS)
def test_a_tool_with_several_locks_is_listed_once(bench: Bench) -> None:
    """No answer to a tool's own query lists a tool twice, as callable, as locked, or as both.

    Inconclusive if the flag reveals nothing.
    """
    answers = {own_query(bench, key): own_answer(bench, key) for key in bench.states}
    bench.require_revealed(any(answer.disabled for answer in answers.values()))

    doubles = {
        in_words({"query": query, "include_disabled": True}): doubled
        for query, answer in answers.items()
        if (doubled := _doubles(answer))
    }

    assert doubles == {}


@requirement("FR-004.once")
@on(MIXED)
def test_a_shared_word_lists_each_of_its_tools_once(bench: Bench) -> None:
    """An answer with callable and locked entries lists no tool twice.

    Words that found two tools or more are asked for, at limit 100. Inconclusive if no answer
    has entries of both kinds.
    """
    queries = [word for word, shown in bench.armed.shown.items() if len(shown) > 1]
    answers = [bench.asked(query, include_disabled=True, limit=100) for query in queries]
    bench.require(
        any(a.disabled and a.tools for a in answers), "no answer had both callable and locked tools"
    )

    doubles = {
        in_words({"query": answer.query, "limit": 100, "include_disabled": True}): doubled
        for answer in answers
        if (doubled := _doubles(answer))
    }

    assert doubles == {}


@requirement("FR-004.once")
@on(MIXED)
def test_a_tool_with_several_locks_is_counted_once(bench: Bench) -> None:
    """The reasons of a server's counts add up to no more than its locked tools.

    One of them is locked by config and by the user; inconclusive if its call was not refused,
    or the server has no block.
    """
    states = bench.states
    twice = [key for key in bench.armed.refused if states[key].config and states[key].user]
    bench.require(twice, "no call of a tool with both a config and a user lock was refused")
    home = twice[0].server
    locked = [k for k, s in states.items() if k.server == home and not s.callable]

    counts = bench.list().counts(home)
    bench.require(isinstance(counts, dict), "no counts block was seen")

    counted = sum(int(number) for word, number in counts.items() if word in STATUSES)
    place = home, "sum of the reasons"
    assert {place: counted} == {place: min(counted, len(locked))}


@requirement("FR-004.config-skips-quarantine")
@on(COMBOS, needs=ALL_LOCKS)
def test_a_config_denied_tool_never_waits_for_approval(bench: Bench) -> None:
    """A config-denied tool is never listed as pending or quarantined, even if it also is.

    A tool that only waits for approval is the control: inconclusive unless it is listed so.
    """
    states = bench.states
    denied = [k for k in bench.armed.refused if states[k].config and is_withheld(states[k])]
    waiting = [key for key in bench.locked(approval="pending") if places(bench, key) & BY_APPROVAL]
    bench.require(
        denied and waiting,
        "the flag revealed no pending tool, or no call of a config-denied tool was refused",
    )

    waits = {str(key): places(bench, key) & BY_APPROVAL for key in denied}

    assert waits == dict.fromkeys(waits, frozenset())


@requirement("FR-004.deterministic")
@on(MIXED)
def test_equal_calls_tell_equal_statuses(bench: Bench) -> None:
    """Twenty queries in a row for a tool return the same status, for each combination of locks.

    Inconclusive if the flag reveals nothing.
    """
    kinds = {str(bench.states[key]): key for key in sorted(bench.armed.refused)}
    bench.require_revealed(bench.flag_alive and len(kinds) > 1)

    pairs = {(str(k), ask(bench, k).status(k)) for k in kinds.values() for _ in range(TIMES)}

    several = _several(pairs)
    assert several == {}


@requirement("FR-004.deterministic")
@on(SCOPE)
def test_concurrent_calls_tell_equal_statuses(bench: Bench) -> None:
    """Eight threads with mixed flags and agents get the same status for each tool.

    Up to six locked tools are asked for; inconclusive if no answer lists a locked tool.
    """
    eyes = [bench]
    if "agents" in bench.started.target.capabilities:
        eyes += [bench.as_agent(name) for name in bench.world.agents]
    queries = [own_query(bench, key) for key in (*bench.armed.samples(), *bench.armed.samples())]
    calls = [(eye, query, flag) for query in queries for eye in eyes for flag in (True, ABSENT)]

    answers = bench.together([partial(_statuses, *call) for call in calls], THREADS)

    pairs = {place for answer in answers for place in answer}
    bench.require_revealed(pairs)
    several = _several(pairs)
    assert several == {}


def _judged_places(state: ToolState) -> frozenset[str]:
    """Return the places of a tool in that state that are judged here.

    These are the statuses, `callable` and `absent`; that a tool under a single lock is absent is
    left to FR-001.
    """
    return WORDS if state in REVEALS else WORDS | {NOWHERE}


def _statuses(eye: Bench, query: str, flag: object) -> list[tuple[str, str]]:
    """Return (tool, status) for each locked entry of the answer to the query with that flag."""
    answer = eye.discover(query, include_disabled=flag)
    return [(str(key), status) for key, status in answer.statuses().items()]


def _several(pairs: set[tuple[str, str]]) -> dict[str, list[str]]:
    """Map each tool with several statuses in these (tool, status) pairs to its sorted statuses."""
    by_key = {key: sorted(status for name, status in pairs if name == key) for key, _ in pairs}
    return {key: statuses for key, statuses in by_key.items() if len(statuses) > 1}


def _doubles(answer: Answer) -> list[ToolKey]:
    entries = Counter(entry.key for entry in (*answer.tools, *answer.disabled))
    return sorted(key for key, number in entries.items() if number > 1)
