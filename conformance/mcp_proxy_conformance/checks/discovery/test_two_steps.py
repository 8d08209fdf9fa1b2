"""From a locked need to its remedy in one more request: SC-002, SC-006."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proxy_conformance.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.notes import leads_on, on_stages_of_locked_tools, owed
from mcp_proxy_conformance.discovery.surface import FLAG, STATUSES
from mcp_proxy_conformance.oracle import LOCKED_CAP, is_withheld
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage
from mcp_proxy_conformance.world import ToolKey

ALONE = stage("alone")


@requirement("SC-002.two-steps")
@on(ALONE)
def test_following_the_note_yields_the_tool_its_status_and_its_remedy(bench: Bench) -> None:
    """The same query, with the flag that the note names, tells all three."""
    asked = {key: _need(bench, key) for key in _wanted(bench)}
    led = {key: need for key, need in asked.items() if leads_on(bench.discover(need))}
    bench.require(led, "no note led to the flag")

    answers = {key: bench.discover(need, include_disabled=True) for key, need in led.items()}
    missing = {key: lack for key, answer in answers.items() if (lack := _missing(answer, key))}

    assert missing == {}


@requirement("SC-002.two-steps")
@on(ALONE)
def test_following_the_rejection_yields_the_tool_its_status_and_its_remedy(bench: Bench) -> None:
    """A rejection that names the flag or the discovery tool leads to all three at once."""
    pointers = (FLAG, bench.surface.discovery_tool)
    led = [k for k in _wanted(bench) if any(one in bench.armed.refused[k] for one in pointers)]
    bench.require(led, "no rejection led to discovery")

    answers = {key: bench.discover(_need(bench, key), include_disabled=True) for key in led}
    missing = {key: lack for key, answer in answers.items() if (lack := _missing(answer, key))}

    assert missing == {}


@requirement("SC-006.every-kind")
@on_stages_of_locked_tools
@pytest.mark.parametrize("limit", [1, 3, 15, 100, ABSENT])
def test_every_kind_and_number_of_locked_matches_leads_to_the_flag(
    bench: Bench, queries: tuple[str, ...], limit: Any
) -> None:
    """Whatever locks the matches, however many there are, the note names the flag."""
    answers = owed(bench, queries, limit)

    lacking = {query: one.note for query, one in answers.items() if not leads_on(one)}

    assert lacking == {}


def _wanted(bench: Bench) -> list[ToolKey]:
    """Locked tools to ask for: some by config and by the user, and all that are withheld."""
    others = [k for k in bench.armed.refused if is_withheld(bench.states[k])]
    return [*bench.armed.samples(), *others]


def _need(bench: Bench, key: ToolKey) -> str:
    """The query of an agent that needs the tool: its word, or its name where it is withheld."""
    return key.tool if is_withheld(bench.states[key]) else bench.tools[key].word


def _missing(answer: Answer, key: ToolKey) -> list[str]:
    """Which of existence, reason and remedy the answer does not tell; none if it is full."""
    status = answer.statuses().get(key)
    if status is None and len(answer.disabled) >= LOCKED_CAP:
        return []
    remedy = (answer.remediation or {}).get(str(status))
    told = {
        "the tool": key in answer.statuses(),
        "its status": status in STATUSES,
        "its remedy": isinstance(remedy, str) and bool(remedy.strip()),
    }
    return [part for part, there in told.items() if not there]
