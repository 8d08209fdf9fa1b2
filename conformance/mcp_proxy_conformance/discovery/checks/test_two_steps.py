"""From a note or refusal, by one query with `include_disabled`, to the remedy: SC-002, SC-006."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import FLAG, STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.note import leads_on, on_stages_of_locked_tools, owed
from mcp_proxy_conformance.discovery.oracle import LOCKED_CAP, is_withheld
from mcp_proxy_conformance.discovery.requests import in_words

ALONE = stage("alone")
WANTED = ["tool", "status", "remediation"]
FLAGGED = {"include_disabled": True, "limit": SHOW_LIMIT}


@requirement("SC-002.two-steps")
@on_stages_of_locked_tools()
def test_following_the_note_yields_the_tool_its_status_and_its_remedy(
    bench: Bench, queries: tuple[str, ...]
) -> None:
    """The same query, with the flag that the note names, returns tool, status and remedy.

    Inconclusive without a note that names the flag, or if in each answer withheld tools take all
    ten places; not applicable if callable tools answer every query, so that no note is owed.
    """
    led = [
        query
        for query in queries
        if leads_on(bench.discover(query))
        and any(bench.relevant(key, query) for key in bench.armed.refused)
    ]
    if not led:
        owed(bench, queries)
    bench.require(led, "no note named the flag")

    answers = {query: bench.widest(query, include_disabled=True) for query in led}
    matches = {
        q: [k for k in answer.statuses() if bench.relevant(k, q)] for q, answer in answers.items()
    }
    yielded = {
        in_words({"query": q} | FLAGGED): _parts_present(bench, answer, *matches[q])
        for q, answer in answers.items()
        if matches[q] or not _is_full(bench, answer)
    }
    bench.require(yielded, "withheld tools left no room for a match")

    assert yielded == dict.fromkeys(yielded, WANTED)


@requirement("SC-002.two-steps")
@on(ALONE)
def test_following_the_rejection_yields_the_tool_its_status_and_its_remedy(bench: Bench) -> None:
    """If a rejection points to discovery, one flagged call returns tool, status and remedy.

    Inconclusive if no rejection names the flag or the discovery tool, or if other matches and
    withheld tools leave no room for any of these tools.
    """
    pointers = (FLAG, bench.surface.discovery_tool)
    led = [
        k
        for k in _tools_to_ask_for(bench)
        if any(pointer in bench.refusal(k) for pointer in pointers)
    ]
    bench.require(led, "no rejection named the flag or the discovery tool")

    answers = {key: bench.widest(_query_for(bench, key), include_disabled=True) for key in led}
    yielded = {
        (str(key), in_words({"query": answer.query} | FLAGGED)): (
            _parts_present(bench, answer, key)
        )
        for key, answer in answers.items()
        if key in answer.statuses() or not _is_full(bench, answer)
    }
    bench.require(yielded, "other locked tools left no room for the rejected ones")

    assert yielded == dict.fromkeys(yielded, WANTED)


def _tools_to_ask_for(bench: Bench) -> list[ToolKey]:
    """Return locked tools to ask for: some by config and by the user, and all withheld ones.

    Tools that their query did not find while they were callable are left out.
    """
    others = [k for k in bench.armed.refused if is_withheld(bench.states[k])]
    candidates = (*bench.armed.samples(), *others)
    return [key for key in candidates if bench.relevant(key, _query_for(bench, key))]


def _query_for(bench: Bench, key: ToolKey) -> str:
    """Return the query of an agent that needs the tool: its word, or its name if it is withheld."""
    return key.tool if is_withheld(bench.states[key]) else bench.tools[key].word


def _is_full(bench: Bench, answer: Answer) -> bool:
    """Whether the section has ten tools that it may list: those that match, and withheld ones."""
    locked = [key for key in answer.statuses() if key in bench.states]
    due = [k for k in locked if bench.relevant(k, answer.query) or is_withheld(bench.states[k])]
    return len(due) >= LOCKED_CAP


def _parts_present(bench: Bench, answer: Answer, *keys: ToolKey) -> list[str]:
    """Return those of WANTED that the answer has for these tools, in its order.

    "tool" needs all of them, or one if the section is full; status and remediation are judged on
    those that are shown, and count as present if none is.
    """
    statuses = answer.statuses()
    shown = [statuses[key] for key in keys if key in statuses]
    remedies = [(answer.remediation or {}).get(str(status)) for status in shown]
    present = (
        bool(shown) and (len(shown) == len(keys) or _is_full(bench, answer)),
        all(status in STATUSES for status in shown),
        all(isinstance(text, str) and text.strip() for text in remedies),
    )
    return [part for part, holds in zip(WANTED, present, strict=True) if holds]
