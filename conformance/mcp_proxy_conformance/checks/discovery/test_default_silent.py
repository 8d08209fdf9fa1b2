"""Nothing is told of locked tools without the flag, or where there are none: FR-002."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.verdict.result import NotApplicable

ALONE, MIXED, PLAIN = stage("alone"), stage("mixed"), stage("plain")
UNLOCKED = msgspec.structs.replace(PLAIN, id="plain-unlocked", steps=())
LOOSE = world(
    server(
        "forge", tool("zorvik_list", groups=("tamupo",)), tool("mobel_drop", groups=("tamupo",))
    ),
    server("vault", tool("fegadu_open", groups=("tamupo",)), tool("bitoko_seal")),
)
BY_CONFIG, BY_USER = ToolKey("forge", "mobel_drop"), ToolKey("vault", "bitoko_seal")
ROOM = 5


def answers(bench: Bench, flag: object) -> dict[str, Answer]:
    """The answers to every word of the world."""
    return {word: bench.asked(word, include_disabled=flag) for word in bench.world.queries()}


def everywhere_else(bench: Bench, flag: object) -> dict[str, Answer]:
    """The answers to some of them at other endpoints, to agents of every server, at limit 1."""
    words = bench.world.queries()[::3]
    views: dict[str, tuple[Bench, Any]] = {"at limit 1": (bench, 1)}
    views |= {place: (view, ABSENT) for place, view in onlookers(bench).items()}
    return {
        f"{word} {place}": view.asked(word, include_disabled=flag, limit=limit)
        for place, (view, limit) in views.items()
        for word in words
    }


def members(told: Any) -> Iterator[tuple[str, Any]]:
    """Every member of a document, at any depth."""
    if isinstance(told, Mapping):
        yield from told.items()
    inner = told.values() if isinstance(told, Mapping) else told
    for value in inner if isinstance(told, Mapping | list) else ():
        yield from members(value)


def revealing(bench: Bench) -> list[str]:
    """The words that reveal a locked tool under the flag, at least eight of them."""
    found = [query for query, answer in answers(bench, True).items() if answer.disabled]
    bench.require(len(found) >= 8, "fewer than 8 queries revealed a locked tool")
    return found


def sections(bench: Bench, queries: list[str], flag: object) -> dict[str, set[str]]:
    """The members that carry locked tools under the flag, where a default answer has them."""
    names = {bench.surface.members.disabled, bench.surface.members.remediation}
    bodies = {query: bench.asked(query, include_disabled=flag).body for query in queries}
    bodies |= {place: answer.body for place, answer in everywhere_else(bench, flag).items()}
    return {query: names & set(body) for query, body in bodies.items() if names & set(body)}


@requirement("FR-002.no-section")
@on(MIXED)
@pytest.mark.parametrize("flag", [ABSENT, False])
def test_a_default_answer_has_no_section_for_locked_tools(bench: Bench, flag: object) -> None:
    """Queries that fill the section and the map under the flag show neither without it."""
    queries = [*revealing(bench), *(bench.tools[key].word for key in bench.armed.called)]

    told = sections(bench, queries, flag)

    assert told == {}


@requirement("FR-002.no-section")
@on(ALONE)
@pytest.mark.parametrize("flag", [ABSENT, False])
def test_an_answer_without_a_callable_tool_has_no_section(bench: Bench, flag: object) -> None:
    """Where a note may tell of the locked tools, the section and the map are absent too."""
    queries = revealing(bench)

    told = sections(bench, queries, flag)

    assert told == {}


def leaks(bench: Bench, flag: object) -> list[tuple[str, str]]:
    """Names, words and canaries of locked tools in default answers, with the query that led there.

    A query's own word is no leak: it came from the request.
    """
    bench.require(bench.flag_alive, "the feature was not seen")
    locked = [bench.tools[key] for key in bench.armed.refused]
    bench.require(len(locked) >= 10, "fewer than 10 tools were locked")
    secret = {text for tool in locked for text in (tool.name, tool.word, *tool.canaries)}
    found = answers(bench, flag) | everywhere_else(bench, flag)
    told = {place: (one.query, one.text_without_echo()) for place, one in found.items()}
    leaked = [(p, t) for p, (q, answer) in told.items() for t in secret - {q} if t in answer]
    owned = {key.tool: _owned(bench, key, flag) for key in bench.armed.refused}
    return leaked + [(name, form) for name, forms in owned.items() for form in forms]


def _owned(bench: Bench, key: ToolKey, flag: object) -> list[str]:
    """The forms of its name with its server in a default answer to the tool's name alone."""
    answer = bench.asked(key.tool, include_disabled=flag)
    forms = [f"{key.server}{sign}{key.tool}" for sign in (":", "__", "/", ".")]
    return [form for form in forms if form in answer.reply.text] if answer.error is None else []


