"""Laws of a locked tool's status: allowed by its locks, stable, `disabled_unknown` if unclear."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.contents import masked
from mcp_proxy_conformance.discovery.grounds import as_callable, broken_by, shown_by
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.locked_entries import own_query
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import CALLABLE, LOCKED_CAP, allowed_statuses
from mcp_proxy_conformance.discovery.remediation import judge
from mcp_proxy_conformance.verdict.result import NotApplicable

UNKNOWN = "disabled_unknown"
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
    has, in answers with room for another entry.
    """
    most = max((len(exchange.answer.disabled) for exchange in look.every(True)), default=0)
    for exchange in look.requests(True):
        widest = look.same(exchange, flag=True, limit=SHOW_LIMIT)
        if widest is None:
            continue
        shown = look.bench.armed.shown.get(widest.request.query or "", ())
        scope = look.bench.world.agents.get(widest.request.agent or "")
        due = [
            key for key in look.proven
            if key in shown and (scope is None or key.server in scope)
            and look.bench.states[key] in (ToolState(config=True), ToolState(user=True))
            and key not in look.unsure and look.is_own(key)
        ]  # fmt: skip
        if len(widest.answer.disabled) >= max(most, 1) or len(due) > most:
            continue
        for key in due:
            place = widest.answer.status(key)
            findings.truth(["FR-001.by-description"], widest.request, place, holds=place != NOWHERE,
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

    The tools that are locked now are remembered for the next look.
    """
    for key in look.free:
        if key in look.memory.get("locked before", ()):
            exchange = look.own(key)
            if exchange is not None and exchange.answer.error is None:
                status = exchange.answer.statuses().get(key, CALLABLE)
                findings.truth(["FR-004.follows-state"], exchange.request, status,
                               holds=status == CALLABLE,
                               wanted=f"{CALLABLE} or {NOWHERE}", topic=str(key))  # fmt: skip
    look.memory.setdefault("locked before", set()).update(look.proven)


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


def undetermined(look: Look, findings: Findings) -> None:
    """Law: while the reason of a lock cannot be determined, the status is disabled_unknown.

    Calls stay refused, and the remediation is not that of another lock. Tried in the last look,
    on one tool locked by the user; NotApplicable unless `indeterminate` is declared.
    """
    bench = look.bench
    if "indeterminate" not in bench.started.target.capabilities:
        raise NotApplicable("indeterminate is not declared", cause="not_declared")
    keys = [key for key in look.keys if bench.states[key] == ToolState(user=True)]
    if not keys or not look.memory.get("last"):
        return
    key = keys[0]
    with bench.operator.undetermined(key.server, [key.tool]):
        refused = bench.refused(key)
        exchange = look.own(key)
        again = bench.until(
            lambda: look.own(key),
            lambda latest: latest is not None and latest.answer.status(key) == UNKNOWN,
        )
    if exchange is None or again is None or again.answer.status(key) not in PLACES:
        return  # another word than the six is for FR-004.enum
    text = str((again.answer.remediation or {}).get(UNKNOWN, ""))
    outcome = judge(masked(bench, text, key), UNKNOWN, pins=bench.started.target.pins)
    observed = {"refused": refused, "status": again.answer.status(key),
                "remediation of another lock": outcome == "convicted"}  # fmt: skip
    wanted = {"refused": True, "status": UNKNOWN, "remediation of another lock": False}
    findings.truth(["FR-004.unknown"], again.request, observed, holds=observed == wanted,
                   wanted=f"a refused call, and {UNKNOWN} with a neutral remediation",
                   topic=str(key))  # fmt: skip


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
