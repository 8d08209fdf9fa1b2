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
    """The discovery tool's own description contains the flag's name."""
    texts = {"description": str(bench.tool.get("description") or "")}

    silent = {member: text for member, text in texts.items() if FLAG not in text}

    assert silent == {}


@requirement("FR-001.declared")
@on(ANSWER)
def test_a_live_schema_takes_all_forms_of_the_flag(bench: LiveBench) -> None:
    """True, false and left out are valid arguments, and the flag is not on by default."""
    schema = bench.tool.get("inputSchema") or {}
    forms: list[dict[str, Any]] = [{}, {FLAG: True}, {FLAG: False}]

    refused = refusals(schema, [{bench.surface.query: "word"} | form for form in forms])
    bench.require(not all(refused), f"a query alone is no argument for the tool: {refused[0]}")

    assert (refused, default(schema) is True) == ([[], [], []], False)


@requirement("FR-001.accepts")
@on(ANSWERS)
def test_a_live_endpoint_takes_the_flag(bench: LiveBench) -> None:
    """A query that is answered without the flag gets no error with it, and a list of tools too.

    An unreadable answer counts only where all answers with the flag are unreadable: an answer
    may be lost on its way.
    """
    tools, usual, refused = bench.surface.members.tools, 0, {}
    for looks in bench.seen.rounds.values():
        plain = [look.answer for look in looks if look.form == "A"]
        well = all(
            answer is not None and answer.error is None and tools in answer.body for answer in plain
        )
        usual += well
        flagged = [look for look in looks if look.flagged and well]
        mute = all(look.answer is None for look in flagged)
        for look in flagged:
            answer = look.answer
            if (answer is None and mute) or (answer and (answer.error or tools not in answer.body)):
                refused[look.label] = look.fault or (answer and answer.error) or f"no {tools}"
    bench.require(usual, f"discovery itself fails, or was not asked: {bench.seen.short}")

    assert refused == {}


@requirement("FR-001.default-off")
@on(ANSWERS)
def test_a_live_default_answer_lists_no_locked_tool(bench: LiveBench) -> None:
    """Tools listed as locked before and after are not among the callable tools in between."""
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

    present = {look.label: [n for n in names if n in answer.body] for look, answer in bench.usual()}

    assert {label: members for label, members in present.items() if members} == {}


@requirement("FR-002.absent-is-false")
@on(ANSWERS)
def test_a_live_endpoint_takes_false_for_absent(bench: LiveBench) -> None:
    """The flag false and absent get the same bytes, but for what varies between equal requests."""
    equal, unequal = 0, {}
    for looks in bench.seen.rounds.values():
        exact = {f: [look.exact for look in looks if look.form == f and look.exact] for f in "AF"}
        if [len(exact["A"]), len(exact["F"])] != [3, 2]:
            continue
        try:
            moved = differences(exact["A"], exact["F"])
        except Inconclusive:
            continue
        equal += not moved and any(look.answer and look.answer.tools for look in looks)
        if len(moved) == len(exact["F"]) and len({difference.at for difference in moved}) == 1:
            unequal[next(look.label for look in looks if look.form == "F")] = moved[0]
    bench.require(
        equal or unequal, f"{IN_THE_WAY}, or found a callable tool; use --query", "not_named"
    )

    assert unequal == {}


@requirement("FR-006.callables")
@on(ANSWERS)
def test_the_flag_leaves_live_callable_tools_as_they_are(bench: LiveBench) -> None:
    """Callable tools have the same names in the same order with the flag, none displaced."""
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
    """No name or description of a tool that is locked before and after occurs in between."""
    leaked = leaks(bench, noted=False)

    bench.require(
        leaked.judged, "nothing was listed as locked throughout; use --expect", "not_named"
    )

    assert leaked.told == {}


def _callables(bench: LiveBench, answers: Iterable[Answer]) -> list[list[str]]:
    """The distinct lists of callable tools in these answers."""
    listings = [[str(key) for key in bench.callables(answer)] for answer in answers]
    return [listing for at, listing in enumerate(listings) if listing not in listings[:at]]
