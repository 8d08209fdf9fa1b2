"""Laws of a locked tool's status: allowed by its locks, shown for its query, and stable."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.grounds import as_callable, broken_by, shown_by
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.locked_entries import own_query
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import CALLABLE, LOCKED_CAP, UNKNOWN, allowed_statuses

PLACES = (*STATUSES, CALLABLE, NOWHERE)
TIMES = 7
"""Consecutive requests for one tool."""


def revealed(look: Look, findings: Findings) -> None:
    """Law: for its own query, each of up to twelve locked tools has a status that its locks allow.

    Its absence is not judged in a full answer, or in one with a locked entry whose name is no
    tool's. An agent whose scope has the tool's server is asked too.
    """
    flagged = [(key, exchange) for key in look.keys if (exchange := look.own(key)) is not None]
    for key in look.keys:
        scoped = [name for name in look.narrow if key.server in look.bench.world.agents[name]]
        if scoped and (exchange := look.own(key, agent=scoped[0])) is not None:
            flagged.append((key, exchange))
    most = max((len(exchange.answer.disabled) for _, exchange in flagged), default=0)
    for key, exchange in flagged:
        if exchange.answer.error is not None:
            continue
        place, allowed = exchange.answer.status(key), _allowed(look, key)
        if place == NOWHERE and any(
            look.named(entry) is None for entry in exchange.answer.disabled
        ):
            continue  # it may be there by a name that no tool has
        crowded = place == NOWHERE and len(exchange.answer.disabled) >= max(
            1, min(most, LOCKED_CAP)
        )
        if not crowded:
            _judge(look, findings, exchange, key, place=place, allowed=allowed)


def by_group(look: Look, findings: Findings) -> None:
    """Law: a word of its description alone finds a locked tool if it found it while callable.

    Judged are tools that config alone or the user alone locks, of a name that no other server
    has, in answers with room for another entry, at the request's own limit and at the largest.
    """
    most = max((len(exchange.answer.disabled) for exchange in look.every(True)), default=0)
    for exchange in look.requests(True):
        widest = look.same(exchange, flag=True, limit=SHOW_LIMIT)
        _found(look, findings, exchange, most)
        if widest is not None and widest is not exchange:
            _found(look, findings, widest, most)


def _found(look: Look, findings: Findings, exchange: DiscoveryExchange, most: int) -> None:
    """Judge that an answer with room lists each tool that its query found; `most` fit in any."""
    answer, shown = exchange.answer, look.bench.armed.shown.get(exchange.request.query or "", ())
    scope = look.bench.world.agents.get(exchange.request.agent or "")
    hits = [key for key in shown if scope is None or key.server in scope]
    due = [
        key for key in hits
        if key in look.proven and key not in look.unsure and look.is_own(key)
        and look.bench.states[key] in (ToolState(config=True), ToolState(user=True))
    ]  # fmt: skip
    is_short = exchange.limit is not None and exchange.limit < max(len(hits), most)
    if is_short or len(answer.disabled) >= max(most, 1) or len(due) > most:
        return
    for key in due:
        place = answer.status(key)
        findings.truth(["FR-001.by-description"], exchange.request, place, holds=place != NOWHERE,
                       wanted="an entry", topic=str(key))  # fmt: skip


def listed(look: Look, findings: Findings) -> None:
    """Law: no flagged answer gives a locked tool a status that its locks do not allow.

    Nor does one list a callable tool as locked, and no answer, flagged or not, lists a locked
    tool as callable.
    """
    for exchange in look.every(True):
        for entry in exchange.answer.disabled:
            key = look.named(entry)
            if key in look.proven:
                allowed = _allowed(look, key) - {NOWHERE}
                _judge(look, findings, exchange, key, place=entry.status, allowed=allowed)
            elif key in look.free:
                findings.truth(["FR-004.follows-state"], exchange.request, entry.status,
                               holds=False, wanted=CALLABLE, topic=str(key))  # fmt: skip
    for flag in (ABSENT, True):
        for exchange in look.every(flag):
            callables = {str(key) for key in exchange.answer.callables() if key in look.proven}
            states = [look.bench.states[key] for key in look.proven if str(key) in callables]
            kinds = {clause for s in states for clause in as_callable(s, flag=flag is True)}
            due = [k for k in look.proven if look.bench.relevant(k, exchange.request.query or "")]
            off = [key for key in due if look.bench.states[key].server_off]
            findings.truth(
                kinds, exchange.request, sorted(callables), holds=not callables,
                wanted="", topic="callable tools", counts=bool(due) and look.is_alive,
                shows=["FR-004.follows-state",
                       *(["FR-001.server-off"] if off and flag is True else []),
                       *(["FR-001.default-off"] if flag is ABSENT else [])],
            )  # fmt: skip


def follows(look: Look, findings: Findings) -> None:
    """Law: a tool that was locked and is callable again is not listed as locked for its own query.

    The memory has the tools that were locked in earlier looks.
    """
    for key in look.free:
        if key in look.memory.get("locked before", ()):
            exchange = look.own(key)
            if exchange is not None and exchange.answer.error is None:
                status = exchange.answer.statuses().get(key, CALLABLE)
                findings.truth(["FR-004.follows-state"], exchange.request, status,
                               holds=status == CALLABLE,
                               wanted=f"{CALLABLE} or {NOWHERE}", topic=str(key))  # fmt: skip


def steady(look: Look, findings: Findings) -> None:
    """Law: a tool has one status in seven requests in a row, agents' requests among them.

    Each look tries one tool, another one each time, and one that config and user both lock.
    """
    first = look.number % max(1, len(look.keys))
    both = [k for k in look.keys if look.bench.states[k] == ToolState(config=True, user=True)]
    for key in dict.fromkeys([*look.keys[first:][:1], *both[:1]]):
        by_agent: dict[str | None, list[str]] = {}
        agents = [name for name in look.narrow if key.server in look.bench.world.agents[name]]
        for turn in range(TIMES):
            agent = agents[0] if agents and turn % 3 == 1 else None
            exchange = look.ask(
                own_query(look.bench, key), flag=True, limit=100, agent=agent, anew=True
            )
            if exchange is not None and exchange.answer.error is None:
                by_agent.setdefault(agent, []).append(exchange.answer.status(key))
        statuses = {status for own in by_agent.values() for status in own}
        moves = any(len(set(own)) > 1 for own in by_agent.values())
        request = When(do="discover", query=own_query(look.bench, key), include_disabled=True)
        findings.truth(["FR-004.deterministic"], request, sorted(statuses),
                       holds=not moves and len(statuses - {NOWHERE}) < 2,  # noqa: PLR2004
                       wanted="one status", topic=str(key),
                       counts=bool(statuses - {NOWHERE}))  # fmt: skip


def _allowed(look: Look, key: ToolKey) -> frozenset[str]:
    """Return the places that a tool's locks allow: statuses, `callable` or `absent`.

    After a restart also disabled_unknown, and `absent` for a tool in quarantine or unapproved.
    """
    state = look.bench.states[key]
    allowed = allowed_statuses(state)
    if key not in look.unsure:
        return allowed
    withheld = state.quarantined or state.approval is not None
    return allowed | {UNKNOWN} | ({NOWHERE} if withheld else set())


def _judge(look: Look, findings: Findings, exchange: DiscoveryExchange, key: ToolKey, *, place: str,
           allowed: frozenset[str]) -> None:  # fmt: skip
    """Compare a tool's place in an answer with the allowed ones, under the clauses of its locks.

    Places are statuses, `callable` and `absent`.
    """
    state = look.bench.states[key]
    findings.truth(broken_by(state, place, flag=True), exchange.request, place,
                   holds=place in allowed, wanted=" or ".join(sorted(allowed)),
                   topic=f"status of {key}", shows=shown_by(state, place, flag=True))  # fmt: skip
