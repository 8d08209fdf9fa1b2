"""Laws of an agent's scope: servers beyond it show nowhere and affect no answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolState
from mcp_proxy_conformance.discovery.agents import beyond, listing_of
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.counts import (
    more_than,
    outside_entries,
    text_of_listing,
    whole_result,
)
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import counted_as, is_withheld
from mcp_proxy_conformance.discovery.structured import counts_in_content
from mcp_proxy_conformance.wire.faults import ProtocolFault

MOST_QUERIES, MOST_CALLS = 2, 2


def hidden(look: Look, findings: Findings) -> None:
    """Law: queries that show the administrator tools beyond an agent's scope show the agent none.

    Up to two for each agent of narrow scope are sent by both, with the flag and without.
    """
    for agent in look.narrow:
        for query in _queries_beyond(look, agent):
            look.ask(query, flag=True, limit=SHOW_LIMIT, anew=True)  # by the administrator first
            flagged = look.ask(query, flag=True, limit=SHOW_LIMIT, agent=agent, anew=True)
            look.ask(query, flag=ABSENT, anew=True)
            default = look.ask(query, flag=ABSENT, agent=agent, anew=True)
            if flagged is not None and flagged.answer.error is None:
                _flagged(look, findings, flagged, agent)
            if default is not None and default.answer.error is None and flagged is not None:
                _default(look, findings, default, flagged, agent)


def _flagged(look: Look, findings: Findings, exchange: DiscoveryExchange, agent: str) -> None:
    """Judge an agent's flagged answer: it may show nothing from beyond its scope.

    That is no name, word or entry, and no number by status above what its own tools can reach.
    """
    names = _names_in(
        look, agent, exchange.answer.text_without_echo(), exchange.request.query or ""
    )
    outside = beyond(look.bench.world, agent)
    entries = {look.named(entry) for entry in exchange.answer.disabled}
    strays = sorted(str(key) for key in entries if key and key.server in outside)
    findings.truth(["FR-007.hidden"], exchange.request, names + strays, holds=not (names + strays),
                   wanted="")  # fmt: skip
    more = more_than(_most(look, agent), whole_result(exchange.answer.reply))
    findings.truth(["FR-007.hidden"], exchange.request, more, holds=not more, wanted="",
                   topic="numbers by status", shows=[])  # fmt: skip


def _default(
    look: Look,
    findings: Findings,
    exchange: DiscoveryExchange,
    flagged: DiscoveryExchange,
    agent: str,
) -> None:
    """Judge an agent's default answer: no name from beyond its scope, none counted in the note.

    `flagged` is its answer with the flag. If that is without entries and no tool in scope that
    matches the query is locked, any note is a breach.
    """
    names = _names_in(
        look, agent, exchange.answer.text_without_echo(), exchange.request.query or ""
    )
    note = exchange.answer.note
    among = ["FR-007.note"] if any(name in (note or "") for name in names) else []
    findings.truth(among or ["FR-002.no-locked-names"], exchange.request, names, holds=not names,
                   wanted="", topic="names", shows=[])  # fmt: skip
    scope = look.bench.world.agents[agent]
    query = exchange.request.query or ""
    shown = look.bench.armed.shown.get(query, ())
    locked = [k for k, state in look.bench.states.items() if not state.callable
              and (look.bench.tools[k].holds(query) or k in shown)]  # fmt: skip
    if not flagged.answer.disabled:
        if not any(key.server in scope for key in locked):
            findings.truth(["FR-007.note"], exchange.request, note, holds=not note,
                           wanted="no note", topic="note")  # fmt: skip
        return
    own = max(sum(key.server in scope for key in locked), len(flagged.answer.disabled))
    numbers = numbers_in(note or "")
    wrong = [n for n in numbers if min(numbers) > own and n <= len(locked)]
    findings.truth(["FR-007.note"], exchange.request, note, holds=not wrong, counts=bool(numbers),
                   wanted=f"a number up to {own}", topic="note")  # fmt: skip


def listings(look: Look, findings: Findings) -> None:
    """Law: an agent's listing of only servers in its scope has no name or count of other tools.

    One that shows a server beyond it is not judged, nor an agent beyond whose scope no server
    has counts for the administrator.
    """
    counted = look.home.list()
    for agent in look.narrow:
        outside = beyond(look.bench.world, agent)
        if not any(counted.counts(name) for name in outside):
            continue
        view = look.home.as_agent(agent)
        listing = listing_of(view)
        if any(name in listing.servers for name in outside):
            continue  # it shows them, and may (interpretation scope-of-listing)
        members = view.surface.members
        text, most = text_of_listing(listing, members), _most(look, agent)
        more = [f"{word}: {n}" for word, n in outside_entries(listing, members) if n > most[word]]
        more += counts_in_content(listing.reply, members, outside)
        leaked = _names_in(look, agent, text, "") + more
        findings.truth(["FR-007.listing"], When(do="list", agent=agent), leaked, holds=not leaked,
                       wanted="")  # fmt: skip


def inspections(look: Look, findings: Findings) -> None:
    """Law: an agent's view of a server that its listing leaves out shows no count and no tool.

    Up to two servers with counts for the administrator are viewed. Not applicable where such
    views are not declared.
    """
    counted = look.home.list()
    for agent in look.narrow:
        view, outside = look.home.as_agent(agent), beyond(look.bench.world, agent)
        hidden = [name for name in outside if counted.counts(name)]
        if not hidden or any(name in listing_of(view).servers for name in outside):
            continue
        for name in hidden[:MOST_CALLS]:
            reply = view.inspection(name)
            text = reply.raw.decode("utf-8", "replace")
            leaked = [*more_than({}, whole_result(reply)), *_names_in(look, agent, text, name)]
            findings.truth(["FR-007.listing"], When(do="list", agent=agent), leaked,
                           holds=not leaked, wanted="", topic=f"view of {name}")  # fmt: skip


def _most(look: Look, agent: str) -> dict[str, int]:
    """Return, by status, how many of the tools in an agent's scope may have it at most."""
    outside = beyond(look.bench.world, agent)
    own = {k: s for k, s in look.bench.states.items() if k.server not in outside}
    return {word: sum(k in look.unsure or _may_count(s, word) for k, s in own.items())
            for word in STATUSES}  # fmt: skip


