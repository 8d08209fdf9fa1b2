"""Statuses as locks are set and lifted, tools go and return, the target restarts: FR-004."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    LockKind,
    Step,
    ToolKey,
    ToolState,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.answer import ServerEntry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import tally
from mcp_proxy_conformance.discovery.grounds import compare_places
from mcp_proxy_conformance.discovery.locked_entries import own_query, places
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import UNLOCKED, allowed_statuses
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import NotApplicable

LIST, DROP = ToolKey("forge", "zorvik_list"), ToolKey("forge", "mobel_drop")
WIPE = ToolKey("forge", "gatun_wipe")
OPEN = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop")), server("barn", tool("tifka_show"))
)
YARD = world(server("yard", tool("pelka_send"), trusted=False))
LOCKED = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", locked=CONFIG),
        tool("gatun_wipe", locked=USER),
    )
)
OPENED, PEEK = ToolKey("forge", "fegadu_open"), ToolKey("barn", "rovani_peek")
PICK = ToolKey("barn", "lurbin_pick")
HELD = {ToolKey("forge", "sumiga_hold"): ToolState(user=True)}
LENT = ToolKey("shed", "bitoko_lend")
LEAVING = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("fegadu_open"),
        tool("mobel_drop", locked=CONFIG),
        tool("gatun_wipe", locked=USER),
        tool("sumiga_hold", locked=USER),
    ),
    server("barn", tool("tifka_show"), tool("rovani_peek"), tool("lurbin_pick", locked=USER)),
    server("shed", tool("fegadu_seal"), tool("bitoko_lend"), trusted=False),
)
APPROVED = Step(unlock="approval", server="shed", tools=("fegadu_seal", LENT.tool))
RETURNING = structs.replace(LEAVING, steps=(APPROVED, *LEAVING.steps))
BOTH = f"{WIPE.tool} sumiga_hold"
"""A query for a tool that will be gone and one that stays, both locked by the user."""
OFFERED, LEFT = {"forge": 5, "barn": 3}, {"forge": 2, "barn": 1}
"""How many tools each of these servers offers, before and while some are gone."""
CHANGED = "quibrandol"
"""A word that no description has at first."""
Places = tuple[frozenset[str], frozenset[str]]
Tallies = dict[str, dict[str, Any] | None]


@requirement("FR-004.follows-state")
@on(LOCKED, needs=("restart",))
def test_a_lock_lifted_after_a_restart_is_told_no_more(bench: Bench) -> None:
    """A lock, of config or the user, that is lifted after a restart is no longer listed.

    Inconclusive if a lock has no effect before the restart, if no tool can be called after it, or
    if calls do not show the unlock.
    """
    locks: dict[LockKind, ToolKey] = {CONFIG: DROP, USER: WIPE}
    bench.require(
        set(locks.values()) <= set(bench.armed.refused), "a lock had no effect", "no_effect"
    )
    bench.operator.restart()
    bench.require(bench.ready(LIST), "no tool could be called after the restart", "not_reached")

    for kind, key in locks.items():
        bench.operator.unlock(kind, key.server, [key.tool])

    reopened = {kind: _places_after_unlock(bench, key) for kind, key in locks.items()}
    stale = {
        (str(locks[kind]), f"{kind} lock lifted after a restart"): shown
        for kind, shown in reopened.items()
        if not shown <= UNLOCKED
    }
    assert stale == {}


@requirement(
    "FR-001.reveals-config", "FR-001.reveals-user", "FR-004.follows-state", "FR-004.once",
    "FR-009.count", "FR-010.block", "FR-010.inspect", "FR-010.sum", "FR-011.never-reaches",
    "SC-005.absent",
)  # fmt: skip
@on(RETURNING, needs=("refresh",))
def test_a_locked_tool_that_is_gone_is_not_listed_and_comes_back_locked(bench: Bench) -> None:
    """A locked tool is not listed or counted while its server lacks it, and is locked once back.

    On each server a callable tool goes and comes back as the control: where it stays listed,
    nothing is judged of the time between, and it is inconclusive unless it can be called again and
    the locks have effect. A user lock may end with its tool. Not applicable if the flag does not
    reveal all locked tools.
    """
    states = {DROP: ToolState(config=True), WIPE: ToolState(user=True), PICK: ToolState(user=True)}
    bench.require(states.keys() <= bench.armed.refused.keys(), "a lock had no effect", "no_effect")
    shown = {
        key: _settled_places(bench, key, allowed_statuses(state)) for key, state in states.items()
    }
    if any(place <= UNLOCKED for place in shown.values()):
        raise NotApplicable("the flag does not reveal all locked tools: FR-001.reveals-user")
    compared = Comparison()
    due = _due(states | HELD, OFFERED)
    is_counted = bench.settled(lambda: _tallies(bench.list().servers), due) == due
    bench.discover(BOTH)

    for key in (OPENED, PEEK, LENT, *states):
        bench.operator.remove_upstream_tool(key)
    _refresh(bench)
    if all(_settled_places(bench, key, {"absent"}) == {"absent"} for key in (OPENED, PEEK)):
        lent_stays = "callable" in _settled_places(bench, LENT, {"absent"})
        for key in (*states, *(() if lent_stays else (LENT,))):
            for place in sorted(_settled_places(bench, key, {"absent"})):
                compared.one_of(f"place of {key}, which its server no longer lists", place,
                                ["absent"], breaks=["FR-004.follows-state"])  # fmt: skip
        _compare_note(bench, compared)
        if is_counted:
            _compare_counts(bench, compared, HELD, LEFT)
    for key in (OPENED, PEEK, *states):
        bench.operator.change_upstream(Step(add=bench.tools[key], server=key.server))
    _refresh(bench)

    bench.require(
        bench.reached(OPENED) and bench.reached(PEEK),
        "a tool that came back could not be called",
        "not_reached",
    )
    locked = {k: s for k, s in states.items() if _compare_returned(bench, compared, k, s)}
    if is_counted:
        _compare_counts(bench, compared, locked | HELD, OFFERED)
    compared.conclude()


@requirement("FR-004.follows-state~without-refresh")
@on(OPEN)
def test_an_unlocked_tool_is_callable_again_without_a_refresh(bench: Bench) -> None:
    """Once calls reach an unlocked tool, discovery lists it as callable, without a refresh.

    The locks are the user's and config's, in turn; inconclusive if calls do not show the lock
    or its unlock.
    """
    stale: dict[tuple[str, str], object] = {}
    for kind in (USER, CONFIG):
        bench.operator.lock(kind, "forge", [DROP.tool])
        bench.require(bench.refused(DROP), f"the {kind} lock had no effect", "no_effect")
        bench.operator.unlock(kind, "forge", [DROP.tool])
        bench.require(bench.reached(DROP), f"the {kind} lock was not lifted", "no_effect")
        if (shown := _settled_places(bench, DROP, {"callable"})) != {"callable"}:
            stale[str(DROP), f"{kind} lock lifted"] = sorted(shown)

    assert stale == dict.fromkeys(stale, "callable")


@requirement("FR-004.deterministic~restart")
@on(LOCKED, needs=("restart",))
def test_a_status_outlives_a_restart(bench: Bench) -> None:
    """Tools whose calls are still refused after a restart have the same status, or none, as before.

    Inconclusive if the flag revealed no locked tool before, a callable one is not reached
    afterwards, or no lock is left.
    """
    before = {key: places(bench, key) for key in bench.armed.refused}
    bench.require_revealed(any(not shown <= UNLOCKED for shown in before.values()))

    bench.operator.restart()
    bench.require(bench.reached(LIST), "no tool could be called after the restart", "not_reached")

    refused = {key: shown for key, shown in before.items() if not bench.call(key).reached}
    bench.require(refused, "no lock was left after the restart", "no_effect")
    after = bench.settled(lambda: {key: places(bench, key) for key in refused}, refused)
    assert after == refused


def _refresh(bench: Bench) -> None:
    for name in (*OFFERED, LENT.server):
        bench.operator.refresh(name)


def _tallies(entries: Mapping[str, ServerEntry]) -> Tallies:
    """Return the tallies of forge and barn by name; None for one without a counts block.

    One that is not listed is left out.
    """
    shown = {name: entries[name] for name in OFFERED if name in entries}
    return {name: tally(entry) if entry.has_counts else None for name, entry in shown.items()}


def _due(locked: Mapping[ToolKey, ToolState], offered: Mapping[str, int]) -> Tallies:
    """Return the tally due to each server by name; None for one without a locked tool.

    `offered` is the number of tools by server. Each locked tool has one lock, whose status is
    its word.
    """
    due: Tallies = {}
    for name, number in offered.items():
        own = [state for key, state in locked.items() if key.server == name]
        words = Counter(word for state in own for word in allowed_statuses(state))
        due[name] = {"callable": number - len(own), **words} if own else None
    return due


def _compare_counts(
    bench: Bench,
    compared: Comparison,
    locked: Mapping[ToolKey, ToolState],
    offered: Mapping[str, int],
) -> None:
    """Record in `compared` whether the counts of forge and barn fit these locks and tools.

    `offered` is the number of tools by server. Views of single servers are compared only if
    they are declared and the listing is right.
    """
    due = _due(locked, offered)
    listed = bench.settled(lambda: _tallies(bench.list().servers), due)
    for name, wanted in due.items():
        breaks = ["FR-010.block", "SC-005.absent"] if wanted is None else ["FR-010.sum"]
        compared.truth(f"counts of {name}, some of whose tools went or came back",
                       listed.get(name), holds=listed.get(name) == wanted, allowed=wanted,
                       breaks=breaks, described=False)  # fmt: skip
    if listed == due and "inspect" in bench.started.target.capabilities:
        viewed = bench.settled(lambda: _tallies({n: bench.inspect(n) for n in offered}), due)
        compared.truth("counts in the views of servers, some of whose tools went or came back",
                       viewed, holds=viewed == due, allowed=due,
                       breaks=["FR-010.inspect"], described=False)  # fmt: skip


def _compare_note(bench: Bench, compared: Comparison) -> None:
    """Record in `compared` whether the note for two locked tools, one now gone, counts the other.

    Its number must be that of the locked entries. Nothing is recorded if a callable tool is
    listed, or the note has no number.
    """
    answer, flagged = bench.discover(BOTH), bench.widest(BOTH, include_disabled=True)
    numbers = numbers_in(answer.note or "")
    if answer.tools or not numbers or not flagged.disabled:
        return
    compared.truth("note for tools of which one is gone", answer.note or "",
                   holds=len(flagged.disabled) in numbers, allowed=str(len(flagged.disabled)),
                   breaks=["FR-009.count"], shows=["FR-009.count"])  # fmt: skip


def _compare_returned(bench: Bench, compared: Comparison, key: ToolKey, state: ToolState) -> bool:
    """Judge calls and places of a locked tool that is listed again; return whether it is refused.

    Differences become findings of `compared`. Each answer may have one entry of the tool. A tool
    that the user disabled may be callable again if no answer lists it as locked.
    """
    is_refused = bench.refused(key)
    now = _settled_places(bench, key, allowed_statuses(state) if is_refused else UNLOCKED)
    compared.truth(f"a call of {key}, which its server lists again", "reached its upstream",
                   holds=is_refused or (state.user and now <= UNLOCKED), allowed="refused",
                   breaks=["FR-011.never-reaches"],
                   shows=["FR-011.never-reaches"] if is_refused else [])  # fmt: skip
    if is_refused:
        compare_places(compared, key, state, now - ({"pending_approval"} if state.user else set()))
    for query in (own_query(bench, key), key.tool):
        answer = bench.widest(query, include_disabled=True)
        times = [entry.key for entry in (*answer.tools, *answer.disabled)].count(key)
        compared.truth(f"entries of {key}, which its server lists again", times,
                       holds=times <= 1, allowed="at most 1", breaks=["FR-004.once"],
                       shows=["FR-004.once"] if times else [])  # fmt: skip
    return is_refused


def _settled_places(
    bench: Bench, key: ToolKey, wanted: frozenset[str] | set[str]
) -> frozenset[str]:
    """Return the tool's places once all are in `wanted`, or the last ones in the settle time.

    Places, in flagged answers, are statuses, `callable` or `absent`.
    """
    return bench.until(lambda: places(bench, key), lambda now: now <= wanted)


def _places_after_unlock(bench: Bench, key: ToolKey) -> frozenset[str]:
    """Return the places of an unlocked tool, after a refresh of its server if that is supported.

    Places are `callable` and `absent`, or statuses that have not gone within the settle time.
    Inconclusive if no call reaches it.
    """
    bench.require(bench.reached(key), "the lock was not lifted", "no_effect")
    if "refresh" in bench.started.target.capabilities:
        bench.operator.refresh(key.server)
    return _settled_places(bench, key, UNLOCKED)
