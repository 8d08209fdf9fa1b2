"""A program that was just started comes to know its servers one after another: wait for them."""

from __future__ import annotations

from itertools import islice

from mcp_proxy_conformance.discovery.live.survey import entries_of
from mcp_proxy_conformance.discovery.live.talk import Talk
from mcp_proxy_conformance.discovery.live.words import Words

ASKED, TURNS, EVERY_S = 3, 8, 0.5
"""Words that are asked for in each turn, the most turns, and seconds between them."""


def await_tools(main: Talk, words: Words) -> None:
    """Ask until something is found, and the same again; in vain it takes about four seconds.

    Raises:
        OverBudget: Nothing more may be sent.
        Unreachable: It stopped answering.
    """
    asked = list(islice(iter(words.next, None), ASKED))
    before: list[tuple[str, ...]] = []
    for turn in range(TURNS):
        if turn:
            main.budget.rest(EVERY_S)
        found = [_found(main, word) for word in asked]
        if any(found) and found == before:
            return
        before = found


def _found(main: Talk, word: str) -> tuple[str, ...]:
    return tuple(entry.name for entry in entries_of(main.ask(word, "W")))
