"""Hostile requests: odd queries, flag values and arguments, odd names of tools and servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.hostile.clean_answer import finds, uncleanly
from mcp_proxy_conformance.discovery.hostile.hostile_tools import HOSTILE, LOCKED, ORDINARY, WORD
from mcp_proxy_conformance.discovery.hostile.payloads import FLAGS, NAMES, TEXTS
from mcp_proxy_conformance.discovery.requests import ABSENT

OTHERS: tuple[Any, ...] = (7, None, True, [], {})
"""Queries that are not text."""


@requirement("ROB.query")
@on(HOSTILE)
def test_any_text_can_be_a_query(bench: Bench) -> None:
    """Any query is answered cleanly, with and without the flag, and the next query works.

    Not clean are no answer, an unreadable one and a stack trace. Inconclusive if an ordinary
    query does not find its tool beforehand.
    """
    _expect_ordinary(bench)

    asks = {
        f"{name}, {flag}": partial(bench.discover, text, include_disabled=value)
        for name, text in TEXTS.items()
        for flag, value in (("flag true", True), ("no flag", ABSENT))
    }

    faults = uncleanly(bench, asks, _works(bench))

    assert faults == {}


@requirement("ROB.flag")
@on(HOSTILE)
def test_a_flag_of_another_type_breaks_nothing(bench: Bench) -> None:
    """A flag of any type is answered or refused cleanly, and the next query works.

    Inconclusive if an ordinary query does not find its tool beforehand.
    """
    _expect_ordinary(bench)

    asks = {
        name: partial(bench.discover, WORD, include_disabled=value) for name, value in FLAGS.items()
    }

    faults = uncleanly(bench, asks, _works(bench))

    assert faults == {}


@requirement("ROB.arguments")
@on(HOSTILE)
def test_arguments_that_nobody_declared_break_nothing(bench: Bench) -> None:
    """Missing, wrongly typed and unknown arguments are answered or refused cleanly.

    After each the next ordinary query works. Inconclusive if that does not find its tool
    beforehand.
    """
    _expect_ordinary(bench)
    surface = bench.surface

    arguments: dict[str, Any] = {
        "no arguments": {},
        "no query": {surface.limit: 5},
        **{f"a query that is {json.dumps(value)}": {surface.query: value} for value in OTHERS},
        "an argument named __proto__": {surface.query: WORD, "__proto__": {"limit": 1}},
        "1 000 unknown arguments": {surface.query: WORD, **{f"x{n}": n for n in range(1000)}},
        "arguments with an empty and an unprintable name": {
            surface.query: WORD,
            "": 1,
            "\u0000": 2,
        },
    }

    asks = {
        name: partial(bench.tool_call, surface.discovery_tool, own)
        for name, own in arguments.items()
    }
    faults = uncleanly(bench, asks, _works(bench))

    assert faults == {}


@requirement("ROB.call")
@on(HOSTILE)
def test_a_call_of_what_is_not_there_breaks_nothing(bench: Bench) -> None:
    """Calls with strange tool or server names are answered cleanly; the next real call works.

    None of them reaches a locked tool. Inconclusive if the real call does not arrive
    beforehand.
    """
    bench.require(
        bench.call(ORDINARY).reached,
        f"a call of {ORDINARY} does not reach its upstream",
        "not_reached",
    )

    template = bench.surface.calls[0]
    keys = {
        f"{name} as a tool name": ToolKey(ORDINARY.server, text) for name, text in NAMES.items()
    }
    keys |= {
        f"{name} as a server name": ToolKey(text, ORDINARY.tool) for name, text in NAMES.items()
    }
    asks = {
        name: partial(bench.tool_call, *template.filled(key, {}), endpoint=template.endpoint)
        for name, key in keys.items()
    }

    with bench.untouched(LOCKED):
        faults = uncleanly(bench, asks, lambda: bench.call(ORDINARY).reached)
        assert faults == {}


def _works(bench: Bench) -> Callable[[], bool]:
    """Return a function that tells whether an ordinary query still finds its tool."""
    return lambda: finds(bench, ORDINARY, WORD)


def _expect_ordinary(bench: Bench) -> None:
    """Raise Inconclusive unless an ordinary query finds its tool."""
    bench.require(finds(bench, ORDINARY, WORD), f"the query {WORD} does not find {ORDINARY}")
