"""Laws of a discovery answer as a whole: its form, its cap, its callable part, its map's keys."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import beyond
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.forms import unequal
from mcp_proxy_conformance.discovery.laws.look import Findings, Look, Told
from mcp_proxy_conformance.discovery.oracle import (
    LOCKED_CAP,
    allowed_statuses,
    cap,
    remediation_keys,
)

ODD_LIMITS = (0, -1, 2.7, "5", "abc", 1e300, 15.5, -3)
COMPARED = 1
"""Requests whose bytes are compared in one look."""


def accepts(look: Look, found: Findings) -> None:
    """What is answered without the flag is answered with it, in the same envelope."""
    for one in look.requests(ABSENT):
        limit = ABSENT if one.limit is None else one.limit
        with_flag = look.ask(one.of.query or "", flag=True, limit=limit, agent=one.of.agent)
        error = look.unaccepted(one) if with_flag is None else with_flag.answer.error
        member = look.bench.surface.members.tools
        if with_flag and error is None and member in one.answer.body:
            error = None if member in with_flag.answer.body else f"no member {member!r}"
        of = with_flag.of if with_flag is not None else one.of
        holds = error is None
        found.truth(["FR-001.accepts"], of, error, holds=holds, wanted="answered")


def capped(look: Look, found: Findings) -> None:
    """No answer holds more locked entries than its limit, or ten."""
    for one in look.every(True):
        most = cap(one.limit)
        count = len(one.answer.disabled)
        found.truth(
            ["FR-006.cap"], one.of, count, holds=count <= most, wanted=f"{most} entries at most",
            counts=look.is_alive and len(_locked_matches(look, one)) > most,
        )  # fmt: skip
    crowds = [one for one in look.requests(True) if len(_locked_matches(look, one)) > LOCKED_CAP]
    for one in crowds[:1] if look.memory["last"] else ():
        for limit in ODD_LIMITS:
            odd = look.ask(one.of.query or "", flag=True, limit=limit, anew=True)
            if odd is None:
                continue  # it has no form in which entries could be counted
            count, of = len(odd.answer.disabled), odd.of
            holds = count <= LOCKED_CAP
            found.truth(["FR-006.odd-limits"], of, count, holds=holds, wanted="10 entries at most")


def once(look: Look, found: Findings) -> None:
    """A tool is listed once, as callable or as locked."""
    for one in look.every(True):
        locked = [e.key for e in one.answer.disabled if isinstance(e.members.get("server"), str)]
        callables = [e.key for e in one.answer.tools if isinstance(e.members.get("server"), str)]
        every = [*locked, *callables]
        twice = sorted({str(key) for key in every if every.count(key) > 1})
        if locked:
            found.truth(["FR-004.once"], one.of, twice, holds=not twice, wanted="no tool twice")


def keys(look: Look, found: Findings) -> None:
    """The map has a key for each status of the entries that are shown, and no other."""
    for one in look.every(True):
        shown = remediation_keys(map(str, one.answer.statuses().values()))
        told = frozenset(one.answer.remediation or {})
        found.truth(
            _of_keys(look, one, told - shown), one.of, sorted(told), holds=told == shown,
            wanted=f"keys {sorted(shown)}", counts=bool(shown), topic="keys of the map",
            shows=["FR-005.keys"],
        )  # fmt: skip


def _of_keys(look: Look, one: Told, more: frozenset[str]) -> list[str]:
    """A key that only a lock beyond the agent's scope would bring tells of that lock."""
    agent = one.of.agent
    if agent not in look.narrow or agent is None or not more:
        return ["FR-005.keys"]
    outside = beyond(look.bench.world, agent)
    own = {str(word) for key in look.proven if key.server not in outside
           for word in allowed_statuses(look.bench.states[key])}  # fmt: skip
    hidden = {str(word) for key in look.proven if key.server in outside
              for word in allowed_statuses(look.bench.states[key])}  # fmt: skip
    return ["FR-005.keys", *(["FR-007.hidden"] if more & (hidden - own) else [])]


