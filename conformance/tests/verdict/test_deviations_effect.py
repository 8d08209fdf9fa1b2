"""Known failures without a run: waived results, stale entries, headline, report, output."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import needs
import pytest
from hand_written_reports import typed

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.report.document import plain
from mcp_proxy_conformance.report.from_record import report_of
from mcp_proxy_conformance.report.terminal import render
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.deviations.waivers import stray, waived, waivers
from mcp_proxy_conformance.verdict.outcome import VIOLATED, Outcome
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts
from mcp_proxy_conformance.verdict.result import Blame, Result, Verdict


def deviation(wanted: str, line: int = 1) -> Deviation:
    """Return a deviation for that id at that line of known.toml, which expires in 2999."""
    return Deviation(
        id=wanted,
        reason="Known since the rewrite.",
        issue="https://example.com/1",
        expires=date(2999, 1, 2),
        file="known.toml",
        line=line,
    )


def result(verdict: Verdict, *clauses: str, blame: Blame = "", **members: Any) -> Result:
    """Return a required result of test_x on these clauses, or on ROB.flag.

    `members` replace members of the Result.
    """
    made = Result(
        check="test_x",
        case=None,
        clauses=clauses or ("ROB.flag",),
        level="required",
        verdict=verdict,
        reason="" if verdict == "pass" else "because",
        stage="hostile",
        blame=blame,
    )
    return msgspec.structs.replace(made, **members)


def reported(
    *deviations: Deviation, other: tuple[Result, ...] = (), **state: Any
) -> dict[str, Any]:
    """Return the report of a robustness run with the results `other`; all other clauses pass.

    The deviations are applied; `state` sets members of the run's state. It must fit the schema.
    """
    judged = profile("robustness")
    cited = {clause for broken_result in other for clause in broken_result.clauses}
    rest = [
        result("pass", clause_id, check="test_y")
        for clause_id in judged.clauses
        if clause_id not in cited
    ]
    results = [waived(made_result, deviations) for made_result in (*other, *rest)]
    run = RunRecord(
        target=TargetFacts(kind="reference", capabilities=CAPABILITIES),
        profile=judged,
        state=RunState(**({"results": results} | state)),
        deviations=deviations,
    )
    document = plain(report_of(run))
    schema = msgspec.json.decode((schemas_dir() / "report.schema.json").read_bytes())
    jsonschema.validate(msgspec.json.decode(msgspec.json.encode(document)), schema)
    return document


FAILS = result("fail")
BOTH = result("fail", "ROB.flag", "ROB.query")


@needs.resilience
@pytest.mark.parametrize(
    ("judged", "ids", "verdict"),
    [
        (FAILS, ["ROB.flag"], "waived"),
        (FAILS, ["ROB.query"], "fail"),
        (FAILS, [], "fail"),
        (BOTH, ["ROB.flag"], "fail"),
        (BOTH, ["ROB.query", "ROB.flag"], "waived"),
        (BOTH, ["test_x"], "waived"),
        (FAILS, ["test_other"], "fail"),
        (result("fail", case="11"), ["test_x"], "waived"),
        (result("fail", case="11"), ["test_x[11]"], "waived"),
        (result("fail", case="11"), ["robustness/test_a.py::test_x[11]"], "waived"),
        (result("fail", case="11"), ["test_x[1]"], "fail"),
        (result("fail", case="remediation-both"), ["remediation-both"], "waived"),
        (result("fail", case="again-claims"), ["again-claims"], "waived"),
        (result("fail", case="again-claims"), ["again-denied"], "fail"),
        (result("error"), ["ROB.flag", "test_x"], "error"),
        (result("inconclusive"), ["ROB.flag", "test_x"], "inconclusive"),
        (result("not_applicable"), ["ROB.flag"], "not_applicable"),
        (result("pass"), ["ROB.flag"], "pass"),
        (result("fail", "SUITE.changed"), ["SUITE.changed", "test_x"], "fail"),
        (result("fail", "FR-006.fills", level="advisory"), ["test_x"], "fail"),
    ],
)
def test_only_a_failure_that_is_named_whole_is_waived(
    judged: Result, ids: list[str], verdict: str
) -> None:
    """A failure is waived if its check, its case or all of its clauses are named by deviations.

    Other verdicts, advisory results and failures of the suite's own clauses are not changed.
    """
    counted = waived(judged, [deviation(wanted) for wanted in ids])

    assert counted.verdict == verdict


def test_a_waived_result_says_why_and_what_was_seen() -> None:
    """A waived result has the distinct reasons and issues of its deviations before its own.

    Its evidence stays.
    """
    counted = waived(
        msgspec.structs.replace(BOTH, evidence=("observed: 1",)),
        [deviation("ROB.flag"), deviation("ROB.query")],
    )

    assert counted.reason == "Known since the rewrite. (https://example.com/1): because"
    assert counted.evidence == ("observed: 1",)


UNASKED = result("not_applicable", cause="not_asked")
UNDECLARED = result("not_applicable", reason="restart is not declared")


@pytest.mark.parametrize(
    ("ids", "results", "states"),
    [
        (["ROB.flag"], [result("waived")], ["used 1"]),
        (["ROB.flag"], [result("waived"), result("waived"), result("pass")], ["used 2"]),
        (["ROB.flag"], [result("pass")], ["stale 0"]),
        (["ROB.flag"], [result("pass"), UNDECLARED], ["stale 0"]),
        (["ROB.flag"], [result("pass"), UNASKED], ["unobserved 0"]),
        (["ROB.flag"], [result("pass"), result("inconclusive")], ["unobserved 0"]),
        (["ROB.flag"], [result("pass"), result("error")], ["unobserved 0"]),
        (["ROB.flag"], [UNDECLARED], ["unobserved 0"]),
        (["ROB.flag"], [], ["unobserved 0"]),
        (["ROB.flag"], [BOTH], ["used 0"]),
        (["test_x[1]"], [result("pass", case="1")], ["stale 0"]),
        (["test_x[1]"], [result("pass", case="2")], ["unobserved 0"]),
        (
            ["test_x[1]", "ROB.flag"],
            [result("waived", case="1"), result("pass", case="2")],
            ["used 1", "used 1"],
        ),
    ],
)
def test_an_entry_is_stale_only_when_what_it_names_was_seen_to_pass(
    ids: list[str], results: list[Result], states: list[str]
) -> None:
    """An entry is `used`, `stale` or `unobserved`, by the results of what it names.

    It is stale only after a pass, with nothing of it inconclusive, in error or not asked for.
    """
    judged_waivers = waivers([deviation(wanted) for wanted in ids], results, whole=True)

    assert [f"{waiver.state} {waiver.results}" for waiver in judged_waivers] == states


def test_a_run_that_left_something_out_calls_nothing_stale() -> None:
    """In a run that left something out, an entry whose clause passes is unobserved, not stale."""
    (waiver,) = waivers([deviation("ROB.flag")], [result("pass")], whole=False)

    assert waiver.state == "unobserved"


@pytest.mark.parametrize(
    ("ids", "other", "state", "ending"),
    [
        (["ROB.flag"], [FAILS], {}, "0 passes with 1 deviation"),
        (["ROB.flag", "ROB.query"], [BOTH], {}, "0 passes with 2 deviations"),
        (["ROB.flag", "T1.timeout"], [FAILS], {}, "0 passes with 1 deviation"),
        (["T1.timeout"], [], {}, "0 conformant"),
        (["ROB.flag"], [], {}, "5 stale deviation"),
        (["ROB.flag"], [], {"narrowed": True}, "0 partial"),
        (["ROB.flag"], [], {"cut_short": "late"}, "4 incomplete"),
        (["ROB.flag"], [], {"interrupted": True}, "130 interrupted"),
        (["ROB.flag"], [], {"faults": ["broken"]}, "70 fault of the suite"),
        (["ROB.flag"], [result("fail", "ROB.query")], {}, "1 violated"),
        (["ROB.flag"], [BOTH], {}, "1 violated"),
        (["ROB.flag"], [FAILS, result("fail", "ROB.query")], {}, "1 violated"),
        (["ROB.flag"], [FAILS, result("fail", "ROB.flag", "ROB.query")], {}, "1 violated"),
        (["ROB.flag"], [result("inconclusive", "ROB.query")], {}, "5 stale deviation"),
        (["ROB.flag"], [FAILS, result("inconclusive", "ROB.query")], {}, "4 incomplete"),
        (["ROB.flag"], [FAILS, result("inconclusive")], {}, "4 incomplete"),
        (["ROB.flag"], [result("error", "ROB.query", blame="adapter")], {}, "3 target or adapter"),
        (["ROB.flag"], [result("error", "ROB.query", blame="declaration")], {}, "2 error in the"),
        (["ROB.flag"], [result("error", "ROB.query", blame="suite")], {}, "70 fault of the suite"),
        (["ROB.flag"], [], {"stopped": Outcome("violated", VIOLATED, "no flag")}, "1 violated"),
    ],
)
def test_the_worst_that_happened_decides(
    ids: list[str], other: list[Result], state: dict[str, Any], ending: str
) -> None:
    """A run with known failures has the exit code and the headline of the worst that happened.

    With a waived failure it never is `conformant`; a stale entry is exit 5 in a whole run only.
    """
    report = reported(*map(deviation, ids), other=tuple(other), **state)

    assert f"{report['exit']} {report['headline']}".startswith(ending)


def test_a_waived_clause_of_the_floor_is_named_as_such() -> None:
    """If a clause that the profile requires to pass is waived, the outcome's reason says so."""
    report = reported(deviation("ROB.flag"), deviation("ROB.query"), other=(BOTH,))

    assert (
        report["why"]
        == "waived: ROB.query, ROB.flag; the profile requires a pass of ROB.query, ROB.flag"
    )
    assert [c["id"] for c in report["clauses"] if c["verdict"] == "waived"] == [
        "ROB.query",
        "ROB.flag",
    ]


