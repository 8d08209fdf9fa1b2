"""Hostile queries, flags, arguments and names of calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.hostile.clean import finds, uncleanly
from mcp_proxy_conformance.discovery.hostile.hostile_tools import HOSTILE, LOCKED, ORDINARY, WORD
from mcp_proxy_conformance.discovery.hostile.payloads import FLAGS, NAMES, TEXTS
from mcp_proxy_conformance.discovery.requests import ABSENT

OTHERS: tuple[Any, ...] = (7, None, True, [], {})
"""Queries that are not text."""


@requirement("ROB.query")
@on(HOSTILE)
def test_any_text_can_be_a_query(bench: Bench) -> None:
    """Any text is answered, with the flag and without, and the next call finds its tool."""
    _expect_ordinary(bench)

    asks = {
        f"{name}, {flag}": partial(bench.discover, text, include_disabled=value)
        for name, text in TEXTS.items()
        for flag, value in (("flag true", True), ("no flag", ABSENT))
    }

    assert uncleanly(bench, asks, _works(bench)) == {}


@requirement("ROB.flag")
@on(HOSTILE)
def test_a_flag_of_another_type_breaks_nothing(bench: Bench) -> None:
    """A flag of any type is answered or refused, and the next call finds its tool."""
    _expect_ordinary(bench)

    asks = {
        name: partial(bench.discover, WORD, include_disabled=value) for name, value in FLAGS.items()
    }

    assert uncleanly(bench, asks, _works(bench)) == {}


@requirement("ROB.arguments")
@on(HOSTILE)
def test_arguments_that_nobody_declared_break_nothing(bench: Bench) -> None:
    """A query that is missing or not text, and unknown arguments, are answered or refused."""
    _expect_ordinary(bench)
    surface = bench.surface

    arguments: dict[str, Any] = {
        "no arguments": {},
        "no query": {surface.limit: 5},
        **{f"a query that is {json.dumps(value)}": {surface.query: value} for value in OTHERS},
        "a member of objects": {surface.query: WORD, "__proto__": {"limit": 1}},
        "1 000 unknown ones": {surface.query: WORD, **{f"x{n}": n for n in range(1000)}},
        "a name without letters": {surface.query: WORD, "": 1, "\u0000": 2},
    }

    asks = {
        name: partial(bench.tool_call, surface.discovery_tool, own)
        for name, own in arguments.items()
    }
    assert uncleanly(bench, asks, _works(bench)) == {}


@requirement("ROB.call")
@on(HOSTILE)
def test_a_call_of_what_is_not_there_breaks_nothing(bench: Bench) -> None:
    """Calls of tools and servers with strange names are refused; the next real call arrives."""
    bench.require(bench.call(ORDINARY).reached, f"{ORDINARY} cannot be called")

    template = bench.surface.calls[0]
    keys = {f"a tool, {name}": ToolKey(ORDINARY.server, text) for name, text in NAMES.items()}
    keys |= {f"a server, {name}": ToolKey(text, ORDINARY.tool) for name, text in NAMES.items()}
    asks = {
        name: partial(bench.tool_call, *template.filled(key, {}), endpoint=template.endpoint)
        for name, key in keys.items()
    }

    with bench.untouched(LOCKED):
        assert uncleanly(bench, asks, lambda: bench.call(ORDINARY).reached) == {}


def _works(bench: Bench) -> Callable[[], bool]:
    return lambda: finds(bench, ORDINARY, WORD)


def _expect_ordinary(bench: Bench) -> None:
    bench.require(finds(bench, ORDINARY, WORD), f"{ORDINARY} is not found by {WORD!r}")
