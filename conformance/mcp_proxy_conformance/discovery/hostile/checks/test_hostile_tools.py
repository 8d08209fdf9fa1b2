"""Hostile tools: strange but legal names, texts and schemas."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import masked
from mcp_proxy_conformance.discovery.hostile.hostile_tools import (
    HOSTILE,
    LOCKED,
    LOCKED_STRANGE,
    NEIGHBOUR,
    ORDINARY,
    ORDINARY_ALONE,
    STRANGE,
    STRANGE_WORD,
    WORD,
)
from mcp_proxy_conformance.discovery.oracle import ABSENT, CALLABLE
from mcp_proxy_conformance.discovery.remediation import judge
from mcp_proxy_conformance.verdict.comparison import read_in
from mcp_proxy_conformance.verdict.result import NotApplicable

LONG = 1000
"""Characters; a longer text may be shortened."""


@requirement("ROB.tools")
@on(HOSTILE, fresh=True)  # strange queries have not been there before
def test_strange_tools_cost_their_neighbours_nothing(bench: Bench) -> None:
    """Beside strange tools, ordinary ones are still found, called and listed as locked.

    Inconclusive if ordinary tools are lost in a second world without strange ones as well, or
    if an ordinary call or lock does not work.
    """
    bench.require(
        bench.call(ORDINARY).reached,
        f"a call of {ORDINARY} does not reach its upstream",
        "not_reached",
    )
    due = {ORDINARY: "callable", NEIGHBOUR: "callable"}
    if LOCKED not in bench.armed.skipped:  # a target without such a lock lists none
        bench.require(bench.refused(LOCKED), f"the lock of {LOCKED} had no effect", "no_effect")
        due[LOCKED] = "disabled_by_config"

    observed = _ordinary(bench, due)

    allowed: dict[str, str | bool] = {f"status of {key}": status for key, status in due.items()}
    allowed[f"call of {NEIGHBOUR}"] = True
    if observed != allowed:
        with bench.twin(ORDINARY_ALONE) as twin:
            alone = _ordinary(twin, due)
        bench.require(alone == allowed, "ordinary tools are lost without strange ones, too")
    assert observed == allowed


def _ordinary(bench: Bench, keys: Iterable[ToolKey]) -> dict[str, str | bool]:
    """Return these tools' statuses for the ordinary word, and whether the neighbour can be called.

    Keys are `status of TOOL` and `call of TOOL`.
    """
    answer = bench.widest(WORD, include_disabled=True)
    observed: dict[str, str | bool] = {f"status of {key}": answer.status(key) for key in keys}
    return observed | {f"call of {NEIGHBOUR}": bench.call(NEIGHBOUR).reached}


@requirement("ROB.owner")
@on(HOSTILE)
def test_a_locked_tool_with_a_colon_in_its_name_names_its_own_server(bench: Bench) -> None:
    """A locked tool whose name contains a colon is listed with it and its server, and refused.

    The refusal tells of config if that of an ordinary tool does. Not applicable if no tool is
    locked by config, or if no entry for its word is of this tool. Inconclusive if a config lock on
    another tool has no effect.
    """
    if LOCKED_STRANGE in bench.armed.skipped:
        raise NotApplicable("no tool is denied by config")
    bench.require(bench.refused(LOCKED), f"the lock of {LOCKED} had no effect", "no_effect")

    answer = bench.widest(STRANGE_WORD, include_disabled=True)

    others = bench.states.keys() - {LOCKED_STRANGE}  # a search by nearness lists them too
    entries = [entry for entry in answer.disabled if entry.key not in others]
    if not entries:  # a name that a proxy cannot address may be left out
        raise NotApplicable(f"{LOCKED_STRANGE} is not listed")
    observed = {
        answer.reply.named(f"{entry.name}, server {entry.members.get('server')}"): _names_in_full(
            entry
        )
        for entry in entries
    } | {f"refused call of {LOCKED_STRANGE}": bench.refused(LOCKED_STRANGE)}
    if _tells_of_config(bench, LOCKED):
        observed[f"refusal of {LOCKED_STRANGE}"] = _tells_of_config(bench, LOCKED_STRANGE)
    assert observed == dict.fromkeys(observed, True)


def _tells_of_config(bench: Bench, key: ToolKey) -> bool:
    """Whether a call of the tool is refused with a text that names the remedy of config's lock."""
    called, pins = bench.call(key), bench.started.target.pins
    text = masked(bench, called.text, key)
    return not called.reached and judge(text, "disabled_by_config", pins=pins) == "conveys"


def _names_in_full(entry: Entry) -> bool:
    """Whether an entry has the strange tool's server, and a name that ends with its whole name.

    Everything but letters and digits is removed from both names before.
    """
    name, whole = (re.sub(r"[\W_]", "", text) for text in (entry.name, LOCKED_STRANGE.tool))
    return entry.members.get("server") == LOCKED_STRANGE.server and name.endswith(whole)


@requirement("ROB.tools~themselves")
@on(HOSTILE)
def test_strange_tools_can_be_found_and_called(bench: Bench) -> None:
    """A query finds each strange tool, and a call of it reaches its upstream.

    Each is asked for by its own word.
    """
    worded = {ToolKey(NEIGHBOUR.server, tool.name): tool.word for tool in STRANGE}

    observed, allowed = dict[tuple[str, str], str](), dict[tuple[str, str], str]()
    for key, word in worded.items():
        listed = key in bench.widest(word).callables()
        observed[read_in(key.tool), "discovery"] = CALLABLE if listed else ABSENT
        observed[read_in(key.tool), "call"] = "arrived" if bench.call(key).reached else "lost"
        allowed |= {(key.tool, "discovery"): CALLABLE, (key.tool, "call"): "arrived"}

    assert observed == allowed


@requirement("ROB.tools~text")
@on(HOSTILE)
def test_the_text_of_a_strange_tool_comes_back_as_it_is(bench: Bench) -> None:
    """Markup, control characters and rare letters in descriptions are returned unchanged.

    Only callable entries with a description of under 1,000 characters count; inconclusive if
    there are none.
    """
    strange = {ToolKey(NEIGHBOUR.server, tool.name): tool for tool in STRANGE}

    descriptions = {
        key: entry.description
        for key, tool in strange.items()
        for entry in bench.widest(tool.word).tools
        if entry.key == key and 0 < len(tool.description) < LONG
    }

    bench.require(descriptions, "no query found a strange tool")
    assert descriptions == {key: strange[key].description for key in descriptions}
