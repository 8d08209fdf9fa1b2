"""Withheld texts of quarantined, pending and changed tools, absent from answers: FR-003, FR-004."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.contents import strings
from mcp_proxy_conformance.discovery.locked_entries import own_entries
from mcp_proxy_conformance.discovery.oracle import is_withheld
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import Breach

MIXED = stage("mixed")
NOWHERE = "quolvexi"

Place = str | tuple[str, str]


@requirement("FR-003.canary")
@on(MIXED)
def test_no_discovery_answer_tells_what_withheld_tools_hold(bench: Bench) -> None:
    """No answer contains text of a withheld tool, with or without the flag.

    What the query contains does not count, and a leak must show again after the settle time.
    Inconclusive if the flag reveals no withheld tool.
    """
    bench.needs_one_of("approval", "quarantine")
    _expect_withheld(bench)
    queries = {*bench.world.queries(), *(key.tool for key in _withheld(bench)), *_planted(bench)}

    _expect_no_leak(bench, queries, (True, ABSENT))


@requirement("FR-004.unsearched")
@on(MIXED)
def test_no_withheld_text_finds_its_tool(bench: Bench) -> None:
    """Words of withheld texts reveal their tool only if a word that occurs nowhere does, too.

    The words are planted canaries, asked for with the flag at limit 100. Inconclusive if the
    flag reveals no withheld tool by its name.
    """
    bench.needs_one_of("approval", "quarantine")
    _expect_withheld(bench)
    unasked = {*bench.revealed(NOWHERE)}

    moved = {
        in_words({"query": word}): str(key)
        for word, key in _planted(bench).items()
        if key in bench.revealed(word) and key not in unasked
    }

    assert moved == {}


@requirement("FR-003.canary~listing")
@on(MIXED)
def test_the_server_listing_tells_nothing_of_withheld_tools(bench: Bench) -> None:
    """The listing contains no canary of a withheld tool, nor does its structured content.

    Inconclusive if no call of a withheld tool was refused.
    """
    bench.needs_one_of("approval", "quarantine")
    bench.require(_planted(bench), "no call of a withheld tool was refused")

    leaked = _by_place(_canaries_in(bench, _withheld(bench), bench.list().reply.value()))

    assert leaked == {}


@requirement("FR-003.canary~rejection")
@on(MIXED)
def test_rejections_tell_nothing_of_withheld_tools(bench: Bench) -> None:
    """Answers to calls of withheld tools contain none of their canaries.

    Inconclusive if no call of a withheld tool was refused.
    """
    bench.needs_one_of("approval", "quarantine")
    bench.require(_planted(bench), "no call of a withheld tool was refused")

    texts = [bench.call(key).text for key in _withheld(bench)]
    leaked = _by_place(_canaries_in(bench, _withheld(bench), texts))

    assert leaked == {}


@requirement("FR-003.canary~tools-list")
@on(MIXED)
def test_the_targets_own_tool_list_tells_nothing_of_withheld_tools(bench: Bench) -> None:
    """No declared endpoint's tools/list contains text of a withheld tool.

    Text is a planted canary. Inconclusive if no call of a withheld tool was refused.
    """
    bench.needs_one_of("approval", "quarantine")
    bench.require(_planted(bench), "no call of a withheld tool was refused")

    clients = [bench.started.client(endpoint=endpoint) for endpoint in bench.surface.endpoints]
    lists = [str(client.tools()) for client in clients]
    leaked = _by_place(_canaries_in(bench, _withheld(bench), lists))

    assert leaked == {}


def _withheld(bench: Bench) -> list[ToolKey]:
    """Return the refused tools whose texts are withheld: quarantined, pending or changed."""
    return [key for key in bench.armed.refused if is_withheld(bench.states[key])]


def _planted(bench: Bench) -> dict[str, ToolKey]:
    """Map each canary in the texts of withheld tools to its tool."""
    return {word: key for key in _withheld(bench) for word in bench.tools[key].canaries}


def _expect_withheld(bench: Bench) -> None:
    """Raise Inconclusive unless the flag reveals a withheld tool with a canary to its own query."""
    planted = set(_planted(bench).values())
    revealed = own_entries(bench, planted)
    bench.require(revealed, f"the flag revealed none of {len(planted)} withheld tools")


def _expect_no_leak(bench: Bench, queries: Iterable[str], flags: tuple[object, ...]) -> None:
    """Raise Breach if answers still have canaries of withheld tools after the settle time.

    Each query is sent with each flag; a canary in the query itself does not count. A leak need not
    be in every answer: after a first one, all are asked for up to three times more, and only those
    answers count.
    """
    if not _leaks(bench, queries, flags):
        return
    for _ in range(3):
        bench.settle()
        if leaks := _leaks(bench, queries, flags):
            raise Breach(leaks)


def _by_place(facts: Iterable[tuple[Place, Any]]) -> dict[Place, list[Any]]:
    """Group (place, value) pairs: the distinct values of each place, in the order they come."""
    values: dict[Place, list[Any]] = {}
    for place, value in facts:
        listed = values.setdefault(place, [])
        listed += [] if value in listed else [value]
    return values


def _canaries_in(bench: Bench, keys: Iterable[ToolKey], value: object) -> list[tuple[str, str]]:
    """Return (tool, canary) for each canary of these tools that occurs in `value`, of any type."""
    text = "\n".join(strings(value)) + str(value)
    return [(str(key), word) for key in keys for word in bench.tools[key].canaries if word in text]


def _leaks(bench: Bench, queries: Iterable[str], flags: tuple[object, ...]) -> dict[str, list[str]]:
    """Return the canaries of withheld tools in answers, by request; empty if there are none.

    Each query is sent with each of the flags; a canary in the query itself is not a leak.
    """
    planted, leaks = _planted(bench), dict[str, list[str]]()
    for query in sorted(queries):
        for flag in flags:
            answer = bench.asked(query, include_disabled=flag, limit=100)
            raw = answer.reply.raw.decode("utf-8", "replace")
            suspects = [word for word in planted if word in raw and word not in query]
            text = answer.text_without_echo() if suspects and answer.error is None else raw
            if leaked := [word for word in suspects if word in text]:
                sent = {} if flag is ABSENT else {"include_disabled": flag}
                leaks[in_words({"query": query, "limit": 100} | sent)] = leaked
    return leaks
