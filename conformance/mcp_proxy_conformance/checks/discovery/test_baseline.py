"""Default output against a recording of an earlier build: SC-001, SC-005."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.discovery.baseline.comparing import answers_changed, entries_changed
from mcp_proxy_conformance.discovery.baseline.manifest import Body, Kind, Recording, read
from mcp_proxy_conformance.discovery.baseline.recorder import (
    STAGE,
    UNLOCKED,
    bodies,
    both_phases,
    requests,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import NotApplicable

QUERIES = tuple(one for one in requests() if "list" not in one)
LISTINGS = tuple(one for one in requests() if "list" in one)


@requirement("SC-001.baseline")
@on(UNLOCKED, fresh=True, needs=("baseline",))
def test_default_answers_are_those_of_the_build_before_the_feature(bench: Bench) -> None:
    """Before and after locks every frozen request gets the recorded bytes, but for the one note."""
    old = _recording(bench, "pre_feature")
    new = _asked(bench, QUERIES)

    changed = answers_changed(old.bodies, new, _members(bench))

    assert changed == {}


@requirement("SC-005.baseline")
@on(UNLOCKED, fresh=True, needs=("baseline",))
def test_entries_of_callable_servers_are_those_of_the_build_before_the_feature(
    bench: Bench,
) -> None:
    """The listing before any lock, and later the entries of servers without one, are the same."""
    old = _recording(bench, "pre_feature")
    new = _asked(bench, LISTINGS)

    changed = entries_changed(old.bodies, new, _members(bench))

    assert changed == {}


@requirement("SUITE.changed")
@on(UNLOCKED, fresh=True, needs=("baseline",))
def test_default_output_is_that_of_the_earlier_build(bench: Bench) -> None:
    """What an earlier build with the feature answered is answered still, or was accepted anew."""
    old = _recording(bench, "previous")
    new = _asked(bench, (*QUERIES, *LISTINGS))

    members = _members(bench)
    changed = answers_changed(old.bodies, new, members) | entries_changed(old.bodies, new, members)

    assert changed == {}


def _recording(bench: Bench, kind: Kind) -> Recording:
    folder = bench.started.target.baseline
    bench.require(folder is not None, "no baseline was named")
    assert folder is not None
    recording = read(folder, stage=STAGE)
    if recording.kind != kind:
        raise NotApplicable(f"the baseline is of kind {recording.kind}")
    bench.cut(path for one in recording.bodies for path in one.moving)
    return recording


def _asked(bench: Bench, wanted: Sequence[Mapping[str, Any]]) -> tuple[Body, ...]:
    """The answers of this target; inconclusive when a lock has no effect or nothing is found."""
    agents = "agents" in bench.started.target.capabilities
    applicable = [one for one in wanted if agents or "agent" not in one]
    asked = both_phases(bench.started, applicable)
    found = bodies(applicable, asked)
    tools = f'"{bench.surface.members.tools}"'.encode()
    servers = f'"{bench.surface.members.servers}"'.encode()
    told = sum(tools in one.exact.text or servers in one.exact.text for one in found)
    bench.require(told * 2 > len(found), "most answers hold neither tools nor servers")
    bench.cut(path for one in found for path in one.moving)
    return found


def _members(bench: Bench) -> dict[str, str]:
    told: dict[str, str] = msgspec.to_builtins(bench.surface.members)
    return told
