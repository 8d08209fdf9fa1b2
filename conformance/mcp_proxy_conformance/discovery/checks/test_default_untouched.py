"""Default answers with the flag false or absent: equal to the byte: FR-002."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import CONFIG, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.calibration import ByteDifference, differences
from mcp_proxy_conformance.discovery.forms import exact_answer, unequal
from mcp_proxy_conformance.discovery.offered import places
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import NotApplicable

ALONE, CROWD, MIXED = stage("alone"), stage("crowd"), stage("mixed")
PLAIN, SCOPE = stage("plain"), stage("scope")
UNLOCKED = msgspec.structs.replace(PLAIN, id="plain-unlocked", steps=())
REQUESTS = tuple(request for request in PLAIN.requests if "agent" not in request)
FORGE = world(server("forge", tool("zorvik_list"), tool("mobel_drop")))
DROPPED = ToolKey("forge", "mobel_drop")
Place = tuple[str, ...]
Bytes = dict[Place, bytes]


def answered(bench: Bench, requests: Iterable[Mapping[str, Any]]) -> int:
    """Return how many of the requests' queries find a callable tool when sent without the flag."""
    return sum(bool(bench.discover(request["query"]).tools) for request in requests)


def differing_bytes(
    view: Bench, requests: Iterable[Mapping[str, Any]], *, apart: bool = False
) -> tuple[Bytes, Bytes]:
    """Return two maps of the bytes that differ: those with the flag false, and those without it.

    Keys are agent, endpoint, wire, request and place in the answer; both are empty if no byte
    differs. With `apart` each call has a session of its own.
    """
    unlike = unequal(view, requests, apart=apart)
    viewer = f"agent {view.agent}" if view.agent else ""
    endpoint = f"at {view.endpoint}" if view.endpoint else ""
    wire = view.wire if view.wire != "auto" else ""
    places: dict[Place, ByteDifference] = {
        (viewer, endpoint, wire, request, change.place): change
        for request, changes in unlike.items()
        for change in changes
    }
    return sides(places)


def sides(changes: Mapping[Place, ByteDifference]) -> tuple[Bytes, Bytes]:
    """Return two maps by place: the bytes of an answer that differ, and those they should equal."""
    observed = {place: change.actual for place, change in changes.items()}
    return observed, {place: change.usual for place, change in changes.items()}


def queries(*words: str) -> list[dict[str, Any]]:
    """Return a request for each of these words, with no other argument."""
    return [{"query": word} for word in words]


