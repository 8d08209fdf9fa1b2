"""Content of the note in a default answer without callable tools: FR-009."""

from __future__ import annotations

from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, ToolKey, server, tool, world
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.locked import repeated
from mcp_proxy_conformance.discovery.note import (
    counts_right,
    leads_on,
    numbers_allowed,
    on_stages_of_locked_tools,
    owed,
    owed_everywhere,
)
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.remediation_words import is_english
from mcp_proxy_conformance.verdict.result import NotApplicable
from mcp_proxy_conformance.wire import spans

SHARED = "kelmund"
TWICE = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", groups=(SHARED,), locked=(USER, CONFIG)),
        tool("tunrag_wipe", groups=(SHARED,), locked=USER),
    )
)
MATCHES = (ToolKey("forge", "mobel_drop"), ToolKey("forge", "tunrag_wipe"))


@requirement("FR-009.note")
@on_stages_of_locked_tools()
def test_an_answer_without_callable_tools_tells_of_locked_ones(
    bench: Bench, queries: tuple[str, ...]
) -> None:
    """The note has a number and names the flag, for every query that only locked tools match."""
    answers = owed_everywhere(bench, queries)

    notes = {query: answer.note for query, answer in answers.items() if not _complete(answer)}
    bench.require(all(is_english(note) for note in notes.values() if note), f"not read: {notes}")

    assert notes == {}


@requirement("FR-009.count")
@on_stages_of_locked_tools()
def test_the_number_in_the_note_is_that_of_the_locked_matches(
    bench: Bench, queries: tuple[str, ...]
) -> None:
    """The number is that of entries under the flag, or no less where the section may be full."""
    answers = {query: answer.note for query, answer in owed(bench, queries).items() if answer.note}
    bench.require(any(map(numbers_in, answers.values())), "no note tells a number")
    allowed = {query: numbers_allowed(bench, query) for query in answers}
    fullest = max(max(numbers) for numbers, _ in allowed.values())

    wrong = {
        note: f"allowed {sorted(numbers)}, full at {fullest}"
        for note, (numbers, least) in zip(answers.values(), allowed.values(), strict=True)
        if least and not counts_right(note, numbers, least, full=max(numbers) == fullest)
    }

    assert wrong == {}


@requirement("FR-009.no-entries")
@on_stages_of_locked_tools()
def test_the_note_does_not_give_the_locked_tools_away(
    bench: Bench, queries: tuple[str, ...]
) -> None:
    """No name of a match and no word of its description occurs in the answer."""
    answers = owed_everywhere(bench, queries)
    bench.require(any(answer.note for answer in answers.values()), "no note was seen")

    given_away = {
        place: words
        for place, answer in answers.items()
        if (
            words := [w for w in _own_words(bench, answer.query) if w in answer.text_without_echo()]
        )
    }

    assert given_away == {}


@requirement("FR-009.no-entries~server-names")
@on_stages_of_locked_tools()
def test_the_note_does_not_name_servers(bench: Bench, queries: tuple[str, ...]) -> None:
    """No server's name occurs in an answer with the note."""
    answers = owed(bench, queries)
    bench.require(any(answer.note for answer in answers.values()), "no note was seen")

    names = [server.name for server in bench.world.servers]
    named = {n for answer in answers.values() for n in names if n in answer.text_without_echo()}

    assert named == set()


@requirement("FR-009.one-line")
@on_stages_of_locked_tools()
def test_the_note_is_a_single_line(bench: Bench, queries: tuple[str, ...]) -> None:
    """The note is one member, a string without a line break, and is not repeated elsewhere."""
    answers = owed_everywhere(bench, queries)
    bench.require(any(answer.note for answer in answers.values()), "no note was seen")

    note = bench.surface.members.note
    noted = {query: answer for query, answer in answers.items() if answer.note}
    broken = {query: answer.note for query, answer in noted.items() if len(_lines(answer.note)) > 1}
    twice = {q: note for q, answer in noted.items() if note in _twice(answer.reply.document)}
    again = {
        q: answer.note
        for q, answer in noted.items()
        if repeated([answer.note], _rest(answer, note))
    }

    assert (broken, twice, again) == ({}, {}, {})


@requirement("FR-009.tight-limit")
@on_stages_of_locked_tools()
def test_the_note_appears_at_limit_one_too(bench: Bench, queries: tuple[str, ...]) -> None:
    """The note appears at the tightest limit too."""
    answers = owed(bench, queries, limit=1)

    lacking = {query: answer.note for query, answer in answers.items() if not leads_on(answer)}

    assert lacking == {}


@requirement("FR-009.count")
@on(TWICE)
def test_a_tool_under_two_locks_is_counted_once(bench: Bench) -> None:
    """With two matches, one of them under two locks, the note counts two."""
    bench.require(set(MATCHES) <= set(bench.armed.refused), "a lock had no effect", "no_effect")
    unshown = [key for key in MATCHES if not bench.relevant(key, SHARED)]
    bench.require(not unshown, f"not listed for {SHARED} while callable: {unshown}")
    shown = bench.settled(lambda: len(bench.revealed(SHARED, limit=100)), len(MATCHES))
    bench.require(shown == len(MATCHES), f"the flag reveals {shown} of {len(MATCHES)}")

    answer = bench.until(lambda: bench.discover(SHARED), lambda answer: bool(answer.note))
    numbers = numbers_in(answer.note or "")
    if answer.tools:
        raise NotApplicable("the answer lists a callable tool: no note is due")
    bench.require(numbers, "no note tells a number")

    assert len(MATCHES) in numbers, answer.note


def _complete(answer: Answer) -> bool:
    return leads_on(answer) and bool(numbers_in(answer.note or ""))


def _own_words(bench: Bench, query: str) -> list[str]:
    """The names and made-up words of the query's matches, except those in the query."""
    matches = [bench.tools[k] for k in bench.revealed(query, limit=100) if k in bench.tools]
    words = {w for t in matches for w in (t.name, t.word, *t.groups, *t.canaries)}
    return sorted(word for word in words if word and word not in query)


def _lines(note: str | None) -> list[str]:
    return (note or "").strip().splitlines()


def _twice(document: bytes) -> tuple[str, ...]:
    """The member names that an object of the document has more than once."""
    return spans.parse(document).duplicates()


def _rest(answer: Answer, note: str) -> dict[str, Any]:
    return {name: value for name, value in answer.body.items() if name != note}