def _may_count(state: ToolState, word: str) -> bool:
    """Whether the tool may be counted under that word; any locked one on a shut server."""
    shut = state.server_off or state.quarantined
    return (state.lost or not state.callable) and (shut or word in counted_as(state))


def unmoved(look: Look, findings: Findings) -> None:
    """Law: a step beyond an agent's scope makes the agent see no fewer locked tools of its scope.

    Numbers are compared with those that `remember` kept before the step; those stay kept.
    """
    for agent, query, before in look.memory.pop("own before", ()):
        now = _own_locked(look, agent, query)
        request = When(
            do="discover", query=query, include_disabled=True, limit=SHOW_LIMIT, agent=agent
        )
        findings.truth(["FR-007.before-cap"], request, now, holds=now >= before, counts=before > 0,
                       wanted=f"{before}, as before", topic="locked tools in scope")  # fmt: skip
        look.memory.setdefault("own again", []).append((agent, query, before))
    look.memory["own before"] = look.memory.pop("own again", [])


def bytes_kept(look: Look, findings: Findings) -> None:
    """Law: a step beyond an agent's scope changes no byte of its answers, with or without the flag.

    Answers are compared with those that `remember` kept.
    """
    for agent, query, before in look.memory.get("bytes before", ()):
        outside = beyond(look.bench.world, agent)
        locked = any(key.server in outside for key in look.proven)
        for flag, usual in before.items():
            exchange = look.ask(query, flag=flag, agent=agent, anew=True)
            if exchange is not None:
                exact = _exact(exchange)
                findings.truth(["FR-007.non-interference"], exchange.request, exact == usual,
                               holds=exact == usual, wanted="the same bytes as before",
                               topic="bytes",
                               counts=locked)  # fmt: skip


