"""Locked entries of tools in flagged answers, found by each tool's own query."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.agents import onlookers
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.contents import masked
from mcp_proxy_conformance.discovery.oracle import ABSENT, cap, is_withheld


def own_query(bench: Bench, key: ToolKey) -> str:
    """Return the query that finds the tool alone: its unique word, or else its name.

    The word serves if the tool was listed for it while callable and is not withheld now.
    """
    word = bench.tools[key].word
    indexed = not is_withheld(bench.states[key]) and bench.relevant(key, word)
    return word if word and indexed else key.tool


def ask(bench: Bench, key: ToolKey) -> Answer:
    """Ask for a tool by its own query, with the flag at limit 100, in a new request."""
    return bench.widest(own_query(bench, key), include_disabled=True)


def own_answer(bench: Bench, key: ToolKey) -> Answer:
    """Return the flagged answer to the tool's own query, its unique word or its name, at limit 100.

    It is shared with other checks until the target changes.
    """
    return bench.asked(own_query(bench, key), include_disabled=True, limit=SHOW_LIMIT)


def named(answer: Answer, key: ToolKey) -> Entry | None:
    """Return the first locked entry of an answer whose name contains the tool's, or None."""
    return next((entry for entry in answer.disabled if key.tool in entry.name), None)


def own_answers(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Answer]:
    """Return, by tool, the flagged answers to each tool's own query that list it as locked.

    All are asked again until each tool is listed or the settle time is over; tools that are not
    listed are left out. A tool's own query is its unique word, or its name.
    """
    keys = tuple(keys)

    def look() -> dict[ToolKey, Answer]:
        """Return the answers that list the tools as locked, by tool, as of now."""
        answers = {key: own_answer(bench, key) for key in keys}
        return {key: answer for key, answer in answers.items() if named(answer, key)}

    return bench.until(look, lambda answers: len(answers) == len(keys))


def own_entries(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Entry]:
    """Return each tool's locked entry in the answer to its own query; tools without are absent."""
    entries = {key: named(answer, key) for key, answer in own_answers(bench, keys).items()}
    return {key: entry for key, entry in entries.items() if entry is not None}


def every_answer(bench: Bench, keys: Iterable[ToolKey]) -> list[tuple[ToolKey, Answer]]:
    """Return (tool, answer) for all answers that list one of these tools as locked.

    Each is asked for by its own query, by words that it shares with others, at limit 1, at
    other endpoints, and by agents that see every server; tools that their own query does not list
    are left out.
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
    """Return (tool, locked entry) for each answer that lists one of these tools as locked.

    Each is asked for by its own query and by words that it shares, also at limit 1, at other
    endpoints, and by agents that see every server.
    """
    entries = [(key, named(answer, key)) for key, answer in every_answer(bench, keys)]
    return [(key, entry) for key, entry in entries if entry is not None]


def own_texts(bench: Bench, keys: Iterable[ToolKey]) -> dict[str, set[str]]:
    """Return the remediation texts that all answers give for these tools, by status, masked.

    Answers are those to a tool's own query, also at limit 1 and from other views, and to words that
    it shares, if they list it as locked. Values that are not texts are left out.
    """
    texts: dict[str, set[str]] = {}
    for key, answer in every_answer(bench, keys):
        status = answer.status(key)
        text = (answer.remediation or {}).get(status)
        if isinstance(text, str):
            texts.setdefault(status, set()).add(masked(bench, text, key))
    return texts


def places(bench: Bench, key: ToolKey) -> frozenset[str]:
    """Return where flagged answers to a tool's own query and to its name have it.

    That is statuses and `callable`; `absent` if neither has it. Empty if neither has it and the
    cap may be the cause: then nothing can be concluded.
    """
    queries = {own_query(bench, key), key.tool}
    answers = [bench.asked(q, include_disabled=True, limit=SHOW_LIMIT) for q in queries]
    statuses = frozenset(answer.status(key) for answer in answers) - {ABSENT}
    full = any(len(answer.disabled) >= cap(SHOW_LIMIT) for answer in answers)
    return statuses if statuses or full else frozenset({ABSENT})
