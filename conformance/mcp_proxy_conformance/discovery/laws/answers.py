"""Laws of a whole discovery answer: flag accepted, cap, no tool twice, map keys, schema, bytes."""

from __future__ import annotations

import msgspec

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import beyond
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.forms import unequal
from mcp_proxy_conformance.discovery.laws.look import DiscoveryExchange, Findings, Look
from mcp_proxy_conformance.discovery.oracle import (
    LOCKED_CAP,
    allowed_statuses,
    cap,
    remediation_keys,
)

ODD_LIMITS = (0, -1, 2.7, "5", "abc", 1e300, 15.5, -3)
SHAPES = ("FR-003.members", "FR-004.enum", "FR-005.keys")
"""Clauses that each answer with locked entries shows, if it keeps to its schema."""
COMPARED = 1
"""Requests whose bytes are compared in one look."""


def accepts(look: Look, findings: Findings) -> None:
    """Law: a request of the world that is answered without the flag is answered with it as well.

    The flagged answer also has a member for callable tools if the other has one.
    """
    for exchange in look.requests(ABSENT):
        limit = ABSENT if exchange.limit is None else exchange.limit
        with_flag = look.ask(
            exchange.request.query or "", flag=True, limit=limit, agent=exchange.request.agent
        )
        error = look.unaccepted(exchange) if with_flag is None else with_flag.answer.error
        if with_flag is None and error is None:
            continue  # its form is that of another kind of answer, or breaks another clause
        member = look.bench.surface.members.tools
        if with_flag and error is None and member in exchange.answer.body:
            error = None if member in with_flag.answer.body else f"no member {member}"
        request = with_flag.request if with_flag is not None else exchange.request
        holds = error is None
        findings.truth(["FR-001.accepts"], request, error, holds=holds, wanted="answered")


def capped(look: Look, findings: Findings) -> None:
    """Law: no flagged answer holds more locked entries than its limit, or ten.

    In the last look one query with over ten locked matches is sent with odd limits too, such as
    0 or a text: ten at most, if it is answered.
    """
    for exchange in look.every(True):
        most = cap(exchange.limit)
        count = len(exchange.answer.disabled)
        findings.truth(
            ["FR-006.cap"], exchange.request, count, holds=count <= most,
            wanted=f"at most {most}", topic="locked entries",
            counts=look.is_alive and len(_locked_matches(look, exchange)) > most,
        )  # fmt: skip
    crowds = [
        exchange
        for exchange in look.requests(True)
        if len(_locked_matches(look, exchange)) > LOCKED_CAP
    ]
    for exchange in crowds[:1] if look.memory["last"] else ():
        for limit in ODD_LIMITS:
            odd = look.ask(exchange.request.query or "", flag=True, limit=limit, anew=True)
            if odd is None:
                continue  # it has no form in which entries could be counted
            count, request = len(odd.answer.disabled), odd.request
            holds = count <= LOCKED_CAP
            findings.truth(
                ["FR-006.odd-limits"], request, count, holds=holds,
                wanted=f"at most {LOCKED_CAP}", topic="locked entries",
            )  # fmt: skip


def once(look: Look, findings: Findings) -> None:
    """Law: a flagged answer with a locked entry lists no tool twice: callable, locked, or both.

    Only entries that name their server are compared.
    """
    for exchange in look.every(True):
        twice = exchange.answer.listed_twice()
        if any(isinstance(e.members.get("server"), str) for e in exchange.answer.disabled):
            findings.truth(["FR-004.once"], exchange.request, twice, holds=not twice, wanted="",
                           topic="tools listed twice")  # fmt: skip


def keys(look: Look, findings: Findings) -> None:
    """Law: a flagged answer's remediation map has just the statuses of its entries as keys."""
    for exchange in look.every(True):
        shown = remediation_keys(map(str, exchange.answer.statuses().values()))
        map_keys = frozenset(exchange.answer.remediation or {})
        findings.truth(
            _of_keys(look, exchange, map_keys - shown), exchange.request, sorted(map_keys),
            holds=map_keys == shown, wanted=", ".join(sorted(shown)) or "none", counts=bool(shown),
            topic="keys of the remediation map", shows=["FR-005.keys"],
        )  # fmt: skip


def schemas(look: Look, findings: Findings) -> None:
    """Law: every answer of the look keeps to its schema; only those with locked entries prove it.

    A misshapen answer breaks the clauses that its fault names, but FR-001.accepts has a law of its
    own. Requests whose answers were breaches are sent again in the next look.
    """
    for flag in (True, ABSENT):
        look.every(flag)
    for request in look.memory.pop("misformed", ()):
        flag = ABSENT if request.include_disabled is None else request.include_disabled
        limit = ABSENT if request.limit is msgspec.UNSET else request.limit
        look.ask(request.query or "", flag=flag, limit=limit, agent=request.agent, anew=True)
    answered = {id(each.answer): each for each in look.exchanges}.values()  # laws share answers
    faults = {
        request: (error, clauses)
        for request, error in look.misshapen.items()
        if (clauses := [each for each in error.clauses if each != "FR-001.accepts"])
    }
    misformed = [each.request for each in answered if each.answer.findings]
    look.memory["misformed"] = list(dict.fromkeys([*misformed, *faults]))
    for request, (error, clauses) in faults.items():
        findings.truth(clauses, request, str(error), holds=False, wanted="as named in `surface`",
                       topic="shape")  # fmt: skip
    for exchange in answered:
        for breach in exchange.answer.findings:
            findings.truth(breach.clauses, exchange.request, breach.observed, holds=False,
                           wanted=breach.allowed, topic=breach.path)  # fmt: skip
        if exchange.answer.disabled and not exchange.answer.findings:
            findings.truth(SHAPES, exchange.request, "as its schema says", holds=True, wanted=None)


