"""Tools with names, texts and schemas that are strange but legal."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.hostile.hostile_tools import (
    HOSTILE,
    LOCKED,
    NEIGHBOUR,
    ORDINARY,
    STRANGE,
    WORD,
)

LONG = 1000
"""A longer text may be shortened."""


@requirement("ROB.tools")
@on(HOSTILE, fresh=True)  # strange queries have not been there before
def test_strange_tools_cost_their_neighbours_nothing(bench: Bench) -> None:
    """The ordinary tools of their server, and of others, are found, called and told as locked."""
    bench.require(bench.call(ORDINARY).reached, f"{ORDINARY} cannot be called")
    due = {ORDINARY: "callable", NEIGHBOUR: "callable"}
    if LOCKED not in bench.armed.skipped:  # a target that has no such lock has none to tell
        bench.require(bench.refused(LOCKED), f"the lock of {LOCKED} had no effect", "no_effect")
        due[LOCKED] = "disabled_by_config"

    told = bench.discover(WORD, include_disabled=True)

    found = {key: told.status(key) for key in due}
    assert found == due
    reached = bench.call(NEIGHBOUR).reached
    assert reached is True


@requirement("ROB.tools~themselves")
@on(HOSTILE)
def test_strange_tools_can_be_found_and_called(bench: Bench) -> None:
    """Each is found by its word, and its call arrives."""
    worded = {ToolKey(NEIGHBOUR.server, one.name): one.word for one in STRANGE}

    seen = {
        key.tool: (key in bench.discover(word).callables(), bench.call(key).reached)
        for key, word in worded.items()
    }

    assert seen == dict.fromkeys(seen, (True, True))


@requirement("ROB.tools~text")
@on(HOSTILE)
def test_the_text_of_a_strange_tool_comes_back_as_it_is(bench: Bench) -> None:
    """Markup, controls and letters beyond the first plane are told as the server told them."""
    strange = {ToolKey(NEIGHBOUR.server, one.name): one for one in STRANGE}

    told = {
        key: entry.description
        for key, one in strange.items()
        for entry in bench.discover(one.word).tools
        if entry.key == key and 0 < len(one.description) < LONG
    }

    bench.require(told, "none of them is found")
    assert told == {key: strange[key].description for key in told}
