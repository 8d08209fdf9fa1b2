"""Locks that stay when another lock of their tool is lifted: FR-004, FR-011."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    LockKind,
    ToolKey,
    ToolState,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.grounds import compare_places
from mcp_proxy_conformance.discovery.locked_entries import places
from mcp_proxy_conformance.discovery.oracle import UNLOCKED, allowed_statuses
from mcp_proxy_conformance.targets.target import Refused
from mcp_proxy_conformance.verdict.comparison import Comparison

COMBOS = stage("combos")
LISTS = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", locked=CONFIG),
        allow=("zorvik_list", "mobel_drop"),
    ),
    server("vault", tool("tunrag_wipe", locked=CONFIG), tool("gatun_seal", locked=USER)),
)
OFF_LIST, DENIED = ToolKey("forge", "mobel_drop"), ToolKey("vault", "tunrag_wipe")
SEALED = ToolKey("vault", "gatun_seal")
LIFTS: Mapping[LockKind, Callable[[ToolState], ToolState]] = {
    "server": lambda state: replace(state, server_off=False),
    "quarantine": lambda state: replace(state, quarantined=False),
    CONFIG: lambda state: replace(state, config=False),
    USER: lambda state: replace(state, user=False),
}
"""The locks that are left, by the kind of the lock that is lifted, in the order of lifting."""
WAITING = (ToolState(approval="pending"), ToolState(approval="changed"))

States = Mapping[ToolKey, ToolState]


@requirement(
    "FR-001.reveals-config", "FR-001.reveals-user", "FR-001.reveals-pending",
    "FR-001.reveals-changed", "FR-001.reveals-quarantined", "FR-003.withheld",
    "FR-004.follows-state", "FR-004.precedence", "FR-011.never-reaches",
)  # fmt: skip
@on(COMBOS, fresh=True, long=True)
def test_lifting_one_lock_lifts_no_other(bench: Bench) -> None:
    """A tool under several locks is refused, and listed as the rest allow, until all are lifted.

    A tool that has no other lock is the control: inconclusive unless it can be called after
    each unlock. The release of a server from quarantine may approve its tools, and so may an
    unlock by the user.
    """
    states = {key: bench.states[key] for key in bench.armed.refused}
    shown = {key: places(bench, key) for key in states}
    bench.require_revealed(any(not place <= UNLOCKED for place in shown.values()))
    compared = Comparison()

    servers = dict.fromkeys(key.server for key in states)
    for name, (kind, lift) in product(servers, LIFTS.items()):
        own = {key: state for key, state in states.items() if key.server == name}
        left = {key: lift(state) for key, state in own.items() if lift(state) != state}
        states |= _lifted(bench, compared, kind, own, left)
        if compared.findings:
            break

    compared.conclude()


@requirement("FR-011.never-reaches")
@on(LISTS, needs=("allow_list",))
def test_the_users_unlock_opens_no_tool_that_config_denies(bench: Bench) -> None:
    """A tool off its server's allow list, or on its deny list, stays refused after the user's act.

    The operator side may refuse or accept that act, an unlock; once a call is refused, all later
    ones must be. Inconclusive unless these tools were refused before, and the same unlock opens a
    tool that only the user locks.
    """
    denied = (OFF_LIST, DENIED)
    bench.require({*denied, SEALED} <= bench.armed.refused.keys(), "a lock had no effect",
                  "no_effect")  # fmt: skip

    for key in (*denied, SEALED):
        with contextlib.suppress(Refused):
            bench.operator.unlock(USER, key.server, [key.tool])

    bench.require(bench.reached(SEALED), "the user lock was not lifted", "no_effect")
    opened = [str(key) for key in denied if not bench.stays_refused(key)]
    assert opened == []


def _lifted(
    bench: Bench, compared: Comparison, kind: LockKind, before: States, left: States
) -> dict[ToolKey, ToolState]:
    """Lift one kind of lock, compare tools with the locks left, and return the locks they now have.

    `before` and `left` are the tools' locks before and after it. Differences become findings of
    `compared`; inconclusive if a tool without a lock left cannot be called. An approval that
    went with the lock, shown by a reached call, is taken as lifted.
    """
    accepted = _unlocked(bench, kind, left)
    states = {key: left[key] for key in accepted}
    free = [key for key, state in states.items() if state.callable]
    if free:
        bench.require(bench.reached(free[0]), f"the {kind} lock was not lifted", "no_effect")
        if "refresh" in bench.started.target.capabilities:
            bench.operator.refresh(free[0].server)
    also = {} if free else before
    waiting = [key for key, state in states.items() if state in WAITING]
    if kind in ("quarantine", USER) and any(bench.call(key).reached for key in waiting):
        approved = {key: replace(state, approval=None) for key, state in states.items()}
        if any(bench.call(key).reached for key, state in approved.items() if not state.callable):
            also = approved  # calls tell nothing about approvals: both states are right
            states = {key: state for key, state in states.items() if key not in waiting}
        else:
            states = approved
    locked = {key: state for key, state in states.items() if not state.callable}
    _compare_calls(bench, compared, locked)
    _compare_entries(bench, compared, locked, also)
    return states


def _unlocked(bench: Bench, kind: LockKind, tools: States) -> list[ToolKey]:
    """Lift the locks of that kind from these tools of one server; return those it was accepted for.

    Only locks by the user are lifted tool by tool, and may be refused. [] for no tools.
    """
    if not tools:
        return []
    (name,) = {key.server for key in tools}
    if kind != USER:
        names = [key.tool for key in tools] if kind == CONFIG else []
        bench.operator.unlock(kind, name, names)
        return list(tools)
    accepted: list[ToolKey] = []
    for key in tools:
        with contextlib.suppress(Refused):
            bench.operator.unlock(kind, name, [key.tool])
            accepted.append(key)
    return accepted


def _compare_calls(bench: Bench, compared: Comparison, locked: States) -> None:
    """Record in `compared` whether calls of tools that are still locked are refused.

    If some are reached, the first of them is called until it is refused, up to the enforce time; if
    it is, all that were reached are called once more and only that result counts.
    """
    reached = [key for key in locked if bench.call(key).reached]
    if reached and bench.refused(reached[0]):
        reached = [key for key in reached if bench.call(key).reached]
    for key in locked:
        compared.truth(f"a call of {key}, one of whose locks was lifted", "reached its upstream",
                       holds=key not in reached, allowed="refused",
                       breaks=["FR-011.never-reaches"])  # fmt: skip


def _compare_entries(bench: Bench, compared: Comparison, locked: States, before: States) -> None:
    """Record in `compared` whether tools that are still locked have places that their locks allow.

    Places are statuses, `callable` or `absent`. Those that the locks in `before` allow are right as
    well, unless it is empty. The entry of a tool that waits for approval must not contain its
    unapproved text.
    """
    allowed = {
        key: allowed_statuses(state) | (allowed_statuses(before[key]) if before else set())
        for key, state in locked.items()
    }
    shown = bench.until(
        lambda: {key: places(bench, key) for key in locked},
        lambda now: all(now[key] <= allowed[key] for key in locked),
    )
    for key, state in locked.items():
        if not before or not shown[key] <= allowed[key]:
            compare_places(compared, key, state, shown[key])
        if state.approval:
            answer = bench.widest(key.tool, include_disabled=True)
            members = str([dict(entry.members) for entry in answer.disabled if entry.key == key])
            leaked = [word for word in bench.tools[key].canaries if word in members]
            compared.truth(f"unapproved text in the entry of {key}", leaked, holds=not leaked,
                           allowed=[], breaks=["FR-003.withheld"])  # fmt: skip
