"""Scope and cap: an agent's cap and counts while tools beyond its scope are locked: FR-007."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    Step,
    ToolKey,
    ToolState,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.agents import listing_of, scoped
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.grounds import REVEALS
from mcp_proxy_conformance.verdict.result import Misshapen, NotApplicable

Counts = dict[str, Any]
WORD = "gremtol"
NORTH = ("zorvik", "mobela", "tunrag", "felopi", "kadrus", "wibnot", "jolmek", "rastip")
SOUTH = ("cundov", "hepgal", "vimbok", "nastru", "dopliz", "quemar", "yebtun", "solfic")
TWINS = world(
    server("upland", tool("lidful_open"), *(tool(f"{n}_dig", groups=(WORD,)) for n in NORTH)),
    server(
        "harbor",
        tool("bexram_open"),
        *(tool(f"{n}_dig", groups=(WORD,), locked=CONFIG) for n in SOUTH),
    ),
    agents={"north": ("upland",), "south": ("harbor",)},
)
WARDS = msgspec.structs.replace(
    world(
        server("ward", *(tool(f"{WORD}_{name}", groups=(WORD,)) for name in (*NORTH, *SOUTH))),
        server("yard", *(tool(f"{WORD}_{name}", groups=(WORD,)) for name in SOUTH[:3])),
        server("home", tool("bexram_open")),
        agents={"keeper": ("yard", "home")},
    ),
    steps=(Step(lock="quarantine", server="yard"),),
)
UPLAND = tuple(ToolKey("upland", f"{name}_dig") for name in NORTH)
QUARANTINED = REVEALS[ToolState(quarantined=True)]


@requirement("FR-007.before-cap")
@on(WARDS, needs=("agents", "quarantine"))
def test_withheld_tools_beyond_the_scope_take_no_place_in_the_capped_section(bench: Bench) -> None:
    """An agent sees its own quarantined tools, however many of another server are quarantined.

    To see fewer is a breach only if the missing ones come back with that server's release, and go
    with its next quarantine, while one is found by its full name. Inconclusive if the agent sees
    none of its own, not applicable if it finds them by their full names only.
    """
    keeper = scoped(bench, "keeper")
    own = tuple(key for key in bench.tools if key.server == "yard")
    others = [key for key in bench.tools if key.server == "ward"]
    alone = bench.settled(lambda: _own_locked(keeper, own), len(own))
    if not alone and own[0] in keeper.revealed(own[0].tool):
        raise NotApplicable("quarantined tools are found only by their full names")
    bench.require(alone, "the agent saw none of its own quarantined tools")

    both = _beside_quarantined(bench, others[0], lambda: _own_locked(keeper, own), alone)
    if both != alone:
        bench.operator.unlock("quarantine", "ward")
        bench.require(
            bench.settled(lambda: _own_locked(keeper, own), alone) == alone,
            "the agent saw fewer of its own also after ward was released from quarantine",
        )
        both = _beside_quarantined(bench, others[0], lambda: _own_locked(keeper, own), alone)
    if both != alone:
        found = any(key in keeper.revealed(key.tool) for key in own)
        bench.require(found, "the agent finds its own tools by no name", needs=[QUARANTINED])
    assert {("agent keeper", WORD): both} == {("agent keeper", WORD): alone}


def _beside_quarantined(bench: Bench, other: ToolKey, look: Callable[[], int], alone: int) -> int:
    """Quarantine the server ward; return what `look` returns once that is `alone`, or at the end.

    The end is that of the settle time. `other` is a tool of ward; inconclusive if a call of it is
    still reached.
    """
    bench.operator.lock("quarantine", "ward")
    bench.require(bench.refused(other), "the quarantine of ward had no effect", "no_effect")
    return bench.settled(look, alone)


@requirement("FR-007.listing")
@on(TWINS, needs=("agents",))
def test_a_lock_beyond_the_scope_moves_no_count_of_the_agents_own_servers(bench: Bench) -> None:
    """A lock beyond the scope changes no count of the agent's servers and no total, and adds none.

    Not applicable if the agent's listing shows the other server; inconclusive if it has no counts,
    or if a lock has no effect.
    """
    south = scoped(bench, "south")
    usual, before = _counts(south), _counts(south)
    bench.require(before, "the agent saw no counts of its own server")
    if "upland" in listing_of(south).servers:
        raise NotApplicable(
            "every agent sees every server in the listing; see FR-007.listing~shown"
        )
    steady = {name for name, value in before.items() if usual.get(name) == value}

    bench.operator.lock(USER, "upland", [key.tool for key in UPLAND])

    bench.require(
        all(bench.refused(key) for key in UPLAND), "a lock on upland had no effect", "no_effect"
    )
    after = bench.until(lambda: _counts(south), lambda latest: not _moved(before, latest, steady))
    moved = _moved(before, after, steady)
    assert moved == {name: before.get(name) for name in moved}


def _moved(before: Counts, after: Counts, steady: Iterable[str]) -> dict[str, Any]:
    """Return the members that `after` has beyond `before`, and those of `steady` that changed.

    `steady` are names of members that did not vary before. Values are the new ones, None for a
    member that is gone.
    """
    names = {*steady, *(after.keys() - before.keys())}
    return {name: after.get(name) for name in names if after.get(name) != before.get(name)}


def _counts(view: Bench) -> Counts:
    """Return counts blocks of agent south's servers by name, and the listing's other members.

    Keys of the latter are `member NAME`; the list of servers is left out. Empty if the agent is
    refused the listing, or is shown no block.
    """
    try:
        listing = view.list()
    except Misshapen:
        return {}
    blocks = {n: listing.counts(n) for n in view.world.agents["south"] if listing.counts(n)}
    body = json.loads(listing.reply.text) if blocks else {}
    servers = view.surface.members.servers
    return blocks | {f"member {name}": value for name, value in body.items() if name != servers}


def _own_locked(view: Bench, keys: tuple[ToolKey, ...]) -> int:
    """Return how many of these tools the agent is shown as locked for WORD, at limit 100."""
    return len(view.revealed(WORD).keys() & set(keys))