def test_a_stale_entry_is_reported_with_its_line_and_the_repair() -> None:
    """The report's `why` names the first of two stale entries, with the repair.

    The terminal lists both, each with its file, line and repair.
    """
    report = reported(deviation("ROB.flag", 3), deviation("ROB.query", 9))
    lines = render(typed(report), Path("report.json")).splitlines()

    assert report["why"] == ("known.toml:3: ROB.flag passes now; take the entry out (and 1 more)")
    at = lines.index("known failures:")
    assert lines[at + 1 : at + 3] == [
        "STALE           known.toml:3: ROB.flag passes now; take the entry out",
        "STALE           known.toml:9: ROB.query passes now; take the entry out",
    ]


def test_a_known_failure_is_reported_with_its_reason_issue_date_and_place() -> None:
    """The terminal shows a known failure with reason, issue, date and place in one line.

    Its line breaks and escapes are made harmless; the last line has the headline and the clause.
    """
    odd = msgspec.structs.replace(deviation("ROB.flag", 3), reason="Two\nlines\x1b[2J")
    text = render(
        typed(reported(odd, deviation("T1.timeout"), other=(FAILS,))), Path("report.json")
    )

    assert (
        "fails           ROB.flag  Two lines\\x1b[2J (https://example.com/1, until 2999-01-02)"
        "  known.toml:3\n"
        "not observed    T1.timeout  Known since"
    ) in text
    assert text.splitlines()[-1].startswith("passes with 1 deviation: waived: ROB.flag")