def remember(look: Look, agents: Iterable[str]) -> None:
    """Keep in the look's memory the answers of now to those of these agents that are narrow.

    They are for `unmoved` and `bytes_kept`, as the next steps are beyond the scope of each.
    Bytes that two equal requests do not share are not kept.
    """
    own, exact = [], []
    for agent in set(agents) & set(look.narrow):
        for query in dict.fromkeys(request["query"] for request in look.bench.world.requests):
            own.append((agent, query, _own_locked(look, agent, query)))
            usual = [_bytes(look, agent, query) for _ in range(2)]
            if usual[0] == usual[1]:
                exact.append((agent, query, usual[0]))
    look.memory["own before"], look.memory["bytes before"] = own, exact


def _bytes(look: Look, agent: str, query: str) -> dict[Any, bytes]:
    """Return the exact results of an agent's query, by the flag include_disabled: ABSENT and True.

    Both are asked for anew. A misshapen answer is left out; of a JSON-RPC error it is b"".
    """
    exchanges = {
        flag: look.ask(query, flag=flag, agent=agent, anew=True) for flag in (ABSENT, True)
    }
    return {flag: _exact(exchange) for flag, exchange in exchanges.items() if exchange is not None}


def _exact(exchange: DiscoveryExchange) -> bytes:
    """Return the exact bytes of an answer's result; b"" for a JSON-RPC error."""
    try:
        return exchange.answer.reply.exact
    except ProtocolFault:
        return b""


def _own_locked(look: Look, agent: str, query: str) -> int:
    """Return how many locked tools of its scope an agent is shown for a query; 0 on an error."""
    exchange = look.ask(query, flag=True, limit=SHOW_LIMIT, agent=agent, anew=True)
    if exchange is None or exchange.answer.error is not None:
        return 0
    outside = beyond(look.bench.world, agent)
    return sum(key.server not in outside for key in exchange.answer.statuses())


def _queries_beyond(look: Look, agent: str) -> list[str]:
    """Return up to two queries that show the administrator a locked tool beyond the agent's scope.

    They are the look's requests and, preferred, words of such tools, or names where the
    description is withheld; laws then ask the same as the agent, who must be shown none.
    """
    outside = beyond(look.bench.world, agent)
    hidden_keys = [key for key in look.keys if key.server in outside]
    words = [request["query"] for request in look.asks if "agent" not in request]
    for key in hidden_keys:
        withheld = is_withheld(look.bench.states[key])
        words.append(key.tool if withheld else look.bench.tools[key].word)
    revealing = []
    for query in dict.fromkeys(words):
        exchange = look.ask(query, flag=True, limit=SHOW_LIMIT)
        if exchange is not None and any(
            key.server in outside for key in exchange.answer.statuses()
        ):
            revealing.append(query)
    turn = look.number % max(1, len(revealing))
    return [*revealing[turn:], *revealing[:turn]][:MOST_QUERIES]


def _names_in(look: Look, agent: str, text: str, query: str) -> list[str]:
    """Return the servers, words and canaries from beyond the agent's scope in a text, sorted.

    What the query contains, and words that a tool in scope has too, are left out.
    """
    world, tools = look.bench.world, look.bench.tools
    outside = beyond(world, agent)
    own = [*(f"{tool.name} {tool.description}" for key, tool in tools.items()
             if key.server not in outside), *({*map(str, world.agents[agent])})]  # fmt: skip
    known = " ".join(own).lower()
    wanted = [*outside]
    for key, tool in tools.items():
        if key.server in outside:
            wanted += [tool.word, *tool.canaries]
    told = {name for name in wanted if name and name in text and name not in query}
    return sorted(name for name in told if name not in known)