@requirement("FR-002.no-locked-names")
@on(MIXED)
@pytest.mark.parametrize("flag", [ABSENT, False])
def test_a_default_answer_names_no_locked_tool(bench: Bench, flag: object) -> None:
    """No name and nothing of a description stands anywhere in the result, outside an echo."""
    told = leaks(bench, flag)

    assert told == []


@requirement("FR-002.no-locked-names")
@on(ALONE)
@pytest.mark.parametrize("flag", [ABSENT, False])
def test_an_answer_without_a_callable_tool_names_no_locked_one(bench: Bench, flag: object) -> None:
    """Nor does the note, or whatever else an answer without a callable tool holds."""
    told = leaks(bench, flag)

    assert told == []


@requirement("FR-002.no-section~words")
@on(MIXED)
def test_a_default_answer_uses_no_word_of_the_feature(bench: Bench) -> None:
    """No member at any depth is called like the section or the map, or holds one of the six."""
    bench.require(bench.flag_alive, "the feature was not seen")
    names = {bench.surface.members.disabled, bench.surface.members.remediation}

    told = [pair for answer in answers(bench, ABSENT).values() for pair in members(answer.body)]

    words = [(n, v) for n, v in told if n in names or (n == "status" and v in STATUSES)]
    assert words == []


@requirement("FR-002.no-locks-no-change")
@on(LOOSE)
def test_where_nothing_is_locked_the_flag_changes_nothing(bench: Bench) -> None:
    """The callable tools stay what and where they are, and no locked one is listed."""
    usual = {word: answer.callables() for word, answer in answers(bench, ABSENT).items()}
    bench.require(all(usual.values()), "a query found no callable tool")

    flagged = answers(bench, True)

    tight = {word: bench.discover(word, include_disabled=True, limit=1) for word in usual}
    seen = {word: (answer.callables(), answer.statuses()) for word, answer in flagged.items()}
    beyond = {word: answer.statuses() for word, answer in tight.items() if answer.disabled}
    bench.operator.lock(CONFIG, "forge", ["mobel_drop"])
    bench.require(bench.refused(BY_CONFIG), "the lock had no effect", "no_effect")
    bench.require(bench.until(lambda: bench.revealed("mobel"), bool), "the feature was not seen")
    assert (seen, beyond) == ({word: (keys, {}) for word, keys in usual.items()}, {})


@requirement("FR-002.no-locks-no-change")
@on(LOOSE)
def test_a_locked_tool_is_not_revealed_to_a_query_that_did_not_find_it(bench: Bench) -> None:
    """A query with room to spare that listed other tools does not bring up a locked one."""
    found = {word: bench.discover(word, limit=ROOM).callables() for word in LOOSE.queries()}
    room = min(ROOM, max(len(keys) for keys in found.values()))
    with_room = {word: keys for word, keys in found.items() if len(keys) < room}
    apart = [(w, k) for w, keys in with_room.items() for k in (BY_CONFIG, BY_USER) if k not in keys]
    if not apart:
        raise NotApplicable("every query of this target lists every tool")

    bench.operator.lock(USER, BY_USER.server, [BY_USER.tool])
    bench.operator.lock(CONFIG, BY_CONFIG.server, [BY_CONFIG.tool])

    bench.require(
        bench.refused(BY_USER) and bench.refused(BY_CONFIG), "a lock had no effect", "no_effect"
    )
    alive = set(bench.until(lambda: bench.revealed("mobel"), bool))
    alive |= set(bench.until(lambda: bench.revealed("bitoko"), bool))
    bench.require(alive & {BY_CONFIG, BY_USER}, "the feature was not seen")
    seen = [(word, key) for word, key in apart if key in bench.revealed(word, limit=ROOM)]
    assert seen == []


@requirement("FR-002.no-locks-no-change~empty-members")
@on(UNLOCKED)
def test_where_nothing_is_locked_the_flag_adds_no_member(bench: Bench) -> None:
    """An answer under the flag has the members of a default one."""
    words = bench.world.queries()[:6]

    seen = {word: set(bench.discover(word, include_disabled=True).body) for word in words}

    assert seen == {word: set(bench.discover(word).body) for word in words}


@requirement("FR-002.no-locks-no-change~quarantined")
@on(MIXED, needs=("quarantine",))
def test_a_withheld_tool_is_revealed_only_by_a_query_that_concerns_it(bench: Bench) -> None:
    """A word that is nowhere in a quarantined, pending or changed tool does not bring it up."""
    states = bench.states
    withheld = {k for k in bench.armed.refused if states[k].quarantined or states[k].approval}
    alive = [key for key in withheld if key in bench.revealed(key.tool)]
    bench.require(alive, "no withheld tool was seen at all")

    others = [bench.tools[key].word for key in states if states[key].callable]
    seen = {(word, key) for word in others for key in withheld & set(bench.revealed(word))}

    assert seen == set()