def test_the_report_has_each_entry() -> None:
    """The report's `waivers` have an entry's members, its state and how many results it waived."""
    assert reported(deviation("ROB.flag", 7), other=(FAILS, FAILS))["waivers"] == [
        {
            "id": "ROB.flag",
            "reason": "Known since the rewrite.",
            "issue": "https://example.com/1",
            "expires": "2999-01-02",
            "file": "known.toml",
            "line": 7,
            "state": "used",
            "results": 2,
        }
    ]


def test_what_ends_a_run_before_its_first_check_cannot_be_waived() -> None:
    """A run stopped as violated before its checks stays exit 1, though its clause is known.

    The entry counts as used.
    """
    presence = result("fail", "ROB.flag", check="presence")
    report = reported(
        deviation("ROB.flag"), stopped=Outcome("violated", VIOLATED, "no flag"), results=[presence]
    )

    assert (report["exit"], report["waivers"][0]["state"]) == (1, "used")


def test_a_case_that_its_check_has_not_is_reported_with_the_nearest() -> None:
    """An id with a case that its collected check lacks gives a sentence with the nearest case.

    Ids of checks that were not collected, and of clauses, give an empty text.
    """
    collected = {("test_x", "1"), ("test_x", "11"), ("test_y", None)}
    complaints = [
        stray([deviation(wanted, 3)], collected)
        for wanted in ("test_x[1]", "test_x", "test_z[1]", "ROB.flag", "test_x[111]", "test_y[1]")
    ]

    assert complaints == [
        "", "", "", "",
        "known.toml:3: there is no case 'test_x[111]'; the nearest is 'test_x[11]'",
        "known.toml:3: there is no case 'test_y[1]'; the nearest is 'test_y'",
    ]  # fmt: skip


def test_a_joined_profile_knows_the_clauses_of_both() -> None:
    """In a run of two profiles, waived entries of both are used; one of a third is unobserved.

    The run passes with 2 deviations, exit 0.
    """
    both = profile("discovery+robustness")
    deviations = (deviation("FR-006.cap"), deviation("ROB.flag"), deviation("T1.timeout"))
    results = [
        waived(result("fail", clause_id, check="test_y"), deviations)
        if clause_id in ("FR-006.cap", "ROB.flag")
        else result("pass", clause_id, check="test_y")
        for clause_id in both.clauses
    ]
    run = RunRecord(
        target=TargetFacts(kind="reference", capabilities=CAPABILITIES),
        profile=both,
        state=RunState(results=results),
        deviations=deviations,
    )

    document = plain(report_of(run))

    assert (document["exit"], document["headline"]) == (0, "passes with 2 deviations")
    assert [waiver["state"] for waiver in document["waivers"]] == ["used", "used", "unobserved"]
