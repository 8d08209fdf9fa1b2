"""Counts of a server as tools are locked and unlocked; none if all are callable: FR-010, SC-005."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import (
    Step,
    key,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.counts import KEYS, block, integral

MOBEL, TARNIX = key("forge:mobel_drop"), key("forge:tarnix_push")
GATUN = key("forge:gatun_wipe")
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
