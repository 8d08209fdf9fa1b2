"""Laws of a tool's status: the oracle's words for its locks, told alike whenever it is asked."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import ABSENT
from mcp_proxy_conformance.discovery.grounds import as_callable, broken_by, shown_by
from mcp_proxy_conformance.discovery.laws.look import Findings, Look, Told
from mcp_proxy_conformance.discovery.locked import masked, own_query
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE
from mcp_proxy_conformance.discovery.oracle import CALLABLE, LOCKED_CAP, allowed_statuses
from mcp_proxy_conformance.discovery.remediation import judge
from mcp_proxy_conformance.verdict.result import NotApplicable

UNKNOWN = "disabled_unknown"
PLACES = (*STATUSES, CALLABLE, NOWHERE)
TIMES = 7
"""How often a tool is asked for in a row."""


def revealed(look: Look, found: Findings) -> None:
    """Each locked tool is told, for its own query, by a word that its locks allow."""
    flagged = [(key, one) for key in look.keys if (one := look.own(key)) is not None]
    for key in look.keys:
        scoped = [name for name in look.narrow if key.server in look.bench.world.agents[name]]
        if scoped and (one := look.own(key, agent=scoped[0])) is not None:
            flagged.append((key, one))
    most = max((len(one.answer.disabled) for _, one in flagged), default=0)
    for key, one in flagged:
        if one.answer.error is not None:
            continue
        seen, allowed = one.answer.status(key), _allowed(look, key)
        if seen == NOWHERE and any(look.named(entry) is None for entry in one.answer.disabled):
            continue  # it may be there by a name that no tool has
        crowded = seen == NOWHERE and len(one.answer.disabled) >= max(1, min(most, LOCKED_CAP))
        if not crowded:
            _judge(look, found, one, key, seen=seen, allowed=allowed)


def by_group(look: Look, found: Findings) -> None:
    """A word in the description alone finds a locked tool, if it found it while callable."""
    most = max((len(one.answer.disabled) for one in look.every(True)), default=0)
    for asked in look.requests(True):
        one = look.same(asked, flag=True, limit=SHOW_LIMIT)
        if one is None:
            continue
        shown = look.bench.armed.shown.get(one.of.query or "", ())
        scope = look.bench.world.agents.get(one.of.agent or "")
        due = [
            key for key in look.proven
            if key in shown and (scope is None or key.server in scope)
            and look.bench.states[key] in (ToolState(config=True), ToolState(user=True))
            and key not in look.unsure and look.is_own(key)
        ]  # fmt: skip
        if len(one.answer.disabled) >= max(most, 1) or len(due) > most:
            continue
        for key in due:
            seen = one.answer.status(key)
            found.truth(["FR-001.by-description"], one.of, seen, holds=seen != NOWHERE,
                        wanted=f"{key} listed", topic=f"whether {key} is listed")  # fmt: skip


def listed(look: Look, found: Findings) -> None:
    """Whatever is asked, no answer puts a tool where its locks do not allow it to be."""
    for one in look.every(True):
        for entry in one.answer.disabled:
            key = look.named(entry)
            if key in look.proven:
                allowed = _allowed(look, key) - {NOWHERE}
                _judge(look, found, one, key, seen=entry.status, allowed=allowed)
            elif key in look.free:
                found.truth(["FR-004.follows-state"], one.of, entry.status, holds=False,
                            wanted=f"{key} not among the locked, for it is callable")  # fmt: skip
    for flag in (ABSENT, True):
        for one in look.every(flag):
            callables = {str(key) for key in one.answer.callables() if key in look.proven}
            states = [look.bench.states[key] for key in look.proven if str(key) in callables]
            kinds = {clause for s in states for clause in as_callable(s, flag=flag is True)}
            due = [k for k in look.proven if look.bench.relevant(k, one.of.query or "")]
            off = [key for key in due if look.bench.states[key].server_off]
            found.truth(
                kinds, one.of, sorted(callables), holds=not callables,
                wanted="no locked tool among the callable", counts=bool(due) and look.is_alive,
                shows=["FR-004.follows-state",
                       *(["FR-001.server-off"] if off and flag is True else []),
                       *(["FR-001.default-off"] if flag is ABSENT else [])],
            )  # fmt: skip


def follows(look: Look, found: Findings) -> None:
    """A tool that is callable again is not told as locked."""
    for key in look.free:
        if key in look.memory.get("locked before", ()):
            one = look.own(key)
            if one is not None and one.answer.error is None:
                seen = one.answer.statuses().get(key, CALLABLE)
                found.truth(["FR-004.follows-state"], one.of, seen, holds=seen == CALLABLE,
                            wanted=f"{key} told as callable, or not at all")  # fmt: skip
    look.memory.setdefault("locked before", set()).update(look.proven)


def steady(look: Look, found: Findings) -> None:
    """Asked for again and again, by whomever, a tool has one status."""
    first = look.number % max(1, len(look.keys))
    both = [k for k in look.keys if look.bench.states[k] == ToolState(config=True, user=True)]
    for key in dict.fromkeys([*look.keys[first:][:1], *both[:1]]):
        seen: dict[str | None, list[str]] = {}
        agents = [one for one in look.narrow if key.server in look.bench.world.agents[one]]
        for turn in range(TIMES):
            agent = agents[0] if agents and turn % 3 == 1 else None
            one = look.ask(own_query(look.bench, key), flag=True, limit=100, agent=agent, anew=True)
            if one is not None and one.answer.error is None:
                seen.setdefault(agent, []).append(one.answer.status(key))
        every = {status for own in seen.values() for status in own}
        moves = any(len(set(own)) > 1 for own in seen.values())
        of = When(do="discover", query=own_query(look.bench, key), include_disabled=True)
        found.truth(["FR-004.deterministic"], of, sorted(every),
                    holds=not moves and len(every - {NOWHERE}) < 2,  # noqa: PLR2004
                    wanted=f"one status of {key}", counts=bool(every - {NOWHERE}))  # fmt: skip


def undetermined(look: Look, found: Findings) -> None:
    """While a reason cannot be told the tool is said to be locked for an unknown one."""
    bench = look.bench
    if "indeterminate" not in bench.started.target.capabilities:
        raise NotApplicable("indeterminate is not declared", cause="not_declared")
    keys = [key for key in look.keys if bench.states[key] == ToolState(user=True)]
    if not keys or not look.memory.get("last"):
        return
    key = keys[0]
    with bench.operator.undetermined(key.server, [key.tool]):
        refused = bench.refused(key)
        one = look.own(key)
        again = bench.until(lambda: look.own(key), lambda told: _is_unknown(told, key))
    if one is None or again is None or again.answer.status(key) not in PLACES:
        return  # another word than the six is for FR-004.enum
    text = str((again.answer.remediation or {}).get(UNKNOWN, ""))
    outcome = judge(masked(bench, text, key), UNKNOWN, pins=bench.started.target.pins)
    told = {"refused": refused, "status": again.answer.status(key),
            "of another class": outcome == "convicted"}  # fmt: skip
    wanted = {"refused": True, "status": UNKNOWN, "of another class": False}
    found.truth(["FR-004.unknown"], again.of, told, holds=told == wanted, wanted=str(wanted),
                topic=f"the reason of {key} being unknown")  # fmt: skip


def _is_unknown(one: Told | None, key: ToolKey) -> bool:
    return one is not None and one.answer.status(key) == UNKNOWN


def _allowed(look: Look, key: ToolKey) -> frozenset[str]:
    """The words for its locks; of locks that outlived a restart the reason may be lost."""
    state = look.bench.states[key]
    allowed = allowed_statuses(state)
    if key not in look.unsure:
        return allowed
    withheld = state.quarantined or state.approval is not None
    return allowed | {UNKNOWN} | ({NOWHERE} if withheld else set())


def _judge(look: Look, found: Findings, one: Told, key: ToolKey, *, seen: str,
           allowed: frozenset[str]) -> None:  # fmt: skip
    state = look.bench.states[key]
    found.truth(broken_by(state, seen, flag=True), one.of, seen, holds=seen in allowed,
                wanted=f"{' or '.join(sorted(allowed))} for {key}", topic=f"status of {key}",
                shows=shown_by(state, seen, flag=True))  # fmt: skip
