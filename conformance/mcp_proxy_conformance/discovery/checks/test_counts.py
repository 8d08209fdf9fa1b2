"""Counts of a server's callable and locked tools, by reason, in the server listing: FR-010."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import (
    KEYS,
    block,
    judged,
    shut,
    states_of,
    tally,
)
from mcp_proxy_conformance.verdict.result import Misshapen, NotApplicable

MIXED = stage("mixed")
COMBOS = stage("combos")
SHUT = stage("shut")


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
