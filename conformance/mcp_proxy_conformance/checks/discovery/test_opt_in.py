"""The opt-in flag: accepted, declared, described, and off by default: FR-001, FR-014."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.agents import everywhere
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.input_schema import default, refusals
from mcp_proxy_conformance.discovery.offered import offered, offered_anywhere
from mcp_proxy_conformance.discovery.oracle import ABSENT as NOWHERE

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


def _answer(bench: Bench, word: str, flag: object) -> Answer:
    return bench.discover(word, include_disabled=flag)


def _offered(bench: Bench, keys: Iterable[ToolKey]) -> list[str]:
    """The tools that a default answer to their own word lists."""
    return [str(k) for k in keys if k in bench.discover(bench.tools[k].word).callables()]


def envelope(bench: Bench, answer: Answer) -> tuple[str | None, list[str], bool]:
    """An answer's error, the types of its content items, and whether it lists callable tools."""
    items = answer.reply.value()["content"] if answer.reply.error is None else []
    listed = bench.surface.members.tools in answer.body
    return answer.error, [item["type"] for item in items], listed


@requirement("FR-001.accepts")
@on(MIXED)
def test_discovery_takes_the_flag_wherever_it_is_offered(bench: Bench) -> None:
    """With the flag true there is no error, and the answer has the envelope of any other."""
    words = [bench.tools[key].word for key in bench.armed.called if bench.states[key].callable]
    words += [bench.tools[key].word for key in bench.armed.samples()]
    views = {f"at {endpoint}": bench.at(endpoint) for endpoint in offered(bench)}
    views |= {f"as agent {view.agent}": view for view in everywhere(bench)}
    places = [(place, word) for place in views for word in words]
    usual = {(p, w): envelope(bench, views[p].discover(w)) for p, w in places}
    bench.require(any(listed for *_, listed in usual.values()), "no query found a callable tool")
    bench.require(not any(error for error, *_ in usual.values()), "discovery itself fails")

    observed = {
        (p, w): envelope(bench, views[p].discover(w, include_disabled=True)) for p, w in places
    }

    assert observed == usual


@requirement("FR-001.accepts")
@on(MIXED)
def test_the_flag_works_wherever_discovery_is_offered(bench: Bench) -> None:
    """Every endpoint that offers discovery reveals the same tools as the target's own."""
    bench.require(bench.flag_alive, "the feature was not seen")
    places = [(e, bench.tools[k].word) for e in offered(bench) for k in bench.armed.samples()]

    observed = {
        (e, w): {*bench.discover(w, include_disabled=True, endpoint=e).statuses()}
        for e, w in places
    }

    assert observed == {
        (endpoint, word): {*bench.discover(word, include_disabled=True).statuses()}
        for endpoint, word in places
    }


@requirement("FR-001.default-off")
@on(MIXED)
@pytest.mark.parametrize("flag", [ABSENT, False])
def test_no_locked_tool_is_listed_unless_asked_for(bench: Bench, flag: object) -> None:
    """Queries that reveal locked tools under the flag list none of them without it."""
    bench.require(bench.flag_alive, "the feature was not seen")
    locked = bench.armed.refused
    bench.require(len(locked) >= 10, "fewer than 10 tools were locked")

    queries = {query for k in locked for query in (bench.tools[k].word, k.tool)}
    requests = [(query, limit) for query in queries for limit in (ABSENT, 1)]
    answers = {(q, n): bench.asked(q, include_disabled=flag, limit=n) for q, n in requests}

    observed = {
        place: (a.has_disabled, sorted(set(a.callables()) & set(locked)))
        for place, a in answers.items()
    }
    assert observed == dict.fromkeys(requests, (False, []))


