"""The locked entries of a world's tools, each tool asked for by a query of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import ABSENT, cap, is_withheld
from mcp_proxy_conformance.discovery.remediation import judge, mask, tells_user_act

SHORT = 20
"""Characters; a shorter text matches whole strings only, not parts of them."""


def own_query(bench: Bench, key: ToolKey) -> str:
    """Return the query that finds the tool alone: its unique word, or its name.

    The word serves if the tool was listed for it while callable and is not withheld now.
    """
    word = bench.tools[key].word
    indexed = not is_withheld(bench.states[key]) and bench.relevant(key, word)
    return word if word and indexed else key.tool


def ask(bench: Bench, key: ToolKey) -> Answer:
    """Ask for a tool by its own query, with the flag, in a request that is not shared."""
    return bench.discover(own_query(bench, key), include_disabled=True, limit=SHOW_LIMIT)


def own_answer(bench: Bench, key: ToolKey) -> Answer:
    """Return the flagged answer to the tool's own query, shared by checks of the same state."""
    return bench.asked(own_query(bench, key), include_disabled=True, limit=SHOW_LIMIT)


def named(answer: Answer, key: ToolKey) -> Entry | None:
    """Return the locked entry whose name contains the tool's, or None."""
    return next((entry for entry in answer.disabled if key.tool in entry.name), None)


def own_answers(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Answer]:
    """Ask for each tool by its own query; return the answers that list it as locked, by tool.

    They are repeated until all do so or the settle time is over; tools that are not listed are left
    out.
    """
    keys = tuple(keys)

    def look() -> dict[ToolKey, Answer]:
        answers = {key: own_answer(bench, key) for key in keys}
        return {key: answer for key, answer in answers.items() if named(answer, key)}

    return bench.until(look, lambda answers: len(answers) == len(keys))


def own_entries(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Entry]:
    """Return each tool's locked entry in the answer to its own query; others are left out."""
    entries = {key: named(answer, key) for key, answer in own_answers(bench, keys).items()}
    return {key: entry for key, entry in entries.items() if entry is not None}


def every_answer(bench: Bench, keys: Iterable[ToolKey]) -> list[tuple[ToolKey, Answer]]:
    """Return all answers that list each of these tools as locked, from every view and query.

    The requests are its own query, the words that it shares with others, limit 1, other endpoints,
    and agents of every server; tools that their own query does not list are left out.
    """
    answers = list(own_answers(bench, keys).items())
    views = onlookers(bench).values()
    for key, own in list(answers):
        words = [own.query, *bench.tools[key].groups]
        requests = [(bench, own.query, 1), *((bench, word, SHOW_LIMIT) for word in words[1:])]
        requests += [(view, own.query, SHOW_LIMIT) for view in views]
        for view, word, limit in requests:
            answer = view.asked(word, include_disabled=True, limit=limit)
            answers += [(key, answer)] if named(answer, key) else []
    return answers


def every_entry(bench: Bench, keys: Iterable[ToolKey]) -> list[tuple[ToolKey, Entry]]:
    """Return the entry of each tool in each answer of `every_answer`."""
    entries = [(key, named(answer, key)) for key, answer in every_answer(bench, keys)]
    return [(key, entry) for key, entry in entries if entry is not None]


def own_texts(bench: Bench, keys: Iterable[ToolKey]) -> dict[str, set[str]]:
    """Return the remediations that answers give for these tools, by status, names masked."""
    texts: dict[str, set[str]] = {}
    for key, answer in every_answer(bench, keys):
        status = answer.status(key)
        text = (answer.remediation or {}).get(status)
        if isinstance(text, str):
            texts.setdefault(status, set()).add(masked(bench, text, key))
    return texts


