"""Tools with strange but legal names, texts and schemas."""

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
"""Characters; a longer text may be shortened."""


@requirement("ROB.tools")
@on(HOSTILE, fresh=True)  # strange queries have not been there before
def test_strange_tools_cost_their_neighbours_nothing(bench: Bench) -> None:
    """The ordinary tools of their server, and of others, are found, called and listed as locked."""
    bench.require(bench.call(ORDINARY).reached, f"{ORDINARY} cannot be called")
    due = {ORDINARY: "callable", NEIGHBOUR: "callable"}
    if LOCKED not in bench.armed.skipped:  # a target without such a lock lists none
        bench.require(bench.refused(LOCKED), f"the lock of {LOCKED} had no effect", "no_effect")
        due[LOCKED] = "disabled_by_config"

    answer = bench.discover(WORD, include_disabled=True)

    statuses = {key: answer.status(key) for key in due}
    assert statuses == due
    reached = bench.call(NEIGHBOUR).reached
    assert reached is True


@requirement("ROB.tools~themselves")
@on(HOSTILE)
def test_strange_tools_can_be_found_and_called(bench: Bench) -> None:
    """Each strange tool is found by its word, and its call arrives."""
    worded = {ToolKey(NEIGHBOUR.server, tool.name): tool.word for tool in STRANGE}

    observed = {
        key.tool: (key in bench.discover(word).callables(), bench.call(key).reached)
        for key, word in worded.items()
    }

    assert observed == dict.fromkeys(observed, (True, True))


@requirement("ROB.tools~text")
@on(HOSTILE)
def test_the_text_of_a_strange_tool_comes_back_as_it_is(bench: Bench) -> None:
    """Markup, controls and letters beyond the first plane come back as the server sent them."""
    strange = {ToolKey(NEIGHBOUR.server, tool.name): tool for tool in STRANGE}

    descriptions = {
        key: entry.description
        for key, tool in strange.items()
        for entry in bench.discover(tool.word).tools
        if entry.key == key and 0 < len(tool.description) < LONG
    }

    bench.require(descriptions, "none of them is found")
    assert descriptions == {key: strange[key].description for key in descriptions}
