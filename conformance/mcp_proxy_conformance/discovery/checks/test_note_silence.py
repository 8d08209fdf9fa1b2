"""Absence of the note beside callable tools, or where the flag reveals nothing: FR-009."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.note import queries_of

ALONE = stage("alone")
NOWHERE = ("quolvexi", "fribbadon wexumla", "NoSuchTool_xq")


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
