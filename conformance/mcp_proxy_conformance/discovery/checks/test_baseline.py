"""Default answers and listings compared with a recording of an earlier build: SC-001, SC-005."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.discovery.baseline.body import Body
from mcp_proxy_conformance.discovery.baseline.comparison import answers_changed, entries_changed
from mcp_proxy_conformance.discovery.baseline.manifest import Kind, Recording, read
from mcp_proxy_conformance.discovery.baseline.recorder import (
    STAGE,
    UNLOCKED,
    bodies,
    both_phases,
    requests,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import NotApplicable

QUERIES = tuple(request for request in requests() if "list" not in request)
LISTINGS = tuple(request for request in requests() if "list" in request)


@requirement("SC-001.baseline")
@on(UNLOCKED, fresh=True, needs=("baseline",))
def test_default_answers_are_those_of_the_build_before_the_feature(bench: Bench) -> None:
    """Before and after locks, every recorded query gets the recorded bytes, except the note.

    Not compared are members that vary between equal requests in the recording, and queries of
    agents if the target has none. Not applicable unless `--baseline` names a recording of a build
    before the feature. Inconclusive if a lock has no effect, or most answers cannot be read.
    """
    old = _recording(bench, "pre_feature")
    new = _asked_before_and_after_locks(bench, QUERIES)

    changed = answers_changed(old.bodies, new, _members(bench))

    places = {(request, f"{c.at} near byte {c.offset}"): c for request, c in changed.items()}
    observed = {place: change.actual for place, change in places.items()}
    assert observed == {place: change.usual for place, change in places.items()}


@requirement("SC-005.baseline")
@on(UNLOCKED, fresh=True, needs=("baseline",))
def test_entries_of_callable_servers_are_those_of_the_build_before_the_feature(
    bench: Bench,
) -> None:
    """The listing before any lock, and later the entries of unlocked servers, are as recorded.

    They are compared by the byte, except members that vary between equal requests in the recording.
    Not applicable unless `--baseline` names a recording of a build before the feature. Inconclusive
    if a lock has no effect, or most answers cannot be read.
    """
    old = _recording(bench, "pre_feature")
    new = _asked_before_and_after_locks(bench, LISTINGS)

    changed = entries_changed(old.bodies, new, _members(bench))

    places = {(request, f"{c.at} near byte {c.offset}"): c for request, c in changed.items()}
    observed = {place: change.actual for place, change in places.items()}
    assert observed == {place: change.usual for place, change in places.items()}


@requirement("SUITE.changed")
@on(UNLOCKED, fresh=True, needs=("baseline",))
def test_default_output_is_that_of_the_earlier_build(bench: Bench) -> None:
    """Default output equals an earlier build's with the feature, or the change is accepted.

    Compared by the byte are answers to queries, and listings: all of them before locks, later the
    entries of unlocked servers. Members that vary between equal requests in the recording are left
    out. Not applicable unless `--baseline` names a recording of a build that has the feature.
    Inconclusive if a lock has no effect, or most answers cannot be read.
    """
    old = _recording(bench, "previous")
    new = _asked_before_and_after_locks(bench, (*QUERIES, *LISTINGS))

    members = _members(bench)
    changed = answers_changed(old.bodies, new, members) | entries_changed(old.bodies, new, members)

    places = {(request, f"{c.at} near byte {c.offset}"): c for request, c in changed.items()}
    observed = {place: change.actual for place, change in places.items()}
    assert observed == {place: change.usual for place, change in places.items()}


def _recording(bench: Bench, kind: Kind) -> Recording:
    """Return the recording that `--baseline` names.

    `kind` is "pre_feature" or "previous". Inconclusive without a baseline, not applicable if it is
    of the other kind. Members that varied between equal requests in it are noted, for the report,
    as not compared.
    """
    folder = bench.started.target.baseline
    bench.require(folder is not None, "no baseline was named; name one with --baseline")
    assert folder is not None
    recording = read(folder, stage=STAGE)
    if recording.kind != kind:
        raise NotApplicable(f"the baseline is of kind {recording.kind}, not {kind}")
    bench.cut(path for body in recording.bodies for path in body.moving)
    return recording


def _asked_before_and_after_locks(
    bench: Bench, wanted: Sequence[Mapping[str, Any]]
) -> tuple[Body, ...]:
    """Send these requests, lay the stage's locks, send them again; return answers as if recorded.

    That is one answer for each request and phase, with the members that vary between equal
    requests, which are also noted, for the report, as not compared. Requests of agents are left out
    if the target has none. Inconclusive if a lock has no effect, or most answers list neither tools
    nor servers.
    """
    agents = "agents" in bench.started.target.capabilities
    applicable = [request for request in wanted if agents or "agent" not in request]
    answers = both_phases(bench.started, applicable)
    recorded = bodies(applicable, answers)
    tools = f'"{bench.surface.members.tools}"'.encode()
    servers = f'"{bench.surface.members.servers}"'.encode()
    readable = sum(tools in body.exact.text or servers in body.exact.text for body in recorded)
    bench.require(readable * 2 > len(recorded), "most answers list neither tools nor servers")
    bench.cut(path for body in recorded for path in body.moving)
    return recorded


def _members(bench: Bench) -> dict[str, str]:
    """Return the target's own names of its answers' members, by the suite's names for them."""
    members: dict[str, str] = msgspec.to_builtins(bench.surface.members)
    return members
