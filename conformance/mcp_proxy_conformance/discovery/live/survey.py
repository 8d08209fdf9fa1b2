"""Survey of an endpoint: requests, all answers to them, and the itinerary to repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from mcp_proxy_conformance.catalogue.surface import STATUSES, Members
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import (
    Entry,
    Listing,
    ServerEntry,
    read_inspected,
    read_listing,
)
from mcp_proxy_conformance.discovery.live.budget import OverBudget
from mcp_proxy_conformance.discovery.live.talk import LiveAnswer, Talk
from mcp_proxy_conformance.discovery.live.words import NOWHERE, Names, WordQueue
from mcp_proxy_conformance.discovery.surface_names import Sightings
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire.faults import ProtocolFault

ROUND, ALONE = "ATFATFA", "WATAW"
"""Sequences of forms; only an answer between two equal ones of one form is compared."""
SEARCHES, ROUNDS, NAMES, EXPECTED, INSPECTED = 60, 6, 6, 12, 2
SHARED = 4
"""Queries that are repeated with each further credential."""
TIGHT = (1, 3)
MIX = (2, 2, 1)
"""Rounds for queries that list callable and locked tools, only callable ones, only locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Itinerary:
    """The requests that a second survey repeats.

    `searched` and `rounds` are queries, `names` the tools asked for by name, `servers` those that
    were inspected.
    """

    searched: tuple[str, ...]
    rounds: tuple[str, ...]
    names: tuple[ToolKey, ...]
    servers: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Survey:
    """All calls of a survey and their answers, by purpose; `short`: why it is incomplete.

    `searched` look for locked tools, `tight` have small limits, `rounds` have each form of the flag
    (by query), `alone` ask for a tool by its name, `shared` are repeated with each further
    credential (by its name). `scopes` are the listings of servers to those credentials,
    `scope_faults` why one of them is misshapen. `listing_breaks` are the clauses that the shape of
    another listing, or of a view of one server, breaks.
    """

    searched: list[LiveAnswer] = field(default_factory=list)
    tight: list[LiveAnswer] = field(default_factory=list)
    rounds: dict[str, list[LiveAnswer]] = field(default_factory=dict)
    alone: dict[ToolKey, list[LiveAnswer]] = field(default_factory=dict)
    shared: dict[str, list[list[LiveAnswer]]] = field(default_factory=dict)
    scopes: dict[str, Listing] = field(default_factory=dict)
    scope_faults: dict[str, Misshapen] = field(default_factory=dict)
    listings: list[Listing] = field(default_factory=list)
    inspected: dict[str, ServerEntry] = field(default_factory=dict)
    listing_fault: str = ""
    listing_breaks: tuple[str, ...] = ()
    short: str = ""

    def looks(self) -> Iterator[LiveAnswer]:
        """Yield every discovery call with its answer, in no particular order."""
        yield from (*self.searched, *self.tight)
        for some in (*self.rounds.values(), *self.alone.values()):
            yield from some
        for triples in self.shared.values():
            yield from (look for triple in triples for look in triple)

    def unread(self) -> str | None:
        """Return the first call's fault, and `short`, if no answer could be read.

        None if one could, or no call was made.
        """
        looks = list(self.looks())
        if not looks or any(look.answer is not None for look in looks):
            return None
        return f"{looks[0].fault}{f'; {self.short}' if self.short else ''}"

    def misnamed(self, members: Members, *, place: str) -> str:
        """Return a sentence on a member that came under another name only; "" without any.

        All readable answers and listed servers are looked at; `place` is where the sentence
        says to repair it.
        """
        sightings = Sightings(members)
        read = [(look, look.answer) for look in self.looks() if look.answer is not None]
        for look, answer in sorted(read, key=lambda pair: not pair[1].tools):
            sightings.see_answer(answer.body, flagged=look.flagged)
        for listing in self.listings:
            for server in listing.servers.values():
                sightings.see_server(server.members)
        return sightings.misnamed(place)

    @property
    def names(self) -> Names:
        """The endpoint's spelling of tool names, as all its entries show it."""
        return Names.of(entry for look in self.looks() for entry in entries_of(look))

    def locked(self) -> dict[ToolKey, Entry]:
        """Return the first locked entry of every tool that was ever listed as locked."""
        entries: dict[ToolKey, Entry] = {}
        names = self.names
        for look in self.looks():
            for entry in look.answer.disabled if look.answer is not None else ():
                entries.setdefault(names.key(entry), entry)
        return entries


