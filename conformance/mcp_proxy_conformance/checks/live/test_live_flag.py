"""The flag at a live endpoint: published, accepted, and without effect unless true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.calibration import differences
from mcp_proxy_conformance.discovery.input_schema import default, refusals
from mcp_proxy_conformance.discovery.live.leaks import leaks
from mcp_proxy_conformance.discovery.live.live_bench import ANSWER, ANSWERS, LiveBench
from mcp_proxy_conformance.verdict.result import Inconclusive

IN_THE_WAY = "no query brought equal answers before and after"


@requirement("FR-014.described")
@on(ANSWER)
def test_a_live_discovery_tool_tells_of_the_flag(bench: LiveBench) -> None:
    """Its own description holds the flag's name."""
    told = {"description": str(bench.tool.get("description") or "")}

    silent = {member: text for member, text in told.items() if FLAG not in text}

    assert silent == {}


@requirement("FR-001.declared")
@on(ANSWER)
def test_a_live_schema_takes_all_forms_of_the_flag(bench: LiveBench) -> None:
    """True, false and left out are valid arguments, and the flag is not on by default."""
    schema = bench.tool.get("inputSchema") or {}
    forms: list[dict[str, Any]] = [{}, {FLAG: True}, {FLAG: False}]

    seen = refusals(schema, [{bench.surface.query: "word"} | form for form in forms])
    bench.require(not all(seen), f"a query alone is no argument for the tool: {seen[0]}")

    assert (seen, default(schema) is True) == ([[], [], []], False)


@requirement("FR-001.accepts")
@on(ANSWERS)
def test_a_live_endpoint_takes_the_flag(bench: LiveBench) -> None:
    """Where the same query is answered without it, with it there is no error and a list too.

    Nothing readable counts only where that is all that the query brings with the flag: an answer
    may be lost on its way.
    """
    tools, usual, refused = bench.surface.members.tools, 0, {}
    for looks in bench.seen.rounds.values():
        plain = [one.answer for one in looks if one.form == "A"]
        well = all(one is not None and one.error is None and tools in one.body for one in plain)
        usual += well
        flagged = [one for one in looks if one.flagged and well]
        mute = all(one.answer is None for one in flagged)
        for one in flagged:
            given = one.answer
            if (given is None and mute) or (given and (given.error or tools not in given.body)):
                refused[one.label] = one.fault or (given and given.error) or f"no {tools}"
    bench.require(usual, f"discovery itself fails, or was not asked: {bench.seen.short}")

    assert refused == {}


@requirement("FR-001.default-off")
@on(ANSWERS)
def test_a_live_default_answer_lists_no_locked_tool(bench: LiveBench) -> None:
    """What is listed as locked before and after is not among the callable tools in between."""
    judged, listed = 0, {}
    for entries, between in bench.bracketed():
        locked = {bench.key(entry) for entry in entries}
        for look, answer in between:
            judged += 1
            both = sorted(map(str, locked & set(bench.callables(answer))))
            if both or answer.disabled:
                listed[look.label] = both or f"{len(answer.disabled)} locked entries"
    bench.require(
        judged, "nothing was listed as locked throughout; name a tool with --expect", "not_named"
    )

    assert listed == {}


@requirement("FR-002.no-section")
@on(ANSWER)
def test_a_live_default_answer_has_no_section(bench: LiveBench) -> None:
    """The members that hold locked tools and remediation under the flag are absent without it."""
    bench.revealing()
    names = (bench.surface.members.disabled, bench.surface.members.remediation)

    told = {look.label: [n for n in names if n in answer.body] for look, answer in bench.usual()}

    assert {label: found for label, found in told.items() if found} == {}


@requirement("FR-002.absent-is-false")
@on(ANSWERS)
def test_a_live_endpoint_takes_false_for_absent(bench: LiveBench) -> None:
    """Byte for byte, what moves between equal requests left out."""
    equal, unequal = 0, {}
    for looks in bench.seen.rounds.values():
        exact = {f: [one.exact for one in looks if one.form == f and one.exact] for f in "AF"}
        if [len(exact["A"]), len(exact["F"])] != [3, 2]:
            continue
        try:
            found = differences(exact["A"], exact["F"])
        except Inconclusive:
            continue
        equal += not found and any(one.answer and one.answer.tools for one in looks)
        if len(found) == len(exact["F"]) and len({one.at for one in found}) == 1:
            unequal[next(one.label for one in looks if one.form == "F")] = found[0]
    bench.require(
        equal or unequal, f"{IN_THE_WAY}, or found a callable tool; use --query", "not_named"
    )

    assert unequal == {}


@requirement("FR-006.callables")
@on(ANSWERS)
def test_the_flag_leaves_live_callable_tools_as_they_are(bench: LiveBench) -> None:
    """The same names in the same order, none displaced."""
    judged, changed = 0, {}
    for look, usual, _, flagged in bench.rounds():
        before, after = _callables(bench, usual), _callables(bench, flagged)
        if len(before) == len(after) == 1:
            judged += any(before)
            if before != after:
                changed[look.label] = {"usual": before, "flagged": after}
    bench.require(
        judged or changed, f"{IN_THE_WAY}, or found a callable tool; use --query", "not_named"
    )

    assert changed == {}


@requirement("FR-002.no-locked-names")
@on(ANSWERS)
def test_a_live_default_answer_names_no_locked_tool(bench: LiveBench) -> None:
    """Neither name nor description of what is locked before and after stands in between."""
    found = leaks(bench, noted=False)

    bench.require(
        found.judged, "nothing was listed as locked throughout; use --expect", "not_named"
    )

    assert found.told == {}


def _callables(bench: LiveBench, answers: Iterable[Answer]) -> list[list[str]]:
    """The different lists of callable tools that these answers tell."""
    told = [[str(key) for key in bench.callables(answer)] for answer in answers]
    return [one for at, one in enumerate(told) if one not in told[:at]]
