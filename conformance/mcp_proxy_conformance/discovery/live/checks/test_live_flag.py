"""The flag at an endpoint that its user runs: published, accepted, without effect unless true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.calibration import differences
from mcp_proxy_conformance.discovery.live.leaks import leaks
from mcp_proxy_conformance.discovery.live.live_bench import ONE_ANSWER, SEVERAL_ANSWERS, LiveBench
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.input_schema import default, refusals

IN_THE_WAY = "no query got identical answers before and after"


@requirement("FR-014.described")
@on(ONE_ANSWER)
def test_a_live_discovery_tool_tells_of_the_flag(bench: LiveBench) -> None:
    """The discovery tool's own description contains the flag's name."""
    texts = {bench.surface.discovery_tool: str(bench.tool.get("description") or "")}

    silent = {tool: text for tool, text in texts.items() if FLAG not in text}

    assert silent == {}


@requirement("FR-001.declared")
@on(ONE_ANSWER)
def test_a_live_schema_takes_all_forms_of_the_flag(bench: LiveBench) -> None:
    """The schema accepts the flag true, false and absent, and does not turn it on by default.

    Arguments are a query and the flag. Inconclusive if the schema refuses all three.
    """
    schema = bench.tool.get("inputSchema") or {}
    forms: dict[str, dict[str, Any]] = {
        "flag left out": {}, "flag true": {FLAG: True}, "flag false": {FLAG: False},
    }  # fmt: skip

    messages = refusals(schema, [{bench.surface.query: "word"} | form for form in forms.values()])
    bench.require(
        not all(messages),
        f"the schema refuses a request with a query alone: {'; '.join(messages[0])}",
    )

    refused = dict(zip(forms, messages, strict=True))
    observed = {**refused, "flag true by default": default(schema) is True}
    assert observed == {**{form: [] for form in forms}, "flag true by default": False}


@requirement("FR-001.accepts")
@on(SEVERAL_ANSWERS)
def test_a_live_endpoint_takes_the_flag(bench: LiveBench) -> None:
    """A query that is answered without the flag gets a list of tools and no error with it.

    An unreadable answer counts only if all flagged answers to its query are unreadable, since one
    may be lost on its way. Inconclusive if no query was answered without the flag.
    """
    tools, usual = bench.surface.members.tools, 0
    refused: dict[str, object] = {}
    for looks in bench.survey.rounds.values():
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
                refused[look.label] = look.fault or (answer and answer.error) or {tools: None}
    bench.require(
        usual,
        ": ".join(filter(None, ("no query was answered without the flag", bench.survey.short))),
    )

    assert refused == {}


@requirement("FR-001.default-off")
@on(SEVERAL_ANSWERS)
def test_a_live_default_answer_lists_no_locked_tool(bench: LiveBench) -> None:
    """A tool listed as locked before and after a default answer is not callable in that answer.

    That answer lists no locked entry either. Inconclusive if no tool was listed as locked each
    time.
    """
    judged, listed = 0, {}
    for entries, between in bench.bracketed():
        locked = {bench.key(entry) for entry in entries}
        for look, answer in between:
            judged += 1
            both = sorted(map(str, locked & set(bench.callables(answer))))
            if both or answer.disabled:
                listed[look.label] = both or sorted(map(str, bench.statuses(answer)))
    bench.require(
        judged, "no tool was listed as locked each time; name one with --expect", "not_named"
    )

    assert listed == {}


@requirement("FR-002.no-section")
@on(ONE_ANSWER)
def test_a_live_default_answer_has_no_section(bench: LiveBench) -> None:
    """The members for locked tools and remediation are absent without the flag.

    Inconclusive if no answer with the flag lists a locked tool.
    """
    bench.revealing()
    names = (bench.surface.members.disabled, bench.surface.members.remediation)

    present = {
        look.label: members
        for look, answer in bench.usual()
        if (members := [name for name in names if name in answer.body])
    }

    assert present == {}


@requirement("FR-002.absent-is-false")
@on(SEVERAL_ANSWERS)
def test_a_live_endpoint_takes_false_for_absent(bench: LiveBench) -> None:
    """The flag false and absent get the same bytes, values that vary between equal requests aside.

    A difference counts if both answers with the flag false have it at the same member.
    Inconclusive if no query gets equal answers to equal requests, or finds a callable tool.
    """
    equal, unequal, usual = 0, {}, {}
    for looks in bench.survey.rounds.values():
        exact = {f: [look.exact for look in looks if look.form == f and look.exact] for f in "AF"}
        if [len(exact["A"]), len(exact["F"])] != [3, 2]:
            continue
        try:
            moved = differences(exact["A"], exact["F"])
        except Inconclusive:
            continue
        equal += not moved and any(look.answer and look.answer.tools for look in looks)
        if len(moved) == len(exact["F"]) and len({difference.at for difference in moved}) == 1:
            label = next(look.label for look in looks if look.form == "F")
            place = f"{moved[0].at} from byte {moved[0].offset} on"
            unequal[label], usual[label] = {place: moved[0].actual}, {place: moved[0].usual}
    bench.require(
        equal or unequal,
        f"{IN_THE_WAY}, or found a callable tool; name others with --query",
        "not_named",
    )

    assert unequal == usual


@requirement("FR-006.callables")
@on(SEVERAL_ANSWERS)
def test_the_flag_leaves_live_callable_tools_as_they_are(bench: LiveBench) -> None:
    """With the flag, callable tools have the same names in the same order as without it.

    Only queries whose repeated answers agree are judged; inconclusive if none of them finds a
    callable tool.
    """
    judged, changed, unchanged = 0, {}, {}
    for look, usual, _, flagged in bench.rounds():
        before, after = _callables(bench, usual), _callables(bench, flagged)
        if len(before) == len(after) == 1:
            judged += any(before)
            if before != after:
                changed[look.label], unchanged[look.label] = after[0], before[0]
    bench.require(
        judged or changed,
        f"{IN_THE_WAY}, or found a callable tool; name others with --query",
        "not_named",
    )

    assert changed == unchanged


@requirement("FR-002.no-locked-names")
@on(SEVERAL_ANSWERS)
def test_a_live_default_answer_names_no_locked_tool(bench: LiveBench) -> None:
    """A default answer has no name or description of a tool locked before and after it.

    Callable entries, echoes of the query, short texts, and texts that answers to a word of no tool
    have as well do not count. Inconclusive if no tool was listed as locked each time.
    """
    leaked = leaks(bench, noted=False)

    bench.require(
        leaked.judged, "no tool was listed as locked each time; name one with --expect", "not_named"
    )

    assert leaked.texts == {}


def _callables(bench: LiveBench, answers: Iterable[Answer]) -> list[list[str]]:
    """Return the distinct lists of callable tools in these answers, in order.

    There is one list if all answers agree.
    """
    listings = [[str(key) for key in bench.callables(answer)] for answer in answers]
    return [listing for at, listing in enumerate(listings) if listing not in listings[:at]]
