"""Counts of a server's callable and locked tools, by reason, in the server listing: FR-010."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.answer import ServerEntry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import (
    KEYS,
    REASONS,
    block,
    integral,
    judged,
    shut,
    states_of,
    tallies_allowed,
    tally,
)
from mcp_proxy_conformance.verdict.result import Misshapen, NotApplicable

MIXED = stage("mixed")
COMBOS = stage("combos")
SHUT = stage("shut")


@requirement("FR-010.sum")
@on(MIXED)
def test_every_tool_is_counted_once_under_its_reason(bench: Bench) -> None:
    """Callable tools and reasons add up to the tools that each server offers, by their locks.

    Each block must equal a tally that the server's locks allow. Inconclusive if no server has a
    block. Not applicable if no server has a lock that the target declares.
    """
    servers = judged(bench)
    bench.expect_block()

    observed, expected = _counted(bench, servers)

    assert observed == expected


@requirement("FR-010.sum")
@on(COMBOS)
def test_a_tool_with_several_locks_is_counted_under_the_first_of_them(bench: Bench) -> None:
    """A tool with several locks is counted once, under the reason that comes first.

    Each block must equal a tally that the server's locks allow. Inconclusive if no server has a
    block. Not applicable if no server has a lock that the target declares.
    """
    servers = judged(bench)
    bench.expect_block()

    observed, expected = _counted(bench, servers)

    assert observed == expected


@requirement("FR-010.sum~extra-keys")
@on(MIXED)
def test_a_block_has_no_further_keys(bench: Bench) -> None:
    """A block contains `callable` and the reasons, and nothing else.

    Inconclusive if no server that can be judged has a block.
    """
    blocks = _blocks(bench)

    others = {
        name: set(counts) - set(KEYS) for name, counts in blocks.items() if set(counts) - set(KEYS)
    }

    assert others == {}


@requirement("FR-010.zero-omitted")
@on(MIXED)
def test_a_reason_without_tools_is_left_out(bench: Bench) -> None:
    """No block shows a reason with value 0, at any endpoint or for an agent of all servers.

    Inconclusive if a view has no block; `callable` may be 0.
    """
    views = {bench.place: bench} | _other_views(bench)
    blocks = {(place, n): counts for place, v in views.items() for n, counts in _blocks(v).items()}

    empty = {
        (*p, w): counts[w] for p, counts in blocks.items() for w in REASONS if not counts.get(w, 1)
    }

    assert empty == {}


@requirement("FR-010.no-names")
@on(MIXED)
def test_a_block_names_no_tool(bench: Bench) -> None:
    """A block contains no name of the server's locked tools.

    Inconclusive if no server that can be judged has a block.
    """
    blocks = _blocks(bench)

    named = {
        name: tools
        for name, counts in blocks.items()
        if (tools := _locked_named_in(bench, name, counts))
    }

    assert named == {}


@requirement("FR-010.no-names~entry")
@on(MIXED)
def test_the_rest_of_an_entry_names_no_locked_tool(bench: Bench) -> None:
    """Outside its counts block, a server's entry contains no name of a locked tool.

    Names of other servers' tools do not count. Inconclusive if no server that can be judged has
    a block.
    """
    blocks = _blocks(bench)
    entries = bench.list().servers
    counts = bench.surface.members.counts

    rest = {n: {k: v for k, v in entries[n].members.items() if k != counts} for n in blocks}
    named = {
        name: tools
        for name, entry in rest.items()
        if (tools := _locked_named_in(bench, name, entry))
    }

    assert named == {}


@requirement("FR-010.block~zero-callable")
@on(SHUT)
def test_a_block_shows_that_nothing_is_callable(bench: Bench) -> None:
    """The block of a server whose tools are all locked contains `callable`, and it is 0.

    Inconclusive if no server that can be judged has a block.
    """
    blocks = _blocks(bench)

    callables = {name: counts.get("callable") for name, counts in blocks.items()}

    assert callables == dict.fromkeys(blocks, 0)


@requirement("FR-010.quarantined")
@on(MIXED, needs=("quarantine",))
def test_tools_of_a_quarantined_server_are_not_counted_as_callable(bench: Bench) -> None:
    """The block of a quarantined server, if it has one, counts no tool as callable.

    It holds in every view that lists the server. Inconclusive if no quarantine is proven, or no
    block was seen.
    """
    callables = _callable_in_quarantine(bench)

    assert callables == dict.fromkeys(callables, 0)


@requirement("FR-010.quarantined")
@on(COMBOS, needs=("quarantine",))
def test_none_is_counted_as_callable_where_other_locks_bring_the_block(bench: Bench) -> None:
    """A quarantined server, some of whose tools have other locks, counts none as callable.

    It holds in every view that lists the server. Inconclusive if no quarantine is proven, or no
    block was seen.
    """
    callables = _callable_in_quarantine(bench)

    assert callables == dict.fromkeys(callables, 0)


@requirement("FR-010.quarantined~word")
@on(MIXED, needs=("quarantine",))
def test_tools_of_a_quarantined_server_are_counted_as_quarantined(bench: Bench) -> None:
    """All tools of a quarantined server are counted, under `server_quarantined` alone.

    A server that is not listed is left out. Inconclusive if no quarantine is proven, no block was
    seen, or none is listed.
    """
    servers = _quarantined(bench)
    bench.expect_block()

    entries = bench.list().servers
    tallies = {name: tally(entries[name]) for name in servers if name in entries}
    bench.require(tallies, "the listing shows no quarantined server")

    assert tallies == {n: {"server_quarantined": len(states_of(bench, n))} for n in tallies}


@requirement("FR-010.server-off")
@on(COMBOS, needs=("server_off",))
def test_no_tool_of_a_switched_off_server_is_counted_as_callable(bench: Bench) -> None:
    """A switched-off server counts none of its tools as callable, locked otherwise or not.

    It holds in every view that lists the server; an entry without a block is right. Inconclusive if
    no server is proven to be off, or no block was seen.
    """
    servers = _servers_off(bench)
    bench.expect_block()

    callables = {place: counts.get("callable", 0) for place, counts in _tallies(bench, servers)}

    assert callables == dict.fromkeys(callables, 0)


@requirement("FR-010.server-off~word")
@on(COMBOS, needs=("server_off",))
def test_tools_of_a_switched_off_server_are_counted_as_such(bench: Bench) -> None:
    """The block of a switched-off server, if it has one, counts under `server_disabled` alone.

    It holds in every view that lists the server; not applicable if none has a block, inconclusive
    if no server is proven to be off.
    """
    blocks = {place: counts for place, counts in _tallies(bench, _servers_off(bench)) if counts}
    if not blocks:
        raise NotApplicable("a switched-off server has no counts")

    others = {place: tuple({*counts} - {"server_disabled"}) for place, counts in blocks.items()}

    assert others == dict.fromkeys(others, ())


@requirement("FR-004.once")
@on(COMBOS)
def test_a_tool_of_a_shut_server_is_counted_once(bench: Bench) -> None:
    """On servers that are off or in quarantine, the counts add up to no more than the tools.

    The same holds at other endpoints, for agents and in inspections. Not applicable if none has
    counts, inconclusive if no server is proven to be off or in quarantine.
    """
    bench.needs_one_of("quarantine", "server_off")
    servers = shut(bench)
    bench.require(servers, "no server is proven to be off or in quarantine")

    sums = {
        place: sum(filter(integral, counts.values())) for place, counts in _tallies(bench, servers)
    }
    if not any(sums.values()):
        raise NotApplicable("servers that are off or in quarantine have no counts")

    most = {(view, name): len(states_of(bench, name)) for view, name in sums}
    assert sums == {place: min(number, most[place]) for place, number in sums.items()}


@requirement("FR-010.inspect")
@on(MIXED, needs=("inspect",))
def test_the_view_of_one_server_shows_the_block_of_the_listing(bench: Bench) -> None:
    """Inspecting a server returns the same numbers as the listing, or none if that has none.

    Only the numbers of callable tools and of the reasons are compared. Inconclusive if no block was
    seen, not applicable if views of single servers are not declared.
    """
    servers = judged(bench)
    bench.expect_block()
    listed = bench.list().servers

    views = {name: bench.inspect(name) for name in servers if name in listed}
    shown = {name: _as_sent(view) for name, view in views.items()}

    assert shown == {name: _as_sent(listed[name]) for name in views}


def _servers_off(bench: Bench) -> list[str]:
    off = {key.server for key in bench.locked(server_off=True)}
    servers = [name for name in shut(bench) if name in off]
    bench.require(servers, "no call of a switched-off server's tool was refused")
    return servers


def _tallies(
    bench: Bench, servers: Iterable[str]
) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    """Yield ((view, server), counts) for each of these servers, from every view that lists it.

    Views are the default one (""), other endpoints, agents that see every server, and, if it is
    declared, the inspection of the server ("inspected").
    """
    servers = tuple(servers)
    for view, eye in ({bench.place: bench} | _other_views(bench)).items():
        listed = eye.list().servers
        yield from (((view, name), tally(listed[name])) for name in servers if name in listed)
    if "inspect" in bench.started.target.capabilities:
        yield from ((("inspected", name), tally(bench.inspect(name))) for name in servers)


def _other_views(bench: Bench) -> dict[str, Bench]:
    """Return, by name, other endpoints that offer the listing, and agents that see every server.

    Agents that get no listing are left out.
    """
    others = onlookers(bench, bench.surface.listing.tool)
    return {p: view for p, view in others.items() if view.agent is None or _lists(view)}


def _lists(view: Bench) -> bool:
    try:
        return bool(view.list().servers)
    except Misshapen:
        return False  # an agent may be refused the listing


def _as_sent(entry: ServerEntry) -> dict[str, Any]:
    """Return {"counts": the entry's tally}, or {"counts": what is sent} if that is no object.

    A tally is the counts of `callable` and of the known reasons that are not zero. Empty if the
    entry has no counts member.
    """
    counts = tally(entry) if isinstance(entry.counts, dict) else entry.counts
    return {"counts": counts} if entry.has_counts else {}


def _callable_in_quarantine(bench: Bench) -> dict[tuple[str, str], Any]:
    """Map (view, server) to the number of tools that a quarantined server counts as callable.

    It is 0 for a server without a block. Inconclusive if no quarantine is proven, or no server
    of the world has a block.
    """
    servers = _quarantined(bench)
    bench.expect_block()
    return {place: counts.get("callable", 0) for place, counts in _tallies(bench, servers)}


def _counted(bench: Bench, servers: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two tallies by server: that of its block, and the allowed one it must equal.

    The allowed one is the block's own if its server's locks allow it, else the first allowed one.
    Servers without a block are left out; inconclusive if there are no others.
    """
    entries = bench.list().servers
    tallies = {n: tally(entries[n]) for n in servers if n in entries and block(entries[n])}
    bench.require(tallies, "no server that can be judged has a counts block")
    allowed = {name: tallies_allowed(states_of(bench, name)) for name in tallies}
    return tallies, {n: tallies[n] if tallies[n] in allowed[n] else allowed[n][0] for n in tallies}


def _blocks(bench: Bench) -> dict[str, dict[str, Any]]:
    entries = bench.list().servers
    blocks = {n: counts for n in judged(bench) if n in entries and (counts := block(entries[n]))}
    bench.require(blocks, "no server that can be judged has a counts block")
    return blocks


def _quarantined(bench: Bench) -> set[str]:
    servers = {key.server for key in bench.locked(quarantined=True)}
    bench.require(servers, "no call of a quarantined server's tool was refused")
    return servers


def _locked_named_in(bench: Bench, server: str, part: Any) -> list[str]:
    text = json.dumps(part, ensure_ascii=False)
    locked = [key for key, state in bench.states.items() if not state.callable]
    return [key.tool for key in locked if key.server == server and key.tool in text]
