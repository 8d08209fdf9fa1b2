"""The counts of listed servers, and what the locks of their tools allow: FR-010."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES, Members
from mcp_proxy_conformance.catalogue.world import ToolState
from mcp_proxy_conformance.discovery.answer import Listing, ServerEntry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import CALLABLE, counted_as
from mcp_proxy_conformance.verdict.result import Misshapen, NotApplicable

REASONS = STATUSES
KEYS = (CALLABLE, *REASONS)


def block(entry: ServerEntry) -> dict[str, Any]:
    """The counts that an entry tells, empty when it is absent or null; raises Misshapen."""
    if entry.counts is None:
        return {}
    if not isinstance(entry.counts, dict):
        raise Misshapen(
            f"the counts of {entry.name} are no object: {entry.counts!r:.200}", "FR-010.block"
        )
    return entry.counts


def tally(entry: ServerEntry) -> dict[str, Any]:
    """`callable` and the reasons of a block, zeros and other members left out."""
    return {word: number for word, number in block(entry).items() if word in KEYS and number}


def integral(value: Any) -> bool:
    """Whether a JSON value is an integer, as JSON Schema has it."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def judged(bench: Bench) -> tuple[str, ...]:
    """The servers whose counts follow from the locks: enabled, not quarantined, all locks proven.

    Raises Inconclusive when there is none with a locked tool.
    """
    doubtful = {key.server for key in (*bench.armed.unproven, *bench.armed.skipped)}
    doubtful |= {k.server for k, s in bench.states.items() if s.server_off or s.quarantined}
    found = [one.name for one in bench.world.servers if one.name not in doubtful]
    locked = [name for name in found if not all(s.callable for s in states_of(bench, name))]
    if not locked and bench.armed.skipped and not bench.armed.unproven:
        left_out = next(iter(bench.armed.skipped.values()))
        raise NotApplicable(f"a lock was left out on every server: {left_out}")
    bench.require(locked, "no server with a proven lock can be judged")
    return tuple(found)


def states_of(bench: Bench, server: str) -> tuple[ToolState, ...]:
    """The locks on each tool that a server offers."""
    return tuple(state for key, state in bench.states.items() if key.server == server)


def tallies_allowed(states: Iterable[ToolState]) -> list[dict[str, int]]:
    """Every tally in which each tool is counted once, under a word that its locks allow."""
    found: set[frozenset[tuple[str, int]]] = set()
    for words in product(*(sorted(counted_as(state)) for state in states)):
        found.add(frozenset(Counter(words).items()))
    return [dict(sorted(one)) for one in sorted(found, key=sorted)]


def status_numbers(value: Any) -> Iterator[tuple[str, int]]:
    """Each such member of a JSON value, at any depth, as its word and its number."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in STATUSES and isinstance(inner, int):
                yield name, inner
            yield from status_numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from status_numbers(inner)


def outside_entries(listing: Listing, members: Members) -> Iterator[tuple[str, int]]:
    """Those that stand beside the servers of a listing, not in their entries."""
    if listing.servers:
        body: dict[str, Any] = json.loads(listing.reply.text)
        yield from status_numbers({k: v for k, v in body.items() if k != members.servers})
