"""Opting in: the flag accepted, off by default, in the tool's schema and text: FR-001, FR-014."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.offered import (
    listed_at,
    offered,
    offered_anywhere,
)
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.comparison import read_in
from mcp_proxy_conformance.wire.input_schema import default, refusals

MIXED = stage("mixed")
LOCKED = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", locked=CONFIG),
        tool("gatun_wipe", locked=USER),
    )
)
FREE = ToolKey("forge", "zorvik_list")
READERS = world(
    server("forge", tool("zorvik_list"), tool("mobel_drop")),
    server("barn", tool("tifka_show")),
    agents={"smith": ("forge",), "farmer": ("barn",)},
)


def _describes_flag(tool: Mapping[str, Any]) -> bool:
    return FLAG in (tool.get("description") or "")


def request(query: str, **arguments: object) -> str:
    """Return the request in words for a report; arguments that are ABSENT are left out."""
    sent = {name: value for name, value in arguments.items() if value is not ABSENT}
    return in_words({"query": query} | sent)


@requirement("FR-001.accepts")
@on(MIXED)
def test_the_flag_works_wherever_discovery_is_offered(bench: Bench) -> None:
    """Every endpoint that offers discovery reveals the same tools as the default one.

    The words of up to six locked tools are asked for; inconclusive if the flag reveals nothing.
    """
    bench.expect_revealing()
    places = [(e, bench.tools[k].word) for e in offered(bench) for k in bench.armed.samples()]

    observed = {
        (bench.at(e).place, request(w)): {*bench.at(e).widest(w, include_disabled=True).statuses()}
        for e, w in places
    }

    assert observed == {
        (bench.at(e).place, request(w)): {*bench.widest(w, include_disabled=True).statuses()}
        for e, w in places
    }


@requirement("FR-001.default-off")
@on(LOCKED, needs=("restart",))
def test_no_locked_tool_is_offered_after_a_restart(bench: Bench) -> None:
    """After a restart, no tool whose calls are still refused is listed as callable by default.

    The target has the settle time. Inconclusive if it is not ready again, or if no lock is left.
    """
    bench.operator.restart()
    bench.require(bench.ready(FREE), "no tool could be called after the restart", "not_reached")
    held = [key for key in bench.armed.refused if not bench.call(key).reached]
    bench.require(held, "no lock was left after the restart", "no_effect")

    offered = bench.until(
        lambda: [
            str(key) for key in held if key in bench.widest(bench.tools[key].word).callables()
        ],
        lambda listed: not listed,
    )

    assert offered == []


@requirement("FR-001.declared")
@on(MIXED)
def test_the_published_schema_takes_all_forms_of_the_flag(bench: Bench) -> None:
    """The schema accepts the flag true, false and absent, and does not turn it on by default.

    The same holds at every endpoint, revision and transport that offers the tool. Inconclusive if
    no place offers it, or a schema cannot be applied.
    """
    tools = offered_anywhere(bench)
    schemas = {place: tool.get("inputSchema") or {} for place, tool in tools.items()}
    usual = {bench.surface.query: "zorvik", bench.surface.limit: 5}
    forms: dict[str, dict[str, Any]] = {
        "without the flag": usual,
        "with the flag true": usual | {FLAG: True},
        "with the flag false": usual | {FLAG: False},
    }

    refused: dict[tuple[str, str], Any] = {
        (place, form): messages
        for place, schema in schemas.items()
        for form, messages in zip(forms, refusals(schema, [*forms.values()]), strict=True)
    }
    defaults = {(p, "default of the flag"): default(schema) for p, schema in schemas.items()}
    wrong = {place: messages for place, messages in refused.items() if messages}
    wrong |= {place: value for place, value in defaults.items() if value is True}

    assert wrong == {}


@requirement("FR-001.declared~property")
@on(MIXED)
def test_the_published_schema_names_the_flag(bench: Bench) -> None:
    """The flag is a property of the discovery tool's input schema at every endpoint.

    Inconclusive if no endpoint offers the tool.
    """
    tools = offered(bench)

    properties = {
        place: (tool.get("inputSchema") or {}).get("properties", {})
        for place, tool in tools.items()
    }
    observed = {
        (place, f"property {FLAG}"): "declared" if FLAG in declared else "missing"
        for place, declared in properties.items()
    }

    assert observed == dict.fromkeys(observed, "declared")


@requirement("FR-014.described")
@on(MIXED)
def test_the_discovery_tool_tells_of_the_flag_itself(bench: Bench) -> None:
    """Wherever the tool is offered, its own description contains the flag's name.

    Inconclusive if no place offers it.
    """
    tools = offered_anywhere(bench)

    observed = {listed_at(place): _describes_flag(t) for place, t in tools.items()}

    assert observed == dict.fromkeys(observed, True)


@requirement("FR-014.described")
@on(READERS, needs=("agents", "user"))
def test_the_discovery_tool_tells_each_agent_of_the_flag(bench: Bench) -> None:
    """Whoever is offered the tool reads of the flag, whether a tool in its scope is locked or not.

    That holds before the first lock, with a lock, and after a request with the flag. Inconclusive
    if the lock has no effect.
    """
    views = [bench, *map(bench.as_agent, bench.world.agents)]
    observed: dict[tuple[str, ...], bool] = {}

    def look(moment: str) -> None:
        """Record, by place, viewer and moment, whether the tool's description names the flag."""
        for view in views:
            for place, entry in offered_anywhere(view, anew=True).items():
                at = read_in(listed_at(place), (listed_at(place), view.place))
                observed[at, view.place, moment] = _describes_flag(entry)

    look("before the first lock")
    bench.operator.lock(USER, "forge", ["mobel_drop"])
    bench.require(
        bench.refused(ToolKey("forge", "mobel_drop")), "the lock had no effect", "no_effect"
    )
    look("with a lock")
    for view in views:
        view.discover("mobel", include_disabled=True)
    look("after a request with the flag")

    assert observed == dict.fromkeys(observed, True)


@requirement("FR-014.described~one-sentence")
@on(MIXED)
def test_one_sentence_is_about_the_flag(bench: Bench) -> None:
    """Exactly one sentence of the tool's description contains the flag's name.

    The same holds at every endpoint that offers the tool. Inconclusive if none does.
    """
    tools = offered(bench)

    sentences = {p: re.split(r"[.!?]\s|\n", t.get("description") or "") for p, t in tools.items()}
    observed = {
        (place, f"sentences with {FLAG}"): sum(FLAG in sentence for sentence in parts)
        for place, parts in sentences.items()
    }

    assert observed == dict.fromkeys(observed, 1)
