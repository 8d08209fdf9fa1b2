"""What a default answer tells of tools that are locked before it and after it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.live.live_bench import LiveBench
from mcp_proxy_conformance.discovery.live.words import NOWHERE
from mcp_proxy_conformance.discovery.locked import strings

LEAST_NAME, LEAST_TEXT = 6, 20
"""Characters; shorter texts stand in others by chance."""


@dataclass(slots=True)
class Leaks:
    """How many locked tools could be looked for, and what was told of them by request."""

    judged: int = 0
    told: dict[str, list[str]] = field(default_factory=dict)


def leaks(bench: LiveBench, *, noted: bool) -> Leaks:
    """Names and descriptions of locked tools in answers without the flag.

    Args:
        bench: Whose answers.
        noted: Only answers with a note count.
    """
    found, common = Leaks(), _common(bench)
    for entries, between in bench.bracketed():
        for look, answer in between:
            if noted and not bench.note(answer):
                continue
            found.judged += 1
            if told := sorted({t for e in entries for t in _told(bench, e, answer)} - common):
                found.told[look.label] = told
    return found


def _told(bench: LiveBench, entry: Entry, answer: Answer) -> Iterator[str]:
    """What the answer tells of the entry, outside its callable entries.

    What the query itself holds says nothing of the entry: the answer may repeat the query.
    """
    rest = {n: v for n, v in answer.body.items() if n != bench.surface.members.tools}
    said = tuple(strings(rest))
    name, text = entry.name, entry.description or ""
    alone = rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
    if len(name) >= LEAST_NAME and not re.search(alone, answer.query):
        yield from [name] if any(re.search(alone, one) for one in said) else []
    if len(text) >= LEAST_TEXT and text not in answer.query:
        yield from [text] if any(text in one for one in said) else []


def _common(bench: LiveBench) -> set[str]:
    """Names and texts that also stand in answers to a word that no tool has."""
    answers = [one.answer for one in bench.seen.rounds.get(NOWHERE, ()) if not one.flagged]
    told = json.dumps([one.body for one in answers if one is not None], ensure_ascii=False)
    entries = [entry for _, entry in bench.entries()]
    return {t for e in entries for t in (e.name, e.description or "") if t and t in told}
