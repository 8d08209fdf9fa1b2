"""What is asked of an endpoint: the itinerary, and all that it answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import (
    Entry,
    Listing,
    ServerEntry,
    read_inspected,
    read_listing,
)
from mcp_proxy_conformance.discovery.live.budget import OverBudget
from mcp_proxy_conformance.discovery.live.talk import Look, Talk
from mcp_proxy_conformance.discovery.live.words import NOWHERE, Names, Words
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault

ROUND, ALONE = "ATFATFA", "WATAW"
"""What lies between two equal answers of one form is compared with them: others come and go."""
SEARCHES, ROUNDS, NAMES, EXPECTED, INSPECTED = 60, 6, 6, 12, 2
SHARED = 4
"""Queries that each further credential asks as well."""
TIGHT = (1, 3)
MIX = (2, 2, 1)
"""How many rounds ask for callable and locked tools, for callable ones only, for locked only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Itinerary:
    """What a second look asks again."""

    searched: tuple[str, ...]
    rounds: tuple[str, ...]
    names: tuple[ToolKey, ...]
    servers: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Survey:
    """Everything that was asked; `short` says why it is less than was meant to be."""

    searched: list[Look] = field(default_factory=list)
    tight: list[Look] = field(default_factory=list)
    rounds: dict[str, list[Look]] = field(default_factory=dict)
    alone: dict[ToolKey, list[Look]] = field(default_factory=dict)
    shared: dict[str, list[list[Look]]] = field(default_factory=dict)
    scopes: dict[str, frozenset[str]] = field(default_factory=dict)
    listings: list[Listing] = field(default_factory=list)
    inspected: dict[str, ServerEntry] = field(default_factory=dict)
    listing_fault: str = ""
    short: str = ""

    def looks(self) -> Iterator[Look]:
        """Every discovery call, in no order."""
        yield from (*self.searched, *self.tight)
        for some in (*self.rounds.values(), *self.alone.values()):
            yield from some
        for triples in self.shared.values():
            yield from (look for triple in triples for look in triple)

    def unread(self) -> str | None:
        """The first fault, when none of the answers could be read; None when some could."""
        looks = list(self.looks())
        if not looks or any(look.answer is not None for look in looks):
            return None
        return f"{looks[0].fault}{f'; {self.short}' if self.short else ''}"

    @property
    def names(self) -> Names:
        """How tools are spelt."""
        return Names.of(entry for look in self.looks() for entry in entries_of(look))

    def locked(self) -> dict[ToolKey, Entry]:
        """Every tool that was ever listed as locked, in the order of first sight."""
        found: dict[ToolKey, Entry] = {}
        names = self.names
        for look in self.looks():
            for entry in look.answer.disabled if look.answer is not None else ():
                found.setdefault(names.key(entry), entry)
        return found


def entries_of(look: Look) -> tuple[Entry, ...]:
    """The entries of an answer, callable and locked."""
    return () if look.answer is None else (*look.answer.tools, *look.answer.disabled)


def survey(
    talks: Mapping[str, Talk], tools: Iterable[Mapping[str, object]], again: Itinerary | None = None
) -> Survey:
    """Ask it all; with `again` what an earlier look asked.

    Args:
        talks: The conversations by credential; the main one's name is empty.
        tools: What tools/list told.
        again: What to ask, instead of looking for it.

    Raises:
        Unreachable: The endpoint stopped answering.
    """
    seen, main = Survey(), talks[""]
    try:
        words = words_of(main, tools) if again is None else Words(again.searched, verbs=())
        while len(seen.searched) < SEARCHES and (word := words.next()) is not None:
            seen.searched.append(main.ask(word, "W"))
            for entry in entries_of(seen.searched[-1]) if again is None else ():
                words.hear(entry.name, entry.description, entry.members.get("server"))
        for query in _rounds(seen) if again is None else again.rounds:
            seen.rounds[query] = [main.ask(query, form) for form in ROUND]
        for key in _names(main, seen) if again is None else again.names:
            seen.alone[key] = [main.ask(key.tool, form) for form in ALONE]
        _count(main, seen, again)
        _tighten(main, seen)
        for name in main.endpoint.agents:
            _share(main, talks[name], seen)
    except OverBudget as over:
        seen.short = str(over)
    return seen


def itinerary(seen: Survey) -> Itinerary:
    """What to ask for a second time: all that was compared, and some of what was found."""
    revealing = [one.query for one in seen.searched if one.answer and one.answer.disabled]
    return Itinerary(
        searched=tuple(dict.fromkeys(revealing))[:EXPECTED],
        rounds=tuple(seen.rounds),
        names=tuple(seen.alone),
        servers=tuple(seen.inspected),
    )


def words_of(main: Talk, tools: Iterable[Mapping[str, object]]) -> Words:
    """The words to ask for: those that the user named, then what tools/list tells."""
    endpoint = main.endpoint
    words = Words([*endpoint.queries, *(k.tool for k in (*endpoint.expect, *endpoint.call))])
    for tool in tools:
        words.hear(tool.get("name"), tool.get("description"))
    return words