def entries_of(look: LiveAnswer) -> tuple[Entry, ...]:
    """Return the entries of a call's answer, callable ones first; () if it could not be read."""
    return () if look.answer is None else (*look.answer.tools, *look.answer.disabled)


def survey(
    talks: Mapping[str, Talk], tools: Iterable[Mapping[str, object]], again: Itinerary | None = None
) -> Survey:
    """Send all requests of a survey, or those of `again`, and return the answers.

    `talks` are the conversations by credential, "" the main one; `tools` those of tools/list.
    If the budget runs out, the survey's `short` says so. Raises Unreachable if the endpoint
    stopped answering.
    """
    record, main = Survey(), talks[""]
    try:
        words = words_of(main, tools) if again is None else WordQueue(again.searched, verbs=())
        while len(record.searched) < SEARCHES and (word := words.next()) is not None:
            record.searched.append(main.ask(word, "W"))
            for entry in entries_of(record.searched[-1]) if again is None else ():
                words.hear(entry.name, entry.description, entry.members.get("server"))
        for query in _rounds(record) if again is None else again.rounds:
            record.rounds[query] = [main.ask(query, form) for form in ROUND]
        for key in _names(main, record) if again is None else again.names:
            record.alone[key] = [main.ask(key.tool, form) for form in ALONE]
        _count(main, record, again)
        _tighten(main, record)
        for name in main.endpoint.agents:
            _share(main, talks[name], record)
    except OverBudget as over:
        record.short = str(over)
    return record


def itinerary(record: Survey) -> Itinerary:
    """Return the requests of a survey to repeat: rounds, names, servers, 12 revealing searches."""
    revealing = [look.query for look in record.searched if look.answer and look.answer.disabled]
    return Itinerary(
        searched=tuple(dict.fromkeys(revealing))[:EXPECTED],
        rounds=tuple(record.rounds),
        names=tuple(record.alone),
        servers=tuple(record.inspected),
    )


def words_of(main: Talk, tools: Iterable[Mapping[str, object]]) -> WordQueue:
    """Return the queue of words to ask for: the user's, then verbs, then those of `tools`."""
    endpoint = main.endpoint
    words = WordQueue([*endpoint.queries, *(k.tool for k in (*endpoint.expect, *endpoint.call))])
    for tool in tools:
        words.hear(tool.get("name"), tool.get("description"))
    return words


def _rounds(record: Survey) -> list[str]:
    """Return up to six queries for rounds, those with more callable tools first.

    Up to two list callable and locked tools, two only callable, one only locked; others fill
    up. The last is a word that no tool has.
    """
    kinds: dict[tuple[bool, bool], list[str]] = {}
    for _, look in sorted(
        enumerate(record.searched), key=lambda pair: (-_callables(pair[1]), pair[0])
    ):
        if look.answer is not None:
            kind = (bool(look.answer.tools), bool(look.answer.disabled))
            kinds.setdefault(kind, []).append(look.query)
    order = ((True, True), (True, False), (False, True))
    queries = [q for kind, most in zip(order, MIX, strict=True) for q in kinds.get(kind, [])[:most]]
    rest = [query for kind in order for query in kinds.get(kind, []) if query not in queries]
    return [*queries, *rest[: ROUNDS - 1 - len(queries)], NOWHERE]


def _callables(look: LiveAnswer) -> int:
    """Return how many callable tools a call's answer lists; 0 if it could not be read."""
    return len(look.answer.tools) if look.answer is not None else 0


def _names(main: Talk, record: Survey) -> list[ToolKey]:
    """Return locked tools to ask for by name: up to 12 of the user's, then some of each status.

    They are six in all, or as many as the user's if those are more.
    """
    expected = [*main.endpoint.call, *main.endpoint.expect][:EXPECTED]
    locked = record.locked()
    ranks: dict[str, list[ToolKey]] = {status: [] for status in STATUSES}
    for key, entry in locked.items():
        ranks.setdefault(entry.status, []).append(key)
    turns = max(map(len, ranks.values()), default=0)
    mixed = [keys[turn] for turn in range(turns) for keys in ranks.values() if turn < len(keys)]
    return list(dict.fromkeys([*expected, *mixed]))[: max(NAMES, len(expected))]


