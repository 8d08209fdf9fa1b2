"""The note of a live endpoint: due for a locked tool asked for by its name, and only then."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.live.leaks import leaks
from mcp_proxy_conformance.discovery.live.live_bench import ONE_ANSWER, SEVERAL_ANSWERS, LiveBench
from mcp_proxy_conformance.discovery.live.talk import LiveAnswer
from mcp_proxy_conformance.discovery.note import counts_right
from mcp_proxy_conformance.discovery.numbers import numbers_in
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import NotApplicable

NONE_DUE = "queries for locked tools also found callable ones; give --query a rarer word"
INDEXED = ("disabled_by_config", "disabled_by_user")


@requirement("FR-009.note")
@on(SEVERAL_ANSWERS)
def test_a_live_answer_without_a_callable_tells_of_the_locked_one(bench: LiveBench) -> None:
    """Some plain answer to a locked tool's name has a note with a number that names the flag.

    Plain answers are those to requests without the flag. Judged are tools that are listed as locked
    throughout, with no callable tool in the plain answers; inconclusive if there are none, not
    applicable if every plain answer has a callable tool.
    """
    lacking = {}
    for look, notes, _ in _due(bench):
        poor = [note for note in notes if not numbers_in(note or "")]
        if len(poor) == len(notes):
            lacking[look.label] = poor[0]

    assert lacking == {}


@requirement("FR-009.count")
@on(SEVERAL_ANSWERS)
def test_a_live_note_tells_the_number_of_locked_matches(bench: LiveBench) -> None:
    """The note's number is that of locked entries with the flag, or no less if these may be capped.

    They may be capped where no answer lists more; one right note a query is enough. Inconclusive if
    no note has a number, not applicable if every plain answer has a callable tool.
    """
    most = max(len(answer.disabled) for _, answer in bench.revealing())
    wrong, judged = {}, 0
    allowed: dict[str, object] = {}
    for look, notes, sections in _due(bench):
        numbers, least = _numbers(sections)
        full = max(len(answer.disabled) for answer in sections) >= most
        numbered = [note for note in notes if note and numbers_in(note)]
        judged += len(numbered)
        if numbered and not any(
            counts_right(n, numbers, Bounds(min=least), full=full) for n in numbered
        ):
            wrong[look.label] = numbered[0]
            allowed[look.label] = f"{least} or more" if full else sorted(numbers)
    bench.require(judged, "no note contained a number")

    assert wrong == allowed


@requirement("FR-009.no-entries")
@on(SEVERAL_ANSWERS)
def test_a_live_answer_with_a_note_names_no_match(bench: LiveBench) -> None:
    """An answer with a note contains no name or description of a locked tool, except as an echo.

    Inconclusive if no note was due, or none was seen. Not applicable if every plain answer has a
    callable tool.
    """
    list(_due(bench))
    leaked = leaks(bench, noted=True)

    bench.require(leaked.judged, "no note was seen")

    assert leaked.texts == {}


@requirement("FR-009.silent")
@on(SEVERAL_ANSWERS)
def test_a_live_answer_has_no_note_unless_it_is_due(bench: LiveBench) -> None:
    """No note appears beside callable tools, or if the flag reveals nothing before and after.

    The latter counts if all four plain answers to a query have a note. Inconclusive if no note was
    due at all, not applicable if every plain answer has a callable tool.
    """
    list(_due(bench))
    undue = {}
    for look, answer in bench.usual():
        if bench.note(answer) and answer.tools:
            undue[look.label] = answer.note
    for _, usual, false, flagged in bench.rounds():
        noted = [answer.note for answer in (*usual[:2], *false) if bench.note(answer)]
        if len(noted) == 4 and not any(answer.disabled for answer in flagged):
            words = f"{in_words({'query': usual[0].query})}, without the flag"
            undue[usual[0].reply.named(words)] = noted[0]

    assert undue == {}


@requirement("FR-009.one-line")
@on(ONE_ANSWER)
def test_a_live_note_is_one_line(bench: LiveBench) -> None:
    """The note of an answer without the flag contains no line break.

    Inconclusive if no note was due, or none was seen. Not applicable if every plain answer has a
    callable tool.
    """
    list(_due(bench))
    notes = [(look, note) for look, answer in bench.usual() if (note := bench.note(answer))]
    bench.require(notes, "no note was seen")

    broken = {look.label: note for look, note in notes if len(note.splitlines()) > 1}

    assert broken == {}


def _due(bench: LiveBench) -> Iterator[tuple[LiveAnswer, list[str | None], list[Answer]]]:
    """Yield (a plain call, notes, flagged answers) for each tool whose plain answers owe a note.

    They owe one if the tool was asked for by name, no plain answer lists a callable tool, and each
    of the three flagged ones lists it as locked. The notes are those of the two plain answers, None
    without one that names the flag. Not applicable, after the last tool, if none was yielded and
    every plain answer of the survey has a callable tool; inconclusive if none was yielded
    otherwise, or if no answer to the flag has a locked entry.
    """
    bench.revealing()
    owed = 0
    for key, looks, answers in bench.alone():
        plain = [
            (look, answer) for look, answer in zip(looks, answers, strict=True) if not look.flagged
        ]
        usable = all(answer.error is None and not answer.tools for _, answer in plain)
        if usable and bench.steady(key, answers):
            owed += 1
            around = [answers[at] for at in (0, 2, 4)]
            yield plain[0][0], [bench.note(answer) for _, answer in plain], around
    if not owed and all(answer.tools for _, answer in bench.usual()):
        raise NotApplicable("every query found a callable tool, so no note is due")
    bench.require(owed, NONE_DUE)


def _numbers(sections: list[Answer]) -> tuple[set[int], int]:
    """Return (the numbers that a note may have by these flagged answers, the least allowed one).

    The numbers are those of all entries, and of entries with an indexed status.
    """
    indexed = [sum(e.status in INDEXED for e in answer.disabled) for answer in sections]
    return {*(len(answer.disabled) for answer in sections), *indexed}, min(indexed)
