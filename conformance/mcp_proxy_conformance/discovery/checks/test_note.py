"""The note on locked matches in a default answer without callable tools: FR-009."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    Step,
    ToolKey,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.contents import repeated
from mcp_proxy_conformance.discovery.note import (
    counts_right,
    leads_on,
    numbers_allowed,
    on_stages_of_locked_tools,
    owed,
    owed_everywhere,
)
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.oracle import LOCKED_CAP
from mcp_proxy_conformance.verdict.exchanges import Exactly
from mcp_proxy_conformance.verdict.result import NotApplicable

COMBOS = stage("combos")
SHARED = "kelmund"
TWICE = world(
    server(
        "forge",
        tool("zorvik_list"),
        tool("mobel_drop", groups=(SHARED,), locked=(USER, CONFIG)),
        tool("tunrag_wipe", groups=(SHARED,), locked=USER),
        tool("gatun_seal", locked=CONFIG),
    ),
    server("barn", tool("tifka_show"), tool("mobel_drop", groups=(SHARED,), locked=CONFIG)),
    server("vault", tool("pelka_hide")),
)
TWICE = structs.replace(TWICE, steps=(*TWICE.steps, Step(lock="quarantine", server="vault")))
FREE = ToolKey("forge", "zorvik_list")


@requirement("FR-009.count")
@on_stages_of_locked_tools()
def test_the_number_in_the_note_is_that_of_the_locked_matches(
    bench: Bench, queries: tuple[str, ...]
) -> None:
    """The number is that of the entries with the flag, or of all matches if there may be more.

    There may be more matches than entries where a section is as full as the fullest one.
    Inconclusive if no note has a number, not applicable if callable tools answer every query.
    """
    answers = {query: answer.note for query, answer in owed(bench, queries).items() if answer.note}
    bench.require(any(map(numbers_in, answers.values())), "no note contains a number")
    allowed = {query: numbers_allowed(bench, query) for query in answers}
    fullest = max(max(numbers) for numbers, _ in allowed.values())

    missed: dict[Exactly, Any] = {}
    for query, (numbers, bounds) in allowed.items():
        full = max(numbers) == fullest
        if bounds.min and not counts_right(answers[query], numbers, bounds, full=full):
            missed[query] = str(bounds) if full else sorted(numbers)

    assert {query: answers[query] for query in missed} == missed


@requirement("FR-009.no-entries")
@on_stages_of_locked_tools()
def test_the_note_does_not_give_the_locked_tools_away(
    bench: Bench, queries: tuple[str, ...]
) -> None:
    """An answer with the note has no name of a matching tool and no word of its description.

    Words of the query do not count. Asked are also limit 1, other endpoints and agents that see
    every server; inconclusive if no note was seen.
    """
    answers = {q: a for q, a in owed_everywhere(bench, queries).items() if a.error is None}
    bench.require_note(any(answer.note for answer in answers.values()))

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
    """No server's name occurs in an answer with the note, except in the query.

    Inconclusive if no note was seen, not applicable if callable tools answer every query.
    """
    answers = {q: a for q, a in owed(bench, queries).items() if a.error is None}
    bench.require_note(any(answer.note for answer in answers.values()))

    names = [server.name for server in bench.world.servers]
    texts = {query: answer.text_without_echo() for query, answer in answers.items()}
    named = {
        query: mentioned
        for query, text in texts.items()
        if (mentioned := [name for name in names if name in text])
    }

    assert named == {}


@requirement("FR-009.one-line")
@on_stages_of_locked_tools()
def test_the_note_is_a_single_line(bench: Bench, queries: tuple[str, ...]) -> None:
    """The note is one member, a string without a line break, and not repeated elsewhere.

    The same holds at limit 1, at other endpoints, for agents that see every server and for queries
    of two lines; inconclusive if no note was seen.
    """
    answers = owed_everywhere(bench, queries)
    bench.require_note(any(answer.note for answer in answers.values()))
    answers |= {(query,): bench.asked(query) for query in (f"{word}\n{word}" for word in queries)}

    noted = {query: answer for query, answer in answers.items() if answer.note}
    faults = {
        (query, fault): answer.note
        for query, answer in noted.items()
        for fault in _faults(answer, bench.surface.members.note)
    }

    assert faults == {}


@requirement("FR-009.tight-limit")
@on_stages_of_locked_tools()
def test_the_note_appears_at_limit_one_too(bench: Bench, queries: tuple[str, ...]) -> None:
    """At limit 1, too, a query that only locked tools match gets a note that names the flag.

    Inconclusive if the flag reveals no match, not applicable if callable tools answer every query.
    """
    answers = owed(bench, queries, limit=1)

    lacking = {query: answer.note for query, answer in answers.items() if not leads_on(answer)}

    assert lacking == {}


@requirement("FR-009.count")
@on(COMBOS)
def test_the_note_counts_a_tool_once_whatever_locks_it(bench: Bench) -> None:
    """The number in the note of a tool's own name is that of the entries with the flag.

    It may leave irrelevant entries out. A section of ten is not judged, since there may be more
    matches; not applicable if all are such. Inconclusive if no note has a number.
    """
    answers = owed(bench, [key.tool for key in bench.armed.refused])
    bench.require(any(numbers_in(a.note or "") for a in answers.values()), "no note has a number")

    allowed = {query: _entries(bench, query) for query in answers}
    if all(max(numbers) >= LOCKED_CAP for numbers in allowed.values()):
        raise NotApplicable("the flag lists ten tools for every query")
    wrong = {
        query: (answer.note, sorted(allowed[query]))
        for query, answer in answers.items()
        if max(allowed[query]) < LOCKED_CAP
        and (numbers := numbers_in(answer.note or ""))
        and allowed[query].isdisjoint(numbers)
    }

    assert wrong == {}


@requirement("FR-009.note")
@on(TWICE, needs=("restart",))
def test_the_first_answer_after_each_restart_has_its_note(bench: Bench) -> None:
    """After the first and the second restart, the first answer without a callable has the note.

    It must name the flag if the flag then reveals a locked tool; inconclusive if it never does, or
    no tool can be called after a restart. Not applicable if the answer lists a callable tool.
    """
    firsts: dict[str, str | None] = {}
    owing: list[ToolKey] = []
    for restart in ("first", "second"):
        bench.operator.restart()
        bench.require(bench.ready(FREE), "no tool could be called after the restart", "not_reached")
        bench.settle()
        answer = bench.discover(SHARED)
        if answer.tools:
            raise NotApplicable("the answer lists a callable tool, so no note is due")
        revealed = [*bench.revealed(SHARED)]
        owing += revealed
        if revealed and not leads_on(answer):
            firsts[answer.reply.named(f"after the {restart} restart")] = answer.note
    bench.require(owing, "the flag revealed no locked tool after the restarts")

    assert firsts == {}


def _entries(bench: Bench, query: str) -> set[int]:
    """Return the numbers that the note for a query may give: of all entries, or of relevant ones.

    Entries are counted at limit 100 and without a limit. Some targets list withheld tools for
    any query, and need not count these in the note.
    """
    sections = [bench.revealed(query), bench.revealed(query, limit=ABSENT)]
    return {*map(len, sections), sum(bench.relevant(key, query) for key in sections[0])}


def _own_words(bench: Bench, query: str) -> list[str]:
    """Return names and words of the tools that the flag reveals, without those in the query."""
    matches = [bench.tools[k] for k in bench.revealed(query) if k in bench.tools]
    words = {w for t in matches for w in (t.name, t.word, *t.groups, *t.canaries)}
    return sorted(word for word in words if word and word not in query)


def _faults(answer: Answer, member: str) -> list[str]:
    """Return why the note is not a single line that appears once; [] if it is.

    `member` is the name of the answer's member that has the note.
    """
    ways = {
        "several lines": len((answer.note or "").strip().splitlines()) > 1,
        "repeated elsewhere": bool(
            repeated([answer.note], {n: v for n, v in answer.body.items() if n != member})
        ),
    }
    return [way for way, holds in ways.items() if holds]