def _tighten(main: Talk, record: Survey) -> None:
    """Ask the query that listed most locked tools once more, with the flag at limits 1 and 3.

    Nothing is asked if no answer could be read or the tool takes no limit.
    """
    fullest = max(
        (look for look in record.searched if look.answer is not None),
        key=lambda look: len(look.answer.disabled) if look.answer else 0,
        default=None,
    )
    if fullest is not None and main.widest is not None:
        record.tight += [main.ask(fullest.query, "T", limit) for limit in TIGHT]


def _count(main: Talk, record: Survey, again: Itinerary | None) -> None:
    """List the servers twice; in between view some, and ask for the locked tools by name again.

    With `again`, its servers are viewed. It does nothing if no listing tool was named; an
    unreadable answer is recorded as `listing_fault`.
    """
    endpoint = main.endpoint
    if not endpoint.listing:
        return
    inspect = endpoint.surface.inspect
    try:
        record.listings.append(_listed(main))
        listed = record.listings[0].servers
        names = [n for n in record.names.servers if n in listed] or list(listed)
        chosen = sorted(names, key=lambda name: (not listed[name].has_counts, name))[:INSPECTED]
        for name in (chosen if again is None else again.servers) if inspect is not None else ():
            assert inspect is not None
            tool, arguments = inspect.filled(ToolKey(name, ""), {})
            record.inspected[name] = read_inspected(
                main.call(tool, arguments), endpoint.surface.members
            )
        for key, looks in record.alone.items():  # what is locked before and after a listing
            if key.server in listed:
                looks.append(main.ask(key.tool, "W"))
        record.listings.append(_listed(main))
    except (Misshapen, ProtocolFault) as error:
        record.listing_fault = str(error)
        record.listing_breaks = error.clauses if isinstance(error, Misshapen) else ()


def _listed(main: Talk) -> Listing:
    """Call the listing tool and return the servers; raises Misshapen or ProtocolFault."""
    surface = main.endpoint.surface
    tool, arguments = surface.listing.filled(ToolKey("", ""), {})
    return read_listing(main.call(tool, arguments), surface.members)


def _share(main: Talk, other: Talk, record: Survey) -> None:
    """Ask up to four queries with another credential, each between two of the main one.

    They are names of locked tools, then revealing searches. Its own listing of servers, if there
    is a listing tool, is recorded before, or why that is misshapen.
    """
    if main.endpoint.listing and not record.listing_fault:
        try:
            record.scopes[other.who] = _listed(other)
        except Misshapen as fault:
            record.scope_faults[other.who] = fault
        except ProtocolFault:
            pass  # it may not list servers
    turns: Counter[str] = Counter()
    ranked: dict[str, int] = {}
    for key in record.alone:  # one tool of each server, then a second one of each
        turns[key.server] += 1
        ranked.setdefault(key.tool, turns[key.server])
    names = sorted(ranked, key=lambda name: ranked[name])
    revealing = [look.query for look in record.searched if look.answer and look.answer.disabled]
    for query in list(dict.fromkeys([*names, *revealing]))[:SHARED]:
        triple = [main.ask(query, "W"), other.ask(query, "W"), main.ask(query, "W")]
        record.shared.setdefault(other.who, []).append(triple)


ASKED, TURNS, EVERY_S = 3, 8, 0.5
"""Words per turn, maximum of turns, and seconds between them."""


def await_tools(main: Talk, words: WordQueue) -> None:
    """Ask three words in turns until two turns in a row list the same tools, at least one.

    It returns after eight turns at the latest, half a second apart. Raises OverBudget if nothing
    more may be sent, Unreachable if the endpoint stopped answering.
    """
    queries = list(islice(iter(words.next, None), ASKED))
    before: list[tuple[str, ...]] = []
    for turn in range(TURNS):
        if turn:
            main.budget.rest(EVERY_S)
        listed = [
            tuple(entry.name for entry in entries_of(main.ask(word, "W"))) for word in queries
        ]
        if any(listed) and listed == before:
            return
        before = listed
