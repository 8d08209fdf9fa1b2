"""Absence of the note beside callable tools, or where the flag reveals nothing: FR-009."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import CONFIG, USER, key, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.note import leads_on, owed, queries_of
from mcp_proxy_conformance.discovery.oracle import may_have_note

ALONE = stage("alone")
MIXED = stage("mixed")
SHUT = stage("shut")
FORGE = world(
    server(
        "forge",
        tool("zorvik_list", groups=("kelmund",)),
        tool("mobel_drop", groups=("kelmund",), locked=CONFIG),
    )
)
ZORVIK = key("forge:zorvik_list")
NOWHERE = ("quolvexi", "fribbadon wexumla", "NoSuchTool_xq")


@requirement("FR-009.silent")
@on(MIXED)
def test_no_note_stands_where_none_is_owed(bench: Bench) -> None:
    """Queries that find callable tools, and queries that find nothing, get no note.

    The latter are queries for which the flag reveals nothing. Inconclusive if no note was seen
    elsewhere, not applicable if callable tools answer every query.
    """
    owed(bench, [bench.tools[sample].word for sample in bench.armed.samples()])
    bench.require_note(bench.note_alive)

    answers = {query: bench.asked(query) for query in [*MIXED.queries(), *NOWHERE]}
    undue = {
        query: answer.note
        for query, answer in answers.items()
        if answer.note
        and not may_have_note(callables=len(answer.tools), revealed=len(bench.revealed(query)))
    }

    assert undue == {}


@requirement("FR-009.silent")
@on(SHUT)
def test_a_query_that_matches_nothing_brings_no_note(bench: Bench) -> None:
    """A query for which the flag reveals nothing gets no note, even if no tool is callable.

    Inconclusive if no note was seen elsewhere.
    """
    bench.require_note(bench.note_alive)

    answers = {query: bench.asked(query) for query in NOWHERE}
    undue = {
        query: answer.note
        for query, answer in answers.items()
        if answer.note and not bench.revealed(query)
    }

    assert undue == {}


@requirement("FR-009.silent")
@on(FORGE)
def test_there_is_no_note_as_long_as_a_match_is_callable(bench: Bench) -> None:
    """With one match callable and one locked there is no note; with both locked there is one.

    The second is the control: inconclusive without that note, or if the callable match is not found
    or its lock has no effect.
    """
    beside = bench.discover("kelmund")
    bench.require(beside.tools, "the callable match was not found")

    bench.operator.lock(USER, "forge", ["zorvik_list"])
    bench.require(bench.refused(ZORVIK), "the lock had no effect", "no_effect")
    alone = bench.until(lambda: bench.discover("kelmund"), leads_on)
    bench.require_note(leads_on(alone))

    assert {beside.query: beside.note} == {beside.query: None}


@requirement("FR-009.silent~under-flag")
@on(ALONE)
def test_no_note_stands_beside_the_locked_entries(bench: Bench) -> None:
    """An answer with the flag that lists locked tools has no note beside them.

    Inconclusive if no note was seen in answers without the flag.
    """
    bench.require_note(bench.note_alive)

    answers = {q: bench.discover(q, include_disabled=True) for q in queries_of(ALONE)}
    noted = {q: answer.note for q, answer in answers.items() if answer.disabled and answer.note}

    assert noted == {}
