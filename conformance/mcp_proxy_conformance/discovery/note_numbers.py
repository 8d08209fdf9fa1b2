"""Where the note of a default answer leads, and which numbers it may tell: FR-009."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mcp_proxy_conformance.catalogue.locks import ToolState
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.numbers import numbers_in

INDEXED = (ToolState(config=True), ToolState(user=True), ToolState(config=True, user=True))
"""The locks whose tools stay in the search index, so that their number can be known."""


def leads_on(answer: Answer) -> bool:
    """Whether the answer's note names the flag."""
    return FLAG in (answer.note or "")


def numbers_allowed(bench: Bench, query: str) -> tuple[set[int], int]:
    """The numbers of locked matches that the flag shows, and the least that a note may tell.

    A target may count what one answer would show or all there is, and what it lists whatever
    the query or not: hence up to four numbers where the section has room for all.
    """
    sections = [bench.revealed(query, limit=100), bench.revealed(query)]
    indexed = [_indexed(bench, section) for section in sections]
    return {*map(len, sections), *indexed}, min(indexed)


def counts_right(note: str, numbers: Collection[int], least: int, *, full: bool) -> bool:
    """Whether one numeral of the note is right; `full` when there may be more than is shown."""
    told = numbers_in(note)
    return any(number >= least if full else number in numbers for number in told)


def _indexed(bench: Bench, section: Iterable[ToolKey]) -> int:
    return sum(bench.states.get(key) in INDEXED for key in section)