def _rounds(seen: Survey) -> list[str]:
    """Queries of every kind there is: both parts filled, one of them, none."""
    kinds: dict[tuple[bool, bool], list[str]] = {}
    for _, look in sorted(enumerate(seen.searched), key=lambda one: (-_callables(one[1]), one[0])):
        if look.answer is not None:
            kind = (bool(look.answer.tools), bool(look.answer.disabled))
            kinds.setdefault(kind, []).append(look.query)
    order = ((True, True), (True, False), (False, True))
    found = [q for kind, most in zip(order, MIX, strict=True) for q in kinds.get(kind, [])[:most]]
    rest = [query for kind in order for query in kinds.get(kind, []) if query not in found]
    return [*found, *rest[: ROUNDS - 1 - len(found)], NOWHERE]


def _callables(look: Look) -> int:
    return len(look.answer.tools) if look.answer is not None else 0


def _names(main: Talk, seen: Survey) -> list[ToolKey]:
    """Locked tools to be asked for alone: those expected, then some of every status."""
    expected = [*main.endpoint.call, *main.endpoint.expect][:EXPECTED]
    found = seen.locked()
    ranks: dict[str, list[ToolKey]] = {status: [] for status in STATUSES}
    for key, entry in found.items():
        ranks.setdefault(entry.status, []).append(key)
    turns = max(map(len, ranks.values()), default=0)
    mixed = [keys[turn] for turn in range(turns) for keys in ranks.values() if turn < len(keys)]
    return list(dict.fromkeys([*expected, *mixed]))[: max(NAMES, len(expected))]


def _tighten(main: Talk, seen: Survey) -> None:
    """Ask the query that reveals most at small limits."""
    fullest = max(
        (look for look in seen.searched if look.answer is not None),
        key=lambda look: len(look.answer.disabled) if look.answer else 0,
        default=None,
    )
    if fullest is not None and main.widest is not None:
        seen.tight += [main.ask(fullest.query, "T", limit) for limit in TIGHT]


def _count(main: Talk, seen: Survey, again: Itinerary | None) -> None:
    """List the servers before and after, and look at some of them alone in between."""
    endpoint = main.endpoint
    if not endpoint.listing:
        return
    inspect = endpoint.surface.inspect
    try:
        seen.listings.append(_listed(main))
        listed = seen.listings[0].servers
        names = [n for n in seen.names.servers if n in listed] or list(listed)
        chosen = sorted(names, key=lambda name: (not listed[name].has_counts, name))[:INSPECTED]
        for name in (chosen if again is None else again.servers) if inspect is not None else ():
            assert inspect is not None
            tool, arguments = inspect.filled(ToolKey(name, ""), {})
            seen.inspected[name] = read_inspected(
                main.call(tool, arguments), endpoint.surface.members
            )
        for key, looks in seen.alone.items():  # what is locked before and after a listing
            if key.server in listed:
                looks.append(main.ask(key.tool, "W"))
        seen.listings.append(_listed(main))
    except (Misshapen, ProtocolFault) as error:
        seen.listing_fault = str(error)


def _listed(main: Talk) -> Listing:
    surface = main.endpoint.surface
    tool, arguments = surface.listing.filled(ToolKey("", ""), {})
    return read_listing(main.call(tool, arguments), surface.members)


def _share(main: Talk, other: Talk, seen: Survey) -> None:
    """Ask as somebody else, between two answers to oneself; which servers do they list?"""
    if main.endpoint.listing and not seen.listing_fault:
        with suppress(Misshapen, ProtocolFault):
            seen.scopes[other.who] = frozenset(_listed(other).servers)
    turns: Counter[str] = Counter()
    ranked: dict[str, int] = {}
    for key in seen.alone:  # one tool of each server, then a second one of each
        turns[key.server] += 1
        ranked.setdefault(key.tool, turns[key.server])
    names = sorted(ranked, key=lambda name: ranked[name])
    revealing = [look.query for look in seen.searched if look.answer and look.answer.disabled]
    for query in list(dict.fromkeys([*names, *revealing]))[:SHARED]:
        triple = [main.ask(query, "W"), other.ask(query, "W"), main.ask(query, "W")]
        seen.shared.setdefault(other.who, []).append(triple)


ASKED, TURNS, EVERY_S = 3, 8, 0.5
"""Words that are asked for in each turn, the most turns, and seconds between them."""


def await_tools(main: Talk, words: Words) -> None:
    """Ask until something is found, and the same again; in vain it takes about four seconds.

    Raises:
        OverBudget: Nothing more may be sent.
        Unreachable: It stopped answering.
    """
    asked = list(islice(iter(words.next, None), ASKED))
    before: list[tuple[str, ...]] = []
    for turn in range(TURNS):
        if turn:
            main.budget.rest(EVERY_S)
        found = [_found(main, word) for word in asked]
        if any(found) and found == before:
            return
        before = found


def _found(main: Talk, word: str) -> tuple[str, ...]:
    return tuple(entry.name for entry in entries_of(main.ask(word, "W")))