def callables(look: Look, found: Findings) -> None:
    """The flag keeps the callable tools, their names and their order; and it adds no other."""
    for one in look.every(ABSENT):
        flagged = look.same(one, flag=True)
        if flagged is None:
            continue
        usual, seen = _named(one), _named(flagged)
        if usual != seen:  # some searches break ties at random
            again = look.ask(one.of.query or "", limit=_limit(one), agent=one.of.agent, anew=True)
            if again is None or _named(again) != usual:
                continue
        found.truth(
            ["FR-006.callables", *_if_unlocked(look)], flagged.of, seen, holds=usual == seen,
            wanted=f"callable: {usual}", counts=bool(usual), topic="callable tools",
        )  # fmt: skip


def unasked(look: Look, found: Findings) -> None:
    """Where nothing is locked nothing is listed as locked; and no tool to a query it never met."""
    shown = look.memory.get("shown", {})
    fullest = max(shown.values(), key=len, default=())
    first = {ToolKey(s.name, tool.name) for s in look.bench.world.servers for tool in s.tools}
    for one in look.every(True):
        query = one.of.query or ""
        if _if_unlocked(look):
            listed = sorted(map(str, one.answer.statuses()))
            found.truth(
                ["FR-002.no-locks-no-change"], one.of, listed, holds=not listed,
                wanted="no locked tool", counts=bool(one.answer.tools),
            )  # fmt: skip
        if len(shown.get(query, fullest)) >= len(fullest):
            continue  # it may have found more than it listed
        strays = [
            str(key)
            for key in one.answer.statuses()
            if key in first and key not in shown[query] and query != key.tool
            and _is_indexed(look, key) and look.is_own(key)
        ]  # fmt: skip
        found.truth(
            ["FR-002.no-locks-no-change"], one.of, strays, holds=not strays,
            wanted="no tool that it did not list while callable", counts=look.is_alive,
        )  # fmt: skip


def absent_is_false(look: Look, found: Findings) -> None:
    """With the flag false every byte is what it is without the flag."""
    wanted = [*look.requests(ABSENT)]
    wanted += [one for key in look.keys[:COMPARED] if (one := look.own(key, flag=ABSENT))]
    turn = look.number % max(1, len(wanted))
    for one in [*wanted[turn:], *wanted[:turn]][:COMPARED]:
        request = {"query": one.of.query} | ({"limit": one.limit} if one.limit else {})
        differing = unequal(one.view, [request])
        told = [repr(difference) for several in differing.values() for difference in several]
        found.truth(
            ["FR-002.absent-is-false"], _with_false(look, one), told, holds=not told,
            wanted="the bytes of the form without the flag",
        )  # fmt: skip


def _with_false(look: Look, one: Told) -> When:
    same = look.same(one, flag=False)
    return one.of if same is None else same.of


def _if_unlocked(look: Look) -> list[str]:
    """The clause on worlds without a lock, in such a world."""
    unlocked = all(state.callable for state in look.bench.states.values())
    return ["FR-002.no-locks-no-change"] if unlocked else []


def _is_indexed(look: Look, key: ToolKey) -> bool:
    """Locked by config and the user alone: a search finds it as while it was callable."""
    state = look.bench.states[key]
    return not (state.quarantined or state.approval or state.server_off)


def _locked_matches(look: Look, one: Told) -> list[ToolKey]:
    """The locked tools that the query listed while they were callable, as far as one may see."""
    agents = look.bench.world.agents
    scope = agents[one.of.agent] if one.of.agent else [s.name for s in look.bench.world.servers]
    shown = look.bench.armed.shown.get(one.of.query or "", ())
    return [key for key in shown if key in look.proven and key.server in scope]


def _named(one: Told) -> list[str]:
    """The callable tools in the order told, by the names told."""
    return [entry.name for entry in one.answer.tools]


def _limit(one: Told) -> object:
    return ABSENT if one.limit is None else one.limit
