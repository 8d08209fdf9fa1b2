"""Counts in a server listing (FR-010): which servers are judged, which numbers are allowed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES, Members
from mcp_proxy_conformance.catalogue.world import ToolState
from mcp_proxy_conformance.discovery.answer import Listing, ServerEntry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import CALLABLE, counted_as
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.jsonrpc import kind_of
from mcp_proxy_conformance.wire.reply import ToolReply

REASONS = STATUSES
KEYS = (CALLABLE, *REASONS)
USERS = ("disabled_by_user", "pending_approval")
"""The reasons that users can lift."""


def block(entry: ServerEntry) -> dict[str, Any]:
    """Return the counts of an entry, {} if absent or null; raise Misshapen if not an object."""
    if entry.counts is None:
        return {}
    if not isinstance(entry.counts, dict):
        raise Misshapen(
            f"the counts of {entry.name} are {kind_of(entry.counts)}, not an object", "FR-010.block"
        )
    return entry.counts


def tally(entry: ServerEntry) -> dict[str, Any]:
    """Return those counts that are `callable` or a reason and not zero, by word.

    Raises Misshapen if the counts are not an object.
    """
    return {word: number for word, number in block(entry).items() if word in KEYS and number}


def integral(value: Any) -> bool:
    """Whether a JSON value is an integer in the sense of JSON Schema: 2.0 is one, `true` is not."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    )


def judged(bench: Bench) -> tuple[str, ...]:
    """Return the servers whose counts can be judged: on, not quarantined, all their locks proven.

    If none of them has a locked tool, raises NotApplicable where locks were skipped as undeclared
    or refused by the operator side, else Inconclusive.
    """
    doubtful = set(bench.armed.doubtful)
    doubtful |= {k.server for k, s in bench.states.items() if s.server_off or s.quarantined}
    names = [server.name for server in bench.world.servers if server.name not in doubtful]
    locked = [name for name in names if not all(s.callable for s in states_of(bench, name))]
    if not locked and bench.armed.skipped and not bench.armed.unproven:
        left_out, why = next(iter(bench.armed.skipped.items()))
        raise why.error(left_out)
    bench.require(locked, "no server with locked tools has all its locks proven")
    return tuple(names)


def shut(bench: Bench) -> tuple[str, ...]:
    """Return the servers proven to be off or in quarantine, if all their locks are proven.

    One is proven by a refused tool that no other lock holds.
    """
    locks = ({"quarantined": True}, {"server_off": True}, {"quarantined": True, "server_off": True})
    proven = {key.server for lock in locks for key in bench.locked(**lock)} - bench.armed.doubtful
    return tuple(server.name for server in bench.world.servers if server.name in proven)


def of_users(states: Iterable[ToolState]) -> dict[str, int]:
    """Return, by each reason that users can lift, how many of a server's tools may have it.

    `states` are the locks on each tool.
    """
    states = tuple(states)
    return {word: sum(word in counted_as(state) for state in states) for word in USERS}


def states_of(bench: Bench, server: str) -> tuple[ToolState, ...]:
    """Return the locks on each tool of a server, in the order of the world."""
    return tuple(state for key, state in bench.states.items() if key.server == server)


def tallies_allowed(states: Iterable[ToolState]) -> list[dict[str, int]]:
    """Return every allowed tally, word to number: each tool once, under a word of its locks.

    `absent` is one of the words if a tool need not be counted.
    """
    tallies: set[frozenset[tuple[str, int]]] = set()
    for words in product(*(sorted(counted_as(state)) for state in states)):
        tallies.add(frozenset(Counter(words).items()))
    return [dict(sorted(items)) for items in sorted(tallies, key=sorted)]


def status_numbers(value: Any) -> Iterator[tuple[str, int]]:
    """Yield (status word, number) wherever a status word names an integer, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in STATUSES and isinstance(inner, int):
                yield name, inner
            yield from status_numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from status_numbers(inner)


def whole_result(reply: ToolReply) -> list[Any]:
    """Return all parts of a result that may have numbers: each text's JSON, then the other members.

    A text that is not JSON is left out; for an error it is [{}].
    """
    result = reply.value() if reply.error is None else {}
    texts = reply.texts if reply.error is None else ()
    documents = []
    for text in texts:
        with suppress(ValueError, RecursionError):
            documents.append(json.loads(text))
    return [*documents, {name: value for name, value in result.items() if name != "content"}]


def more_than(own: Mapping[str, int], value: Any) -> dict[str, list[int]]:
    """Return, by status word, the numbers in a JSON value that exceed that word's in `own`.

    They count tools that the caller may not know of; empty if none does.
    """
    more: dict[str, list[int]] = {}
    for word, number in status_numbers(value):
        if number > own.get(word, 0):
            more.setdefault(word, []).append(number)
    return more


def outside_entries(listing: Listing, members: Members) -> Iterator[tuple[str, int]]:
    """Yield (status word, number) of each such number outside a listing's server entries.

    `members` are the target's own names of members. Structured content and `_meta` are looked
    through, too. It yields nothing if the listing has no servers.
    """
    if listing.servers:
        yield from status_numbers(parts_outside_entries(listing, members))


def parts_outside_entries(listing: Listing, members: Members) -> list[Any]:
    """Return the JSON of a listing's texts, then its structured content, then its other members.

    The list of servers is left out of each.
    """
    *documents, others = whole_result(listing.reply)
    content = others.pop("structuredContent", None)
    return [
        {name: value for name, value in part.items() if name != members.servers}
        if isinstance(part, dict)
        else part
        for part in (*documents, content, others)
    ]


def text_of_listing(listing: Listing, members: Members) -> str:
    """Return a listing's texts, then as JSON all parts of its result, one a line; or its error.

    The parts are without server entries, also in structured content.
    """
    reply = listing.reply
    if reply.error is not None:
        return str(reply.error)
    rest = json.dumps(parts_outside_entries(listing, members), ensure_ascii=False)
    return "\n".join([*reply.texts, rest])
