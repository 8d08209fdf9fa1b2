"""The counts block of servers whose tools are not all callable: FR-010."""

from __future__ import annotations

import json
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import (
    KEYS,
    REASONS,
    block,
    judged,
    states_of,
    tallies_allowed,
    tally,
)
from mcp_proxy_conformance.verdict.result import Misshapen

MIXED = stage("mixed")
COMBOS = stage("combos")
SHUT = stage("shut")


@requirement("FR-010.sum")
@on(MIXED)
def test_every_tool_is_counted_once_under_its_reason(bench: Bench) -> None:
    """Callable tools and reasons add up to the tools that the server offers."""
    servers = judged(bench)
    bench.require(bench.block_alive, "no counts block was seen")

    observed, expected = _counted(bench, servers)

    assert observed == expected


@requirement("FR-010.sum")
@on(COMBOS)
def test_a_tool_with_several_locks_is_counted_under_the_first_of_them(bench: Bench) -> None:
    """Combined locks are counted once, by precedence."""
    servers = judged(bench)
    bench.require(bench.block_alive, "no counts block was seen")

    observed, expected = _counted(bench, servers)

    assert observed == expected


@requirement("FR-010.sum~extra-keys")
@on(MIXED)
def test_a_block_has_no_further_keys(bench: Bench) -> None:
    """A block holds `callable` and the reasons, nothing else."""
    blocks = _blocks(bench)

    others = {name: set(told) - set(KEYS) for name, told in blocks.items() if set(told) - set(KEYS)}

    assert others == {}


@requirement("FR-010.zero-omitted")
@on(MIXED)
def test_a_reason_without_tools_is_left_out(bench: Bench) -> None:
    """No block shows a reason with the value 0, at no endpoint and to no agent of every server."""
    views = {"": bench} | _other_views(bench)
    blocks = {(place, n): told for place, v in views.items() for n, told in _blocks(v).items()}

    empty = {(*p, w): told[w] for p, told in blocks.items() for w in REASONS if not told.get(w, 1)}

    assert empty == {}


@requirement("FR-010.no-names")
@on(MIXED)
def test_a_block_names_no_tool(bench: Bench) -> None:
    """Counts are numbers; the names of the server's tools stay out."""
    blocks = _blocks(bench)

    named = {name: found for name, told in blocks.items() if (found := _named(bench, name, told))}

    assert named == {}


@requirement("FR-010.no-names~entry")
@on(MIXED)
def test_the_rest_of_an_entry_names_no_locked_tool(bench: Bench) -> None:
    """Outside its block too, the entry of a server leaves the names of locked tools out."""
    blocks = _blocks(bench)
    entries = bench.list().servers
    counts = bench.surface.members.counts

    rest = {n: {k: v for k, v in entries[n].members.items() if k != counts} for n in blocks}
    named = {name: found for name, told in rest.items() if (found := _named(bench, name, told))}

    assert named == {}


@requirement("FR-010.block~zero-callable")
@on(SHUT)
def test_a_block_shows_that_nothing_is_callable(bench: Bench) -> None:
    """`callable` stands in the block also when it is 0."""
    blocks = _blocks(bench)

    told = {name: counts.get("callable") for name, counts in blocks.items()}

    assert told == dict.fromkeys(blocks, 0)


@requirement("FR-010.quarantined")
@on(MIXED, needs=("quarantine",))
def test_tools_of_a_quarantined_server_are_not_counted_as_callable(bench: Bench) -> None:
    """In its block, if it has one, none of them is callable."""
    told = _callable_in_quarantine(bench)

    assert told == dict.fromkeys(told, 0)


@requirement("FR-010.quarantined")
@on(COMBOS, needs=("quarantine",))
def test_none_is_counted_as_callable_where_other_locks_bring_the_block(bench: Bench) -> None:
    """Config and user locks on some of its tools do not make the others callable."""
    told = _callable_in_quarantine(bench)

    assert told == dict.fromkeys(told, 0)


@requirement("FR-010.quarantined~word")
@on(MIXED, needs=("quarantine",))
def test_tools_of_a_quarantined_server_are_counted_as_quarantined(bench: Bench) -> None:
    """They are counted under `server_quarantined`."""
    servers = _quarantined(bench)
    bench.require(bench.block_alive, "no counts block was seen")

    entries = bench.list().servers
    told = {name: tally(entries[name]) for name in servers if name in entries}

    assert told == {n: {"server_quarantined": len(states_of(bench, n))} for n in servers}


@requirement("FR-010.inspect")
@on(MIXED, needs=("inspect",))
def test_the_view_of_one_server_shows_the_block_of_the_listing(bench: Bench) -> None:
    """Inspecting a server and listing all of them tell the same counts, or none."""
    servers = judged(bench)
    bench.require(bench.block_alive, "no counts block was seen")
    listed = bench.list().servers

    views = {name: bench.inspect(name) for name in servers if name in listed}
    seen = {name: (view.has_counts, view.counts) for name, view in views.items()}

    assert seen == {name: (listed[name].has_counts, listed[name].counts) for name in views}


def _other_views(bench: Bench) -> dict[str, Bench]:
    """The other endpoints that offer the listing, and the agents of every server that get one."""
    others = onlookers(bench, bench.surface.listing.tool)
    return {p: view for p, view in others.items() if view.agent is None or _lists(view)}


def _lists(view: Bench) -> bool:
    try:
        return bool(view.list().servers)
    except Misshapen:
        return False  # an agent may be refused the listing


def _callable_in_quarantine(bench: Bench) -> dict[str, Any]:
    servers = _quarantined(bench)
    bench.require(bench.block_alive, "no counts block was seen")
    entries = bench.list().servers
    return {name: block(entries[name]).get("callable", 0) for name in servers if name in entries}


def _counted(bench: Bench, servers: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What each block tells, and the allowed tally that it is, or else the first of those."""
    entries = bench.list().servers
    told = {n: tally(entries[n]) for n in servers if n in entries and block(entries[n])}
    bench.require(told, "no server that can be judged shows a block")
    allowed = {name: tallies_allowed(states_of(bench, name)) for name in told}
    return told, {n: told[n] if told[n] in allowed[n] else allowed[n][0] for n in told}


def _blocks(bench: Bench) -> dict[str, dict[str, Any]]:
    """The blocks of the servers that can be judged; Inconclusive when there is none."""
    entries = bench.list().servers
    found = {n: told for n in judged(bench) if n in entries and (told := block(entries[n]))}
    bench.require(found, "no server that can be judged shows a block")
    return found


def _quarantined(bench: Bench) -> set[str]:
    found = {key.server for key in bench.locked(quarantined=True)}
    bench.require(found, "no quarantined server with a proven lock")
    return found


def _named(bench: Bench, server: str, told: Any) -> list[str]:
    """The server's locked tools whose names stand in a part of its entry."""
    text = json.dumps(told, ensure_ascii=False)
    locked = [key for key, state in bench.states.items() if not state.callable]
    return [key.tool for key in locked if key.server == server and key.tool in text]
