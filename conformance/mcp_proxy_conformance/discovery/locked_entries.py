"""Locked entries of tools in flagged answers, and the requests that find them: each tool's own."""

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
    """Return the first locked entry whose name contains the tool's, or None."""
    return next((entry for entry in answer.disabled if key.tool in entry.name), None)


def own_answers(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Answer]:
    """Ask for each tool by its own query, with the flag; return answers that list it as locked.

    They are by tool, and repeated until all do so or the settle time is over; tools that are not
    listed are left out.
    """
    keys = tuple(keys)

    def look() -> dict[ToolKey, Answer]:
        """Return the answers to the tools' own queries that list them as locked, by tool."""
        answers = {key: own_answer(bench, key) for key in keys}
        return {key: answer for key, answer in answers.items() if named(answer, key)}

    return bench.until(look, lambda answers: len(answers) == len(keys))


def own_entries(bench: Bench, keys: Iterable[ToolKey]) -> dict[ToolKey, Entry]:
    """Return each tool's locked entry in the answer to its own query; others are left out."""
    entries = {key: named(answer, key) for key, answer in own_answers(bench, keys).items()}
    return {key: entry for key, entry in entries.items() if entry is not None}


def every_answer(bench: Bench, keys: Iterable[ToolKey]) -> list[tuple[ToolKey, Answer]]:
    """Return all answers that list each of these tools as locked, as pairs of tool and answer.

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
    """Return the pair of tool and locked entry for each answer that lists one of these tools.

    The requests are those of `every_answer`: its own query, shared words, limit 1, other views.
    """
    entries = [(key, named(answer, key)) for key, answer in every_answer(bench, keys)]
    return [(key, entry) for key, entry in entries if entry is not None]


def own_texts(bench: Bench, keys: Iterable[ToolKey]) -> dict[str, set[str]]:
    """Return the remediations that all answers give for these tools, by status, names masked.

    Answers are those of `every_answer`; what is no text is left out.
    """
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
