"""Counts of a server as tools are locked and unlocked; none if all are callable: FR-010, SC-005."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    LockKind,
    Step,
    key,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import KEYS, block, integral, tally

MIXED = stage("mixed")
FORGE = world(server("forge", tool("zorvik_list"), tool("mobel_drop")))
MOBEL, TARNIX = key("forge:mobel_drop"), key("forge:tarnix_push")
GATUN = key("forge:gatun_wipe")
PAIR = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop", locked=USER), tool("tarnix_push"))
)
NEWS = structs.replace(
    world(server("forge", tool("zorvik_list"), trusted=False)),
    steps=(
        Step(unlock="approval", server="forge", tools=("zorvik_list",)),
        Step(add=tool("mobel_drop")[0], server="forge"),
        Step(add=tool("tarnix_push")[0], server="forge"),
        Step(refresh="forge"),
        Step(unlock="approval", server="forge", tools=("tarnix_push",)),
    ),
)
WHILE_LOCKED = {"no block": False, "not integers": {}}
AFTERWARDS = {"still a block": False}
AT_EACH_LOCK = {
    "forge, one tool locked": {"callable": 2, "disabled_by_user": 1},
    "forge, two tools locked": {"callable": 1, "disabled_by_user": 2},
    "forge, one tool locked again": {"callable": 2, "disabled_by_user": 1},
}


@requirement("FR-010.block")
@on(FORGE)
def test_the_block_is_there_while_a_tool_is_locked(bench: Bench) -> None:
    """A block of integers appears on a user or config lock and disappears on its unlock.

    Inconclusive if calls do not show a lock or its unlock.
    """
    blocks = _lock_and_unlock(bench, USER) | _lock_and_unlock(bench, CONFIG)

    locked = {f"{MOBEL} locked by {kind}": WHILE_LOCKED for kind in (USER, CONFIG)}
    unlocked = {f"{MOBEL} unlocked by {kind}": AFTERWARDS for kind in (USER, CONFIG)}
    assert blocks == locked | unlocked


@requirement("FR-010.block")
@on(NEWS, needs=("approval",))
def test_the_block_is_there_while_a_tool_waits_for_approval(bench: Bench) -> None:
    """A pending tool adds a block of integers, its approval removes it, and another adds it again.

    Inconclusive if the first tool was not refused while pending, or not reached once approved, or
    if the flag does not list the other one.
    """
    bench.require(bench.locked(approval="pending") == (MOBEL,), "no tool was seen to be pending")
    pending = _block(bench)

    bench.operator.unlock("approval", "forge", ["mobel_drop"])
    bench.require(bench.reached(MOBEL), "the approval had no effect", "no_effect")
    approved = {"still a block": bench.settled(lambda: _has_block(bench), expected=False)}
    bench.operator.change_upstream(Step(add=tool(GATUN.tool)[0], server="forge"))
    bench.operator.refresh("forge")
    listed = bench.until(lambda: bench.discover(GATUN.tool, include_disabled=True).disabled, bool)
    bench.require(listed, "the flag lists no tool that was added after an approval")
    added = bench.settled(lambda: _block(bench), WHILE_LOCKED)

    blocks = {f"{MOBEL} pending": pending, f"{MOBEL} approved": approved, f"{GATUN} pending": added}
    assert blocks == {
        f"{MOBEL} pending": WHILE_LOCKED,
        f"{MOBEL} approved": AFTERWARDS,
        f"{GATUN} pending": WHILE_LOCKED,
    }


@requirement("FR-010.sum")
@on(PAIR)
def test_the_counts_follow_every_further_lock(bench: Bench) -> None:
    """A second tool is counted while the user locks it, and not after its unlock.

    The whole tally of a server of three tools is compared. Inconclusive without a block, or if
    calls do not show a lock or its unlock.
    """
    tallies = _at_each_lock(bench, _counted)

    assert tallies == AT_EACH_LOCK


@requirement("FR-010.inspect")
@on(PAIR, needs=("inspect",))
def test_the_view_of_one_server_follows_every_further_lock(bench: Bench) -> None:
    """Inspecting a server shows its three tools' counts before, during and after a second lock.

    Inconclusive if the listing does not have these counts at the same moment.
    """
    tallies = _at_each_lock(bench, _inspected)

    assert tallies == AT_EACH_LOCK


@requirement("SC-005.absent")
@on(MIXED)
def test_a_server_whose_tools_are_all_callable_has_no_block(bench: Bench) -> None:
    """The server's entry has no counts member, not even a null or empty one.

    Inconclusive if no other server has a block as a control, or if no fully callable server is
    listed.
    """
    locked = {tool_key.server for tool_key, state in bench.states.items() if not state.callable}
    bench.expect_block()

    listed = bench.list().servers.values()
    shown = {entry.name: entry.has_counts for entry in listed if entry.name not in locked}
    bench.require(shown, "no fully callable server is listed")

    assert shown == dict.fromkeys(shown, False)


def _lock_and_unlock(bench: Bench, kind: LockKind) -> dict[str, dict[str, Any]]:
    """Lock and unlock mobel_drop; return facts of forge's counts block after each, by act.

    They should equal WHILE_LOCKED and AFTERWARDS. Inconclusive if calls do not show the lock,
    or the unlock.
    """
    bench.operator.lock(kind, "forge", ["mobel_drop"])
    bench.require(bench.refused(MOBEL), f"the lock by {kind} had no effect", "no_effect")
    locked = bench.settled(lambda: _block(bench), WHILE_LOCKED)
    bench.operator.unlock(kind, "forge", ["mobel_drop"])
    bench.require(bench.reached(MOBEL), f"the unlock by {kind} had no effect", "no_effect")
    unlocked = {"still a block": bench.settled(lambda: _has_block(bench), expected=False)}
    return {f"{MOBEL} locked by {kind}": locked, f"{MOBEL} unlocked by {kind}": unlocked}


def _at_each_lock(bench: Bench, look: Callable[[Bench, int], dict[str, Any]]) -> dict[str, Any]:
    """Lock a second tool and unlock it; return what `look` returns before, between and after.

    `look` is given the number of tools that are locked then; the keys are those of
    AT_EACH_LOCK. Inconclusive if calls do not show a lock, or the unlock.
    """
    bench.require(MOBEL in bench.armed.refused, "the first lock had no effect", "no_effect")
    tallies = [look(bench, 1)]
    bench.operator.lock(USER, "forge", [TARNIX.tool])
    bench.require(bench.refused(TARNIX), "the second lock had no effect", "no_effect")
    tallies.append(look(bench, 2))
    bench.operator.unlock(USER, "forge", [TARNIX.tool])
    bench.require(bench.reached(TARNIX), "the second lock was not lifted", "no_effect")
    tallies.append(look(bench, 1))
    return dict(zip(AT_EACH_LOCK, tallies, strict=True))


def _counted(bench: Bench, locked: int) -> dict[str, Any]:
    """Return forge's tally once it is that of `locked` tools, or the last in the settle time.

    Inconclusive if forge has no counts block.
    """
    counts = bench.settled(lambda: tally(bench.list().server("forge")), _tally_of(locked))
    bench.require(
        _has_block(bench),
        "no counts block was seen; see FR-010.block",
        "other_clause",
        needs=["FR-010.block"],
    )
    return counts


def _inspected(bench: Bench, locked: int) -> dict[str, Any]:
    """Return the tally in the view of forge alone, once the listing has that of `locked` tools.

    Inconclusive if the listing does not get there within the settle time.
    """
    listed = _counted(bench, locked)
    bench.require(
        listed == _tally_of(locked),
        f"the listing does not count {locked} locked of 3 tools; see FR-010.sum",
        "other_clause",
        needs=["FR-010.sum"],
    )
    return bench.settled(lambda: tally(bench.inspect("forge")), _tally_of(locked))


def _tally_of(locked: int) -> dict[str, Any]:
    """Return the tally of forge's three tools while the user locks this many of them."""
    return {"callable": 3 - locked, "disabled_by_user": locked}


def _has_block(bench: Bench) -> bool:
    """Whether the listing has a counts member, even null, for forge.

    Inconclusive if forge is not listed.
    """
    return bench.list().server("forge").has_counts


def _block(bench: Bench) -> dict[str, Any]:
    """Return two facts of forge's counts block: if there is none, and its numbers not integers.

    The keys are those of WHILE_LOCKED. Inconclusive if forge is not listed.
    """
    counts = block(bench.list().server("forge"))
    odd = {word: number for word, number in counts.items() if word in KEYS and not integral(number)}
    return {"no block": not counts, "not integers": odd}