def _of_keys(look: Look, exchange: DiscoveryExchange, more: frozenset[str]) -> list[str]:
    """Return the clauses broken by these surplus keys of a remediation map: always FR-005.keys.

    Also FR-007.hidden if a key in a narrow agent's map can only come from a lock beyond its
    scope.
    """
    agent = exchange.request.agent
    if agent not in look.narrow or agent is None or not more:
        return ["FR-005.keys"]
    outside = beyond(look.bench.world, agent)
    own = {str(word) for key in look.proven if key.server not in outside
           for word in allowed_statuses(look.bench.states[key])}  # fmt: skip
    hidden = {str(word) for key in look.proven if key.server in outside
              for word in allowed_statuses(look.bench.states[key])}  # fmt: skip
    return ["FR-005.keys", *(["FR-007.hidden"] if more & (hidden - own) else [])]


def callables(look: Look, findings: Findings) -> None:
    """Law: the flag keeps the callable tools, their names and their order, and adds no other.

    The answers to one request without and with it are compared. If they differ, it is sent once
    more without it, and if those two differ as well, nothing is judged.
    """
    for exchange in look.every(ABSENT):
        flagged = look.same(exchange, flag=True)
        if flagged is None:
            continue
        usual, actual = _named(exchange), _named(flagged)
        if usual != actual:  # some searches break ties at random
            again = look.ask(
                exchange.request.query or "",
                limit=ABSENT if exchange.limit is None else exchange.limit,
                agent=exchange.request.agent,
                anew=True,
            )
            if again is None or _named(again) != usual:
                continue
        findings.truth(
            ["FR-006.callables", *_if_unlocked(look)], flagged.request, actual,
            holds=usual == actual,
            wanted=", ".join(usual), counts=bool(usual), topic="callable tools",
        )  # fmt: skip


def unasked(look: Look, findings: Findings) -> None:
    """Law: without locks nothing is listed as locked, and locks let no query find further tools.

    The second is judged of queries with fewer matches than the fullest one, and of tools not
    withheld: each must have been listed for the query while callable.
    """
    shown = look.memory["shown"]
    fullest = max(shown.values(), key=len, default=())
    first = {ToolKey(s.name, tool.name) for s in look.bench.world.servers for tool in s.tools}
    for exchange in look.every(True):
        query = exchange.request.query or ""
        if _if_unlocked(look):
            listed = sorted(map(str, exchange.answer.statuses()))
            findings.truth(
                ["FR-002.no-locks-no-change"], exchange.request, listed, holds=not listed,
                wanted="", topic="locked tools", counts=bool(exchange.answer.tools),
            )  # fmt: skip
        if len(shown.get(query, fullest)) >= len(fullest):
            continue  # it may have found more than it listed
        strays = [
            str(key)
            for key in exchange.answer.statuses()
            if key in first and key not in shown[query] and query != key.tool
            and _is_indexed(look, key) and look.is_own(key)
        ]  # fmt: skip
        findings.truth(
            ["FR-002.no-locks-no-change"], exchange.request, strays, holds=not strays,
            wanted="", topic="not listed while callable", counts=look.is_alive,
        )  # fmt: skip


def absent_is_false(look: Look, findings: Findings) -> None:
    """Law: with the flag false every byte of an answer is the same as without the flag.

    Each look compares one request, another one each time. Inconclusive if answers without the
    flag differ in more than single values.
    """
    wanted = [*look.requests(ABSENT)]
    wanted += [exchange for key in look.keys[:COMPARED] if (exchange := look.own(key, flag=ABSENT))]
    turn = look.number % max(1, len(wanted))
    for exchange in [*wanted[turn:], *wanted[:turn]][:COMPARED]:
        request = {"query": exchange.request.query} | (
            {"limit": exchange.limit} if exchange.limit else {}
        )
        differing = unequal(exchange.view, [request])
        differences = [difference for several in differing.values() for difference in several]
        findings.truth(["FR-002.absent-is-false"], _with_false(look, exchange),
                       {d.place: d.actual.decode("utf-8", "replace") for d in differences},
                       holds=not differences,
                       wanted={d.place: d.usual.decode("utf-8", "replace") for d in differences},
                       )  # fmt: skip


def _with_false(look: Look, exchange: DiscoveryExchange) -> When:
    """Return the request with the flag false; as it was sent if that is answered with an error."""
    same = look.same(exchange, flag=False)
    return exchange.request if same is None else same.request


def _if_unlocked(look: Look) -> list[str]:
    """Return [FR-002.no-locks-no-change] if no tool is locked here, else []."""
    unlocked = all(state.callable for state in look.bench.states.values())
    return ["FR-002.no-locks-no-change"] if unlocked else []


def _is_indexed(look: Look, key: ToolKey) -> bool:
    """Whether the tool is not withheld and its server is on, so that searches find it as before."""
    state = look.bench.states[key]
    return not (state.quarantined or state.approval or state.server_off)


def _locked_matches(look: Look, exchange: DiscoveryExchange) -> list[ToolKey]:
    """Return the locked tools in the caller's scope that its query listed while callable.

    Of many alike only some locks are proven.
    """
    world, armed = look.bench.world, look.bench.armed
    outside = beyond(world, exchange.request.agent) if exchange.request.agent else ()
    return [
        key for key in armed.shown.get(exchange.request.query or "", ())
        if not armed.states[key].callable
        and key not in armed.unproven and key not in armed.skipped and key.server not in outside
    ]  # fmt: skip


def _named(exchange: DiscoveryExchange) -> list[str]:
    """Return the names of the callable tools, in the order of the answer."""
    return [entry.name for entry in exchange.answer.tools]