def places(bench: Bench, key: ToolKey) -> frozenset[str]:
    """Return where flagged answers to its own query and to its name have a tool.

    Statuses and `callable`; `absent` if neither has it. Empty when neither has it and the cap may
    be the cause: then nothing can be concluded.
    """
    queries = {own_query(bench, key), key.tool}
    answers = [bench.asked(q, include_disabled=True, limit=SHOW_LIMIT) for q in queries]
    statuses = frozenset(answer.status(key) for answer in answers) - {ABSENT}
    full = any(len(answer.disabled) >= cap(SHOW_LIMIT) for answer in answers)
    return statuses if statuses or full else frozenset({ABSENT})


def masked(bench: Bench, text: str, key: ToolKey) -> str:
    """Mask the tool's names and its server's descriptions of it, quoted or not, in the text."""
    changed = [s.description for s in bench.world.steps if s.change == key.tool and s.description]
    says = (bench.tools[key].description, *changed)
    quoted = [
        form[1:-1] for description in says for form in (json.dumps(description), repr(description))
    ]
    names = (key.server, key.tool, *says, *quoted)
    return mask(text, [f"{key.server}:{key.tool}", *names])


def schemas(members: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the members that hold a schema, judged by their name or their value.

    A flag, a number or a hash about a schema is not one; a schema may be sent as JSON text.
    """
    return tuple(
        name
        for name, value in members.items()
        if _is_schema(value) or ("schema" in name.lower() and _is_structured(value))
    )


def remedies(members: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of members named as a remediation, if more than a status or a flag."""
    return tuple(
        name
        for name, value in members.items()
        if "remed" in name.lower()
        and value
        and not isinstance(value, bool)
        and value not in STATUSES
    )


def _is_structured(value: Any) -> bool:
    is_json = isinstance(value, str) and value.lstrip().startswith(("{", "["))
    return bool(value) and (is_json or isinstance(value, dict | list))


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict) and ("properties" in value or value.get("type") == "object")


def strings(value: Any) -> Iterator[str]:
    """Yield every string inside a JSON value, except the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings(inner)


def other_maps(answer: Answer, member: str) -> tuple[str, ...]:
    """Return where an answer has a second remediation map, which it must not have.

    That is any object with a text of the map under its own status. `member` is the map's name.
    Structured content, which says the result once more, is not searched.
    """
    known = {
        s: t for s, t in (answer.remediation or {}).items() if isinstance(t, str) and t.strip()
    }
    if not known:
        return ()
    beside = {name: value for name, value in answer.body.items() if name != member}
    wrapping = answer.reply.value()
    around = {name: wrapping[name] for name in wrapping.keys() - {"content", "structuredContent"}}
    return (*_maps(beside, known, ""), *_maps(around, known, "result"))


def _maps(value: Any, known: Mapping[str, str], place: str) -> Iterator[str]:
    """Yield the place of each object in a value that has one of these texts under its status."""
    if isinstance(value, Mapping):
        if any(repeated([text], value[word]) for word, text in known.items() if word in value):
            yield place
        for name, inner in value.items():
            yield from _maps(inner, known, f"{place}/{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _maps(inner, known, f"{place}/{number}")


def advice(bench: Bench, key: ToolKey, entry: Entry) -> tuple[str, ...]:
    """Return the texts of an entry that tell the user to lift its lock, in whatever words.

    The tool's own texts are left out, and texts that only give a reason.
    """
    plain = (masked(bench, text, key) for text in strings(_beside_names(entry)))
    return tuple(text for text in plain if tells_user_act(text) and _is_remedy(text))


def _beside_names(entry: Entry) -> dict[str, Any]:
    return {n: v for n, v in entry.members.items() if n not in ("name", "server", "status")}


def _is_remedy(text: str) -> bool:
    return any(judge(text, status) == "conveys" for status in STATUSES)


def repeated(texts: Iterable[Any], value: Any) -> tuple[str, ...]:
    """Return those texts that occur in the strings of a JSON value."""
    contents = tuple(strings(value))
    spoken = [text for text in texts if isinstance(text, str) and text.strip()]
    return tuple(
        text
        for text in spoken
        if any(text == content or (len(text) >= SHORT and text in content) for content in contents)
    )
