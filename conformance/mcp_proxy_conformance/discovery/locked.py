"""The locked entries of a world's tools, each tool asked for by a query of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import ABSENT, cap, is_withheld
from mcp_proxy_conformance.discovery.remediation import mask

SHORT = 20
"""Characters; a shorter text is looked for as a whole string only, not inside others."""


def own_query(bench: Bench, key: ToolKey) -> str:
    """The tool's word if it was listed for it while callable, else its exact name (section 0)."""
    word = bench.tools[key].word
    indexed = not is_withheld(bench.states[key]) and bench.relevant(key, word)
    return word if word and indexed else key.tool


def ask(bench: Bench, key: ToolKey) -> Answer:
    """Ask for a tool by its own query, with the flag: a request of this check's own."""
    return bench.discover(own_query(bench, key), include_disabled=True, limit=SHOW_LIMIT)


def own_answer(bench: Bench, key: ToolKey) -> Answer:
    """The flagged answer to the tool's own query, shared with other checks of the same state."""
    return bench.asked(own_query(bench, key), include_disabled=True, limit=SHOW_LIMIT)


def named(answer: Answer, key: ToolKey) -> Entry | None:
    """The locked entry whose name holds the tool's, whatever its other members say."""
    return next((entry for entry in answer.disabled if key.tool in entry.name), None)


def own_answers(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Answer]:
    """The answers that list each tool as locked, of all that do so before the settle time."""
    keys = tuple(keys)

    def look() -> dict[ToolKey, Answer]:
        answers = {key: own_answer(bench, key) for key in keys}
        return {key: answer for key, answer in answers.items() if named(answer, key)}

    return bench.until(look, lambda found: len(found) == len(keys))


def own_entries(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Entry]:
    """The locked entry of each tool that is listed as locked."""
    entries = {key: named(answer, key) for key, answer in own_answers(bench, keys).items()}
    return {key: entry for key, entry in entries.items() if entry is not None}


def every_answer(bench: Bench, keys: Iterable[ToolKey]) -> list[tuple[ToolKey, Answer]]:
    """The answers that list each of these tools as locked, wherever and however it is asked for.

    To its own query, to the words it shares, at limit 1, at other endpoints, and to agents of
    every server; of those tools only that are listed for their own query.
    """
    told = list(own_answers(bench, keys).items())
    views = onlookers(bench).values()
    for key, own in list(told):
        words = [own.query, *bench.tools[key].groups]
        asked = [(bench, own.query, 1), *((bench, word, SHOW_LIMIT) for word in words[1:])]
        asked += [(view, own.query, SHOW_LIMIT) for view in views]
        for view, word, limit in asked:
            answer = view.asked(word, include_disabled=True, limit=limit)
            told += [(key, answer)] if named(answer, key) else []
    return told


def every_entry(bench: Bench, keys: Iterable[ToolKey]) -> list[tuple[ToolKey, Entry]]:
    """The entry of each tool in each of these answers."""
    found = [(key, named(answer, key)) for key, answer in every_answer(bench, keys)]
    return [(key, entry) for key, entry in found if entry is not None]


def own_texts(bench: Bench, keys: Iterable[ToolKey]) -> dict[str, set[str]]:
    """By status, the map's texts told for these tools, with their names masked."""
    found: dict[str, set[str]] = {}
    for key, answer in every_answer(bench, keys):
        status = answer.status(key)
        text = (answer.remediation or {}).get(status)
        if isinstance(text, str):
            found.setdefault(status, set()).add(masked(bench, text, key))
    return found


def places(bench: Bench, key: ToolKey) -> frozenset[str]:
    """Where answers to the tool's own query and to its exact name put it; absent if in neither.

    Nowhere when it is in neither and the cap may be why: then nothing can be said of it.
    """
    queries = {own_query(bench, key), key.tool}
    answers = [bench.asked(q, include_disabled=True, limit=SHOW_LIMIT) for q in queries]
    seen = frozenset(answer.status(key) for answer in answers) - {ABSENT}
    full = any(len(answer.disabled) >= cap(SHOW_LIMIT) for answer in answers)
    return seen if seen or full else frozenset({ABSENT})


def masked(bench: Bench, text: str, key: ToolKey) -> str:
    """The text with the names of the tool and what its server says of it masked, quoted or not."""
    changed = [s.description for s in bench.world.steps if s.change == key.tool and s.description]
    says = (bench.tools[key].description, *changed)
    quoted = [form[1:-1] for one in says for form in (json.dumps(one), repr(one))]
    told = (key.server, key.tool, *says, *quoted)
    return mask(text, [f"{key.server}:{key.tool}", *told])


def schemas(members: Mapping[str, Any]) -> tuple[str, ...]:
    """The members that hold a schema: by their name, or by what they hold."""
    return tuple(
        name
        for name, value in members.items()
        if value and ("schema" in name.lower() or _is_schema(value))
    )


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict) and ("properties" in value or value.get("type") == "object")


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value, the names of members left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def repeated(texts: Iterable[Any], value: Any) -> tuple[str, ...]:
    """Which of the texts stand in the strings of a JSON value."""
    told = tuple(strings(value))
    spoken = [text for text in texts if isinstance(text, str) and text.strip()]
    return tuple(
        text
        for text in spoken
        if any(text == one or (len(text) >= SHORT and text in one) for one in told)
    )
