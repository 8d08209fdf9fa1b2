"""Default answers with the flag false or absent: equal to the byte: FR-002."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import CONFIG, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.calibration import ByteDifference, differences
from mcp_proxy_conformance.discovery.forms import exact_answer, unequal
from mcp_proxy_conformance.discovery.requests import in_words

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