@requirement("FR-001.default-off")
@on(LOCKED, needs=("restart",))
def test_no_locked_tool_is_offered_after_a_restart(bench: Bench) -> None:
    """After a restart, tools whose calls are still refused stay out of default answers."""
    bench.operator.restart()
    bench.require(bench.ready(FREE), "the target did not come back")
    held = [key for key in bench.armed.refused if not bench.call(key).reached]
    bench.require(held, "no lock outlived the restart")

    offered = bench.until(lambda: _offered(bench, held), lambda listed: not listed)

    assert offered == []


@requirement("FR-001.default-off")
@on(MIXED)
def test_no_locked_tool_is_listed_while_others_ask_for_them(bench: Bench) -> None:
    """With eight threads at once, answers to requests without the flag list no locked tool."""
    words = [bench.tools[key].word for key in bench.armed.samples()]
    bench.require(words and bench.flag_alive, "the feature was not seen")
    forms = [(word, flag) for word in words * 3 for flag in (True, ABSENT, True, False)]

    answers = bench.together([partial(_answer, bench, word, flag) for word, flag in forms])

    leaking = {
        word
        for (word, flag), answer in zip(forms, answers, strict=True)
        if flag is not True and answer.disabled
    }
    assert leaking == set()


@requirement("FR-001.by-description")
@on(MIXED)
def test_a_locked_tool_is_found_by_its_description(bench: Bench) -> None:
    """A word of the description alone still finds the tool when config or the user locks it."""
    pure = {"config": bench.locked(config=True), "user": bench.locked(user=True)}
    places = {
        kind: [(k, g) for k in keys for g in bench.tools[k].groups if bench.relevant(k, g)]
        for kind, keys in pure.items()
    }
    bench.require(all(places.values()), "no description found its tool while it was callable")
    judged = [*places["config"], *places["user"]]

    answers = {word: bench.asked(word, include_disabled=True) for _, word in judged}
    observed = [(str(key), word, answers[word].status(key) != NOWHERE) for key, word in judged]

    assert observed == [(str(key), word, True) for key, word in judged]


@requirement("FR-001.declared")
@on(MIXED)
def test_the_published_schema_takes_all_forms_of_the_flag(bench: Bench) -> None:
    """True, false and left out are valid arguments, and the flag is not on by default."""
    schemas = {place: tool.get("inputSchema") or {} for place, tool in offered(bench).items()}
    usual = {bench.surface.query: "zorvik", bench.surface.limit: 5}
    forms: list[dict[str, Any]] = [{}, {FLAG: True}, {FLAG: False}]

    observed = {
        place: (refusals(schema, [usual | form for form in forms]), default(schema) is True)
        for place, schema in schemas.items()
    }

    assert observed == {place: ([[], [], []], False) for place in schemas}


@requirement("FR-001.declared~property")
@on(MIXED)
def test_the_published_schema_names_the_flag(bench: Bench) -> None:
    """The flag is a property of the input schema."""
    tools = offered(bench)

    observed = {
        place: FLAG in (tool.get("inputSchema") or {}).get("properties", {})
        for place, tool in tools.items()
    }

    assert observed == dict.fromkeys(tools, True)


@requirement("FR-014.described")
@on(MIXED)
def test_the_discovery_tool_tells_of_the_flag_itself(bench: Bench) -> None:
    """Wherever the tool is offered, its own description contains the flag's name."""
    tools = offered_anywhere(bench)

    observed = {place: FLAG in (tool.get("description") or "") for place, tool in tools.items()}

    assert observed == dict.fromkeys(tools, True)


@requirement("FR-014.described~one-sentence")
@on(MIXED)
def test_one_sentence_is_about_the_flag(bench: Bench) -> None:
    """Exactly one sentence of the tool's description contains the flag's name."""
    tools = offered(bench)

    sentences = {p: re.split(r"[.!?]\s|\n", t.get("description") or "") for p, t in tools.items()}
    observed = {
        place: sum(FLAG in sentence for sentence in parts) for place, parts in sentences.items()
    }

    assert observed == dict.fromkeys(tools, 1)
