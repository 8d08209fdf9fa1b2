"""Which status a locked tool has: FR-004 and the first two edge cases."""

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
from mcp_proxy_conformance.discovery.locked import (
    ask,
    every_answer,
    own_answer,
    own_query,
    places,
)
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import CALLABLE, allowed_statuses, is_withheld
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable

MIXED = stage("mixed")
COMBOS = stage("combos")
SCOPE = stage("scope")
ALL_LOCKS = ("approval", "quarantine", "server_off")
BY_APPROVAL = {"pending_approval", "server_quarantined"}
TIMES, THREADS = 20, 8
WORDS = frozenset({*STATUSES, CALLABLE})
"""Where a tool can be told to be; any other word is for FR-004.enum."""


@requirement("FR-004.enum")
@on(MIXED)
def test_every_status_is_one_of_six_words(bench: Bench) -> None:
    """Whatever is asked on a stage with every lock kind, no other status is told."""
    queries = {*bench.world.queries(), *(key.tool for key in bench.armed.refused)}
    bench.require(bench.flag_alive, "the feature was not seen")

    answers = [bench.asked(query, include_disabled=True) for query in sorted(queries)]
    answers += [answer for _, answer in every_answer(bench, bench.armed.refused)]

    told = {str(entry.status) for answer in answers for entry in answer.disabled}
    assert told - {*STATUSES} == set()


@requirement("FR-004.precedence")
@on(COMBOS, needs=ALL_LOCKS)
@pytest.mark.parametrize("server", [server.name for server in COMBOS.servers])
def test_a_tool_with_several_locks_has_the_status_of_the_first(bench: Bench, server: str) -> None:
    """Each combination of locks is told as the fixed order of reasons allows."""
    states = {key: state for key, state in bench.states.items() if key.server == server}
    proven = [key for key, state in states.items() if state.callable or key in bench.armed.refused]
    bench.require(len(proven) == len(states), f"locks without effect: {bench.armed.unproven}")

    told = {key: seen for key in proven if (seen := places(bench, key) & _words(states[key]))}
    if not told and all(NOWHERE in allowed_statuses(states[key]) for key in proven):
        raise NotApplicable("none of these tools is listed, as their locks allow")
    bench.require(told, "none of these tools was revealed")

    compared = Comparison()
    for key, seen in told.items():
        compare_places(compared, key, states[key], seen)
    compared.conclude()


@requirement("FR-004.precedence")
@on(MIXED)
def test_each_kind_of_lock_has_its_own_status(bench: Bench) -> None:
    """Every refused tool of the stage is told as its lock allows, config before the user's."""
    bench.require(bench.flag_alive, "the feature was not seen")

    told = {key: places(bench, key) & _words(bench.states[key]) for key in bench.armed.refused}
    for key, answer in every_answer(bench, bench.armed.refused):
        told[key] |= {answer.status(key)} & _words(bench.states[key])
    bench.require(any(told.values()), "none of these tools was revealed")

    compared = Comparison()
    for key, seen in told.items():
        compare_places(compared, key, bench.states[key], seen)
    compared.conclude()


@requirement("FR-004.once")
@on(COMBOS)
def test_a_tool_with_several_locks_is_listed_once(bench: Bench) -> None:
    """No answer lists a tool twice, neither in one of its two parts nor across them."""
    answers = {own_query(bench, key): own_answer(bench, key) for key in bench.states}
    bench.require(any(answer.disabled for answer in answers.values()), "nothing was revealed")

    doubles = {query: found for query, answer in answers.items() if (found := _doubles(answer))}

    assert doubles == {}


@requirement("FR-004.once")
@on(MIXED)
def test_a_shared_word_lists_each_of_its_tools_once(bench: Bench) -> None:
    """Nor does an answer that has callable and locked entries."""
    queries = [word for word, shown in bench.armed.shown.items() if len(shown) > 1]
    answers = [bench.asked(query, include_disabled=True, limit=100) for query in queries]
    bench.require(any(a.disabled and a.tools for a in answers), "no answer has both parts")

    doubles = [_doubles(answer) for answer in answers]

    assert doubles == [[]] * len(answers)


