"""When there is no note: beside callable tools, or where the flag would reveal nothing: FR-009."""

from __future__ import annotations

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.discovery.notes import leads_on, owed, queries_of
from mcp_proxy_conformance.oracle import may_have_note
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage
from mcp_proxy_conformance.world import CONFIG, USER, server, tool, world

ALONE = stage("alone")
MIXED = stage("mixed")
SHUT = stage("shut")
FORGE = world(
    server(
        "forge",
        tool("zorvik_list", groups=("kelmund",), locked=USER),
        tool("mobel_drop", groups=("kelmund",), locked=CONFIG),
    )
)
NOWHERE = ("quolvexi", "fribbadon wexumla", "NoSuchTool_xq")


@requirement("FR-009.silent")
@on(MIXED)
def test_no_note_stands_where_none_is_owed(bench: Bench) -> None:
    """Words that find callable tools, and words that find nothing at all, bring no note."""
    queries = [*MIXED.queries(), *NOWHERE]
    owed(bench, queries)
    bench.require(bench.note_alive, "no note was seen")

    answers = {query: bench.discover(query) for query in queries}
    undue = {
        query: one.note
        for query, one in answers.items()
        if one.note
        and not may_have_note(
            callables=len(one.tools), revealed=len(bench.revealed(query, limit=100))
        )
    }

    assert undue == {}


@requirement("FR-009.silent")
@on(SHUT)
def test_a_query_that_matches_nothing_brings_no_note(bench: Bench) -> None:
    """Locked tools that the query does not match are not told of."""
    bench.require(bench.note_alive, "no note was seen")

    answers = {query: bench.discover(query) for query in NOWHERE}
    undue = {
        query: one.note
        for query, one in answers.items()
        if one.note and not bench.revealed(query, limit=100)
    }

    assert undue == {}


@requirement("FR-009.silent")
@on(FORGE)
def test_the_note_goes_when_a_match_becomes_callable(bench: Bench) -> None:
    """Both matches locked, there is a note; once one of them can be called, there is none."""
    zorvik = bench.locked(user=True)
    bench.require(zorvik and leads_on(bench.discover("kelmund")), "no note was seen")

    bench.operator.unlock(USER, "forge", ["zorvik_list"])
    bench.require(bench.reached(zorvik[0]), "the unlock had no effect")
    answer = bench.until(lambda: bench.discover("kelmund"), lambda seen: bool(seen.tools))
    bench.require(answer.tools, "the unlocked tool is not listed again")

    assert answer.note is None


@requirement("FR-009.silent~under-flag")
@on(ALONE)
def test_no_note_stands_beside_the_locked_entries(bench: Bench) -> None:
    """An answer that lists the locked tools does not tell of them once more."""
    bench.require(bench.note_alive, "no note was seen")

    answers = {q: bench.discover(q, include_disabled=True) for q in queries_of(ALONE)}
    noted = {q: one.note for q, one in answers.items() if one.disabled and one.note}

    assert noted == {}
