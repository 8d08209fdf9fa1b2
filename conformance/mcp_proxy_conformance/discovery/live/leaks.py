"""Leaks of locked tools: names and texts of theirs in default answers given while locked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.contents import strings
from mcp_proxy_conformance.discovery.live.live_bench import LiveBench
from mcp_proxy_conformance.discovery.live.words import NOWHERE

LEAST_NAME, LEAST_TEXT = 6, 20
"""Characters; shorter texts occur in others by chance."""


@dataclass(slots=True)
class Leaks:
    """Leaks of locked tools in default answers, which are breaches: their texts, by request.

    `judged`: the number of answers that were searched; with none, nothing is proven.
    """

    judged: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)


def leaks(bench: LiveBench, *, noted: bool) -> Leaks:
    """Find names and descriptions of locked tools in the bench's answers without the flag.

    Those that are also in answers to a word that no tool has are left out. `noted`: only
    answers with a note count. Inconclusive if no locked tool was seen.
    """
    result, common = Leaks(), _common(bench)
    for entries, between in bench.bracketed():
        for look, answer in between:
            if noted and not bench.note(answer):
                continue
            result.judged += 1
            if texts := sorted({t for e in entries for t in _leaked(bench, e, answer)} - common):
                result.texts[look.label] = texts
    return result


def _leaked(bench: LiveBench, entry: Entry, answer: Answer) -> Iterator[str]:
    """Yield the entry's name and description if an answer has them outside its callable entries.

    One that the query contains does not count, as the answer may repeat the query; nor a name
    under 6 or a text under 20 characters.
    """
    rest = {n: v for n, v in answer.body.items() if n != bench.surface.members.tools}
    contents = tuple(strings(rest))
    name, text = entry.name, entry.description or ""
    alone = rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
    if len(name) >= LEAST_NAME and not re.search(alone, answer.query):
        yield from [name] if any(re.search(alone, content) for content in contents) else []
    if len(text) >= LEAST_TEXT and text not in answer.query:
        yield from [text] if any(text in content for content in contents) else []


def _common(bench: LiveBench) -> set[str]:
    """Return the locked tools' names and texts that are in default answers to a word of no tool."""
    answers = [look.answer for look in bench.survey.rounds.get(NOWHERE, ()) if not look.flagged]
    contents = [text for answer in answers if answer is not None for text in strings(answer.body)]
    entries = [entry for _, entry in bench.entries()]
    texts = {t for e in entries for t in (e.name, e.description or "") if t}
    return {text for text in texts if any(text in content for content in contents)}