@requirement("FR-002.absent-is-false")
@on(PLAIN)
def test_false_is_absent_among_everyday_tools_of_which_some_are_locked(bench: Bench) -> None:
    """Every ninth request of the stage gets the same bytes with the flag false and without it.

    Inconclusive if fewer than three of them find a callable tool.
    """
    requests = REQUESTS[::9]
    bench.require(answered(bench, requests) >= 3, "fewer than 3 requests found a callable tool")

    with_false, without_flag = differing_bytes(bench, requests)

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(UNLOCKED)
def test_false_is_absent_where_nothing_is_locked(bench: Bench) -> None:
    """If nothing is locked, requests get the same bytes with the flag false and without it.

    Every ninth request of the stage is sent; inconclusive if fewer than three find a callable
    tool.
    """
    requests = REQUESTS[3::9]
    bench.require(answered(bench, requests) >= 3, "fewer than 3 requests found a callable tool")

    with_false, without_flag = differing_bytes(bench, requests)

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(MIXED)
def test_false_is_absent_whatever_lies_on_the_tools(bench: Bench) -> None:
    """The flag false and absent get the same bytes, whichever locks the matching tools have.

    One tool of each combination of locks is asked for, by its word and by its name.
    Inconclusive if fewer than two requests find a callable tool.
    """
    kinds = {bench.states[key]: key for key in bench.tools if key in bench.states}
    words = [bench.tools[key].word for key in kinds.values()]
    requests = queries(*words, *(key.tool for key in kinds.values()), "pipekan")
    bench.require(answered(bench, requests) >= 2, "fewer than 2 requests found a callable tool")

    with_false, without_flag = differing_bytes(bench, requests)

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(MIXED)
def test_false_is_absent_in_sessions_of_their_own(bench: Bench) -> None:
    """The flag false and absent get the same bytes when sent in separate sessions.

    Three words are asked for; inconclusive if fewer than two find a callable tool.
    """
    requests = queries("pipekan", "tovafu", "patoku")
    bench.require(answered(bench, requests) >= 2, "fewer than 2 requests found a callable tool")

    with_false, without_flag = differing_bytes(bench, requests, apart=True)

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(MIXED)
def test_false_is_absent_at_every_endpoint(bench: Bench) -> None:
    """The flag false and absent get the same bytes at other endpoints, and without a session.

    Not applicable if there is neither another endpoint nor the stateless revision, inconclusive if
    fewer than two of three words find a callable tool.
    """
    views = places(bench)
    if not views:
        raise NotApplicable("discovery is offered at one endpoint and in one kind of revision only")
    requests = queries("pipekan", "tovafu", "patoku")
    bench.require(answered(bench, requests) >= 2, "fewer than 2 requests found a callable tool")

    with_false, without_flag = Bytes(), Bytes()
    for view in views.values():
        false, absent = differing_bytes(view, requests)
        with_false |= false
        without_flag |= absent

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(ALONE)
def test_false_is_absent_where_only_locked_tools_match(bench: Bench) -> None:
    """An answer with the note has the same bytes with the flag false and without it.

    Words of locked tools are asked for, one also at limit 1. Inconclusive if a word of a
    callable tool does not find it.
    """
    bench.require(answered(bench, queries("debazu")), "no query finds a callable tool")
    groups = sorted({group for tool in bench.tools.values() for group in tool.groups})
    requests = [*queries(*groups), {"query": groups[0], "limit": 1}]

    with_false, without_flag = differing_bytes(bench, requests)

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(CROWD)
@pytest.mark.parametrize("limit", [1, 100])
def test_false_is_absent_at_every_limit_beside_hundreds_of_locked_tools(
    bench: Bench, limit: int
) -> None:
    """The flag false and absent get the same bytes, even beside hundreds of locked tools.

    A word of callable tools and the word of most tools are asked for, at limits 1 and 100.
    Inconclusive if neither finds a callable tool.
    """
    groups = Counter(group for tool in bench.tools.values() for group in tool.groups)
    callables = {g for k, s in bench.states.items() if s.callable for g in bench.tools[k].groups}
    words = [min(callables), groups.most_common(1)[0][0]]
    bench.require(answered(bench, queries(*words)), "no shared word finds a callable tool")

    with_false, without_flag = differing_bytes(
        bench, ({"query": word, "limit": limit} for word in words)
    )

    assert with_false == without_flag


@requirement("FR-002.absent-is-false")
@on(SCOPE, needs=("agents",))
@pytest.mark.parametrize("agent", sorted(SCOPE.agents))
def test_false_is_absent_for_agents_of_narrow_scope(bench: Bench, agent: str) -> None:
    """The flag false and absent get an agent the same bytes, inside and outside its scope.

    Six queries are sent; inconclusive if fewer than two find the agent a callable tool.
    """
    eyes = bench.as_agent(agent)
    requests = queries("vedivimo", "lidamo", "dagapa", "kefanitu", "torizo", "tuduvum")
    bench.require(answered(eyes, requests) >= 2, "fewer than 2 requests found a callable tool")

    with_false, without_flag = differing_bytes(eyes, requests)

    assert with_false == without_flag


@requirement("FR-002.restored")
@on(FORGE)
def test_the_bytes_come_back_with_the_unlock(bench: Bench) -> None:
    """After a config lock and its unlock, the default answer has the same bytes as before.

    It has the settle time to get there. Inconclusive if calls do not show the lock, or the unlock.
    """
    usual = [exact_answer(bench, {"query": "mobel"}, "A") for _ in range(4)]

    bench.operator.lock(CONFIG, "forge", ["mobel_drop"])
    bench.require(bench.refused(DROPPED), "the lock had no effect", "no_effect")
    bench.operator.unlock(CONFIG, "forge", ["mobel_drop"])
    bench.require(bench.reached(DROPPED), "the unlock had no effect", "no_effect")

    moved = bench.until(
        lambda: differences(usual, [exact_answer(bench, {"query": "mobel"}, "A")], bench.cut),
        lambda changes: not changes,
    )
    request = f"{in_words({'query': 'mobel'})}, after the unlock"
    after, before = sides({(request, m.place): m for m in moved})
    assert after == before
