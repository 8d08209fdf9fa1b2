"""Enforcement of locks before and after discovery: FR-011."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, Step, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.locked_entries import ask
from mcp_proxy_conformance.discovery.oracle import allowed_statuses

MIXED, SCOPE = stage("mixed"), stage("scope")
BENEATH = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", locked=USER),
        tool("tunrag_wipe", locked=USER),
        tool("gatun_seal"),
    )
)
SEEN, UNSEEN = ToolKey("forge", "mobel_drop"), ToolKey("forge", "tunrag_wipe")
MARK = ToolKey("forge", "gatun_seal")
APPROVED = structs.replace(
    world(server("forge", tool("zorvik_list"), tool("mobel_drop"), trusted=False)),
    steps=(Step(unlock="approval", server="forge", tools=("zorvik_list", "mobel_drop")),),
)
CHANGE = Step(change="mobel_drop", server="forge", description="Drop all, mobel, at once.")
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"colour": "blue"},
    {"colour": {"depth": [1, None]}, "": ""},
    {"include_disabled": True, "force": True},
    {"text": "z" * 5000},
)


@requirement("FR-011.never-reaches")
@on(MIXED)
def test_no_way_of_calling_reaches_a_locked_tool(bench: Bench) -> None:
    """No declared way of calling (call surface) reaches a locked tool.

    Locked tools are called in a session and, where it is spoken, in the stateless revision, and by
    names that differ only in blanks or case. Inconclusive if no surface reaches a callable
    tool.
    """
    keys = _one_a_kind(bench)
    ways = range(len(bench.surface.calls))
    free = _free_tool(bench)
    proven = [way for way in ways if bench.call(free, surface=way).reached]
    bench.require(proven, "no call surface reached a callable tool", "not_reached")
    views = [bench, *([bench.over("stateless")] if bench.is_stateless else [])]

    with bench.untouched(*keys):
        for view in views:
            for way in ways:
                for key in keys:
                    view.call(key, surface=way)
        for key in keys:
            for name in (f"{key.tool} ", f" {key.tool}", f"{key.tool}\n", key.tool.upper()):
                bench.call(ToolKey(key.server, name), surface=proven[0])


@requirement("FR-011.never-reaches")
@on(MIXED)
def test_no_call_gets_through_while_others_discover_the_tool(bench: Bench) -> None:
    """Eight threads that call and list locked tools at the same time reach none of them.

    They also call a callable tool: inconclusive if no such call reaches its upstream.
    """
    keys = _one_a_kind(bench)
    free = _free_tool(bench)
    before = bench.upstream_calls(free)

    with bench.untouched(*keys):
        pairs = [(partial(bench.call, key), partial(ask, bench, key)) for key in keys]
        acts = [act for call, look in pairs for act in (partial(bench.call, free), call, look)]
        bench.together([*acts, *acts, *acts])

    moved = bench.upstream_calls(free) - before
    bench.require(
        moved, "no call of a callable tool reached its upstream at the same time", "not_reached"
    )


@requirement("FR-011.not-unlocked")
@on(MIXED, fresh=True)
def test_discovering_and_being_refused_change_no_lock(bench: Bench) -> None:
    """Listing and calling locked tools moves no status or count, and frees or locks no tool.

    The number of callable tools is compared, and each status that was right before.
    Inconclusive if the flag reveals nothing, or no counts block was seen.
    """
    keys = tuple(bench.armed.refused)
    bench.expect_revealing()
    bench.expect_block()
    bench.settle()
    counts = _counts(bench)
    statuses = {key: ask(bench, key).status(key) for key in keys}
    before = {
        k: status for k, status in statuses.items() if status in allowed_statuses(bench.states[k])
    }

    for key in keys:
        ask(bench, key)
        bench.call(key)

    changed: dict[str, Any] = {
        "status changed": [  # in two answers: else FR-004.deterministic is broken, not this
            key
            for key, status in before.items()
            if all(ask(bench, key).status(key) != status for _ in range(2))
        ],
        "no longer refused": [key for key in keys if bench.call(key).served],
        "no longer callable": [key for key in _free_tools(bench) if not bench.call(key).reached],
        "counted as callable": _counts(bench),
    }
    none: dict[str, Any] = {name: [] for name in changed}
    assert changed == none | {"counted as callable": counts}


@requirement("FR-011.not-unlocked")
@on(BENEATH)
def test_neither_discovery_nor_a_refused_call_lifts_a_lock_beneath_another(bench: Bench) -> None:
    """After the config lock is lifted, the user lock still refuses a tool listed and called before.

    A second tool, neither listed nor called, is the control: inconclusive unless the user lock
    still refuses it, and the config lock shows its effect and its end.
    """
    bench.require(
        {SEEN, UNSEEN} <= bench.armed.refused.keys(), "a user lock had no effect", "no_effect"
    )
    names = [key.tool for key in (SEEN, UNSEEN, MARK)]
    bench.operator.lock(CONFIG, "forge", names)
    bench.require(bench.refused(MARK), "the config lock had no effect", "no_effect")
    bench.settled(lambda: ask(bench, SEEN).status(SEEN), "disabled_by_config")
    for _ in range(3):
        ask(bench, SEEN)
        bench.call(SEEN)

    bench.operator.unlock(CONFIG, "forge", names)

    bench.require(bench.reached(MARK), "the config lock was not lifted", "no_effect")
    bench.settle()
    held = not bench.call(UNSEEN).served
    bench.require(held, "lifting the config lock also lifted the user lock")
    assert {str(SEEN): bench.call(SEEN).served} == {str(SEEN): False}


@requirement("FR-011.not-unlocked")
@on(APPROVED, needs=("approval", "refresh"))
def test_refused_calls_approve_no_changed_tool(bench: Bench) -> None:
    """A tool that changed after its approval, listed as pending, is refused at each of 5 calls.

    Inconclusive unless it is listed as `pending_approval`.
    """
    bench.operator.change_upstream(CHANGE)
    bench.operator.refresh("forge")
    status = bench.settled(
        lambda: bench.widest(SEEN.tool, include_disabled=True).status(SEEN), "pending_approval"
    )
    bench.require(
        status == "pending_approval", "the changed tool was not listed as pending_approval"
    )

    served = {(SEEN, f"served at call {n}"): bench.call(SEEN).served for n in range(1, 6)}
    assert served == dict.fromkeys(served, False)


def _known_locked(bench: Bench) -> tuple[ToolKey, ...]:
    """Return the tools that no call may reach: refused before, or locked and listed as locked now.

    Inconclusive if there is neither.
    """
    locked = [key for key, state in bench.states.items() if not state.callable]
    others = [key for key in locked if key not in bench.armed.refused]
    listed = [key for key in others if key in ask(bench, key).statuses()]
    bench.require([*bench.armed.refused, *listed], "no locked tool was refused, or listed")
    return (*bench.armed.refused, *listed)


def _one_a_kind(bench: Bench) -> tuple[ToolKey, ...]:
    """Return one of the known locked tools for each server and combination of locks."""
    kinds = {(key.server, bench.states[key]): key for key in reversed(_known_locked(bench))}
    return tuple(kinds.values())


def _free_tools(bench: Bench) -> list[ToolKey]:
    return [key for key in sorted(bench.armed.called) if bench.states[key].callable]


def _free_tool(bench: Bench) -> ToolKey:
    """Return a callable tool, to call as a control; on the server with the most refused tools.

    Inconclusive if no callable tool was called before.
    """
    servers = [key.server for key in bench.armed.refused]
    free = sorted(_free_tools(bench), key=lambda key: servers.count(key.server), reverse=True)
    bench.require(
        free, "no call of a callable tool reached its upstream before the checks", "not_reached"
    )
    return free[0]


def _counts(bench: Bench) -> dict[str, Any]:
    """Map each listed server to the number that it counts as callable; 0 if it gives none.

    Counts that are no object are returned as they are, empty or false ones as 0.
    """
    listing = bench.list()
    blocks = {name: listing.counts(name) for name in listing.servers}
    return {
        k: (block.get("callable") if isinstance(block, dict) else block) or 0
        for k, block in blocks.items()
    }