@requirement("FR-004.once")
@on(MIXED)
def test_a_tool_with_several_locks_is_counted_once(bench: Bench) -> None:
    """The reasons of a server's counts add up to no more than its locked tools."""
    states = bench.states
    twice = [key for key in bench.armed.refused if states[key].config and states[key].user]
    bench.require(twice, "no tool with two locks was refused")
    home = twice[0].server
    locked = [k for k, s in states.items() if k.server == home and not s.callable]

    counts = bench.list().counts(home)
    bench.require(isinstance(counts, dict), "the server has no counts")

    counted = sum(int(number) for word, number in counts.items() if word in STATUSES)
    surplus = max(0, counted - len(locked))
    assert surplus == 0


@requirement("FR-004.config-skips-quarantine")
@on(COMBOS, needs=ALL_LOCKS)
def test_a_config_denied_tool_never_waits_for_approval(bench: Bench) -> None:
    """Pending, changed or quarantined besides, it is listed under neither of their statuses."""
    states = bench.states
    denied = [k for k in bench.armed.refused if states[k].config and is_withheld(states[k])]
    waiting = [key for key in bench.locked(approval="pending") if places(bench, key) & BY_APPROVAL]
    bench.require(denied and waiting, "no pending tool was revealed")

    told = {str(key): places(bench, key) & BY_APPROVAL for key in denied}

    assert told == dict.fromkeys(told, frozenset())


@requirement("FR-004.deterministic")
@on(MIXED)
def test_equal_calls_tell_equal_statuses(bench: Bench) -> None:
    """Twenty calls for one tool of each kind of lock put it in one and the same place."""
    kinds = {str(bench.states[key]): key for key in sorted(bench.armed.refused)}
    bench.require(bench.flag_alive and len(kinds) > 1, "the feature was not seen")

    told = {(str(k), ask(bench, k).status(k)) for k in kinds.values() for _ in range(TIMES)}

    several = _several(told)
    assert several == {}


@requirement("FR-004.deterministic")
@on(SCOPE)
def test_concurrent_calls_tell_equal_statuses(bench: Bench) -> None:
    """Eight threads with mixed flags and agents see one status of each tool that they see."""
    eyes = [bench]
    if "agents" in bench.started.target.capabilities:
        eyes += [bench.as_agent(name) for name in bench.world.agents]
    queries = [own_query(bench, key) for key in (*bench.armed.samples(), *bench.armed.samples())]
    calls = [(eye, query, flag) for query in queries for eye in eyes for flag in (True, ABSENT)]

    answers = bench.together([partial(_statuses, *call) for call in calls], THREADS)

    told = {place for answer in answers for place in answer}
    bench.require(told, "the feature was not seen")
    several = _several(told)
    assert several == {}


def _words(state: ToolState) -> frozenset[str]:
    """Where a tool may be told to be; that one under a single lock is missing is for FR-001."""
    return WORDS if state in REVEALS else WORDS | {NOWHERE}


def _statuses(eye: Bench, query: str, flag: object) -> list[tuple[str, str]]:
    answer = eye.discover(query, include_disabled=flag)
    return [(str(key), str(status)) for key, status in answer.statuses().items()]


def _several(told: set[tuple[str, str]]) -> dict[str, list[str]]:
    """The tools that were told under more than one status."""
    found = {key: sorted(status for one, status in told if one == key) for key, _ in told}
    return {key: statuses for key, statuses in found.items() if len(statuses) > 1}


def _doubles(answer: Answer) -> list[ToolKey]:
    """The tools that have more than one entry in an answer."""
    entries = Counter(entry.key for entry in (*answer.tools, *answer.disabled))
    return sorted(key for key, number in entries.items() if number > 1)
