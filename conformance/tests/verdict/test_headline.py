"""Headline, reason and exit code by the worst that happened, softened or not; redacted headers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hand_written_reports import CLEAN, typed
from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.cli.run_setup import softened
from mcp_proxy_conformance.discovery.driven_proxy import StageRecord
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES, Access
from mcp_proxy_conformance.report.from_record import report_of
from mcp_proxy_conformance.report.summary import last
from mcp_proxy_conformance.verdict.headline import outcome
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts
from mcp_proxy_conformance.verdict.result import Blame, ClauseVerdict, Result, Verdict, worst
from mcp_proxy_conformance.wire.transcript import Message


def result(verdict: Verdict, blame: Blame = "") -> Result:
    """Return a required result of test_x on FR-006.cap with that verdict and blame."""
    return Result(
        check="test_x",
        case=None,
        clauses=("FR-006.cap",),
        level="required",
        verdict=verdict,
        reason="because",
        stage="crowd",
        blame=blame,
    )


def clauses(**verdicts: Verdict) -> list[ClauseVerdict]:
    """Return a verdict for each clause of discovery: a pass, but for `cap` and `fills` if given.

    They stand for FR-006.cap and the advisory FR-006.fills.
    """
    bent_verdicts = {"FR-006.cap": verdicts.get("cap"), "FR-006.fills": verdicts.get("fills")}
    return [
        ClauseVerdict(
            id=clause_id,
            level="advisory" if clause_id == "FR-006.fills" else "required",
            verdict=bent_verdicts.get(clause_id) or "pass",
            reason="",
            results=1,
        )
        for clause_id in profile("discovery").clauses
    ]


def run(*results: Result, capabilities: frozenset[str] = CAPABILITIES, **state: Any) -> RunRecord:
    """Return the record of a discovery run of these results; `state` sets members of its state.

    Without `capabilities` the target declares all of them.
    """
    return RunRecord(
        target=TargetFacts(kind="reference", capabilities=capabilities),
        profile=profile("discovery"),
        state=RunState(results=list(results), **state),
    )


@pytest.mark.parametrize(
    ("made", "verdicts", "exit_code"),
    [
        (run(), {}, 0),
        (run(), {"fills": "fail"}, 0),
        (run(), {"cap": "not_applicable"}, 4),
        (run(), {"cap": "inconclusive"}, 4),
        (run(result("fail")), {"cap": "fail"}, 1),
        (run(result("error", "adapter")), {"cap": "fail"}, 1),
        (run(result("error", "network")), {"cap": "error"}, 3),
        (run(result("error", "declaration"), result("error", "adapter")), {"cap": "fail"}, 2),
        (run(result("error", "suite"), result("error", "declaration")), {}, 70),
        (run(result("error", "suite"), interrupted=True), {}, 130),
        (run(faults=["test_x.py: SyntaxError"]), {}, 70),
        (run(narrowed=True), {}, 0),
        (run(narrowed=True), {"cap": "inconclusive"}, 4),
        (run(missing="missing parts: 2/2"), {}, 4),
    ],
)
def test_the_worst_that_happened_decides(
    made: RunRecord, verdicts: dict[str, Verdict], exit_code: int
) -> None:
    """The exit code is that of the worst that happened, in the order 130, 70, 2, 1, 3, 4, 0.

    Advisory clauses never count; a narrowed run without open clauses is 0.
    """
    decided = outcome(made, clauses(**verdicts))

    assert decided.exit == exit_code


@pytest.mark.parametrize("blame", ["suite", "declaration"])
def test_a_fault_in_one_check_hides_no_failure_of_another(blame: Blame) -> None:
    """Beside such a fault, headline, reason and the terminal's last line tell what is broken.

    The exit code is that of the fault.
    """
    report = report_of(
        run(result("fail"), structs.replace(result("error", blame), reason="Fault: x\n y"))
    )

    (line,) = last(report, Path("report.json"))

    assert report.exit == {"suite": 70, "declaration": 2}[blame]
    assert report.headline.endswith(", and violated")
    assert report.why.endswith("; broken: FR-006.cap")
    assert re.search(r"Fault: x.*; 1 of \d+ clauses fails \(FR-006.cap\); exit", line.text)


@pytest.mark.parametrize(("verdict", "exit_code"), [("not_applicable", 0), ("inconclusive", 4)])
@pytest.mark.parametrize("level", ["required", "advisory"])
def test_a_part_is_no_success_if_it_leaves_all_open(
    verdict: Verdict, exit_code: int, level: Any
) -> None:
    """A narrowed run whose clauses do not apply exits with 0, one whose clauses are open with 4."""
    judged = [structs.replace(clause, verdict=verdict, level=level) for clause in clauses()]

    decided = outcome(run(narrowed=True), judged)

    assert (decided.headline, decided.exit) == ("partial", exit_code)


def test_the_only_check_of_a_run_passes_by_name() -> None:
    """A narrowed run of one check that passes is `partial`, exit 0; its reason names that check."""
    decided = outcome(run(result("pass"), narrowed=True), clauses())

    assert (decided.headline, decided.exit) == ("partial", 0)
    assert decided.why.startswith("test_x passes now; judged clauses: ")


@pytest.mark.parametrize(
    ("made", "verdict"),
    [(run(result("fail"), cut_short="late"), "fail"),
     (run(result("error", "network"), cut_short="late"), "error"),
     (run(cut_short="late"), "pass")],
)  # fmt: skip
def test_a_run_that_was_cut_short_says_so(made: RunRecord, verdict: Verdict) -> None:
    """The reason of a run that was cut short ends so, whether it failed, had errors or passed."""
    assert outcome(made, clauses(cap=verdict)).why.endswith("the run was cut short: late")


def test_a_target_that_declares_nothing_is_below_the_floor() -> None:
    """A target without capabilities is incomplete, exit 4, though every clause passes."""
    decided = outcome(run(capabilities=frozenset()), clauses())

    assert (decided.headline, decided.exit) == ("incomplete", 4)


def test_a_clause_is_as_bad_as_its_worst_result() -> None:
    """`worst` ranks fail > error > inconclusive > waived > pass > not_applicable; None of none."""
    order: tuple[Verdict, ...] = (
        "not_applicable", "pass", "waived", "inconclusive", "error", "fail",
    )  # fmt: skip

    worsts = [worst(order[: count + 1]) for count in range(len(order))]

    assert worsts == list(order)
    assert worst([]) is None


def test_what_the_way_in_carries_is_not_in_the_report() -> None:
    """Header values with a credential of the administrator or an agent are redacted in a report.

    They are found by the header's name, or by a known value in any other header.
    """
    access = Access(url="", headers={"X-Admin": "s3cret"}, agents={"a": {"X-Agent": "t0ken"}})
    armed = SimpleNamespace(called=[], refused=[], skipped={}, unproven={})
    ready: Any = SimpleNamespace(
        started=SimpleNamespace(access=access), prepared=armed, seconds=0.0
    )
    record = StageRecord(place="s", name="s", stage="s", ready=ready)
    headers = {
        "x-admin": "an older one", "X-AGENT": "t0ken", "Cookie": "crumbs", "Via": "for t0ken; ok",
        "Seen": "an older one", "Accept": "text/plain",
    }  # fmt: skip
    message = Message(
        id=1, edge="client", direction="sent", at=0.0, peer="", body=b"", note="",
        headers=tuple(headers.items()),
    )  # fmt: skip

    stage = record.cited()
    made = replace(run(messages={"s/1": message.cited()}), stages=(stage,))
    cited = report_of(made).messages["s/1"]

    assert cited.headers == dict.fromkeys(headers, "(redacted)") | {
        "Via": "for (redacted); ok",
        "Accept": "text/plain",
    }


@pytest.mark.parametrize(("headline", "complete", "code"), [
    ("incomplete", True, 0), ("partial", False, 0), ("incomplete", False, 4),
])  # fmt: skip
def test_a_run_that_was_cut_short_passes_no_gate(headline: str, complete: bool, code: int) -> None:
    """`--fail-on violated` turns exit 4 into 0, unless the run is incomplete and was cut short."""
    document = typed(CLEAN | {"exit": 4, "headline": headline, "complete": complete})

    assert softened(document, "violated") == code
