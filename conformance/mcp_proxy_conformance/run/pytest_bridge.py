"""Verdicts of checks as pytest outcomes (xfail for waived ones); errors of fixtures as verdicts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.run.collection import clauses_of
from mcp_proxy_conformance.run.deadline import OutOfTime
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.run.session import RunSession
from mcp_proxy_conformance.verdict.result import Blame, Inconclusive, NotApplicable, Result


def show_pytest(item: pytest.Item, ending: Ending, run: RunSession) -> object:
    """Return True for a pass, or for an advisory check that failed or is inconclusive.

    Of the latter a report section notes the verdict. Else raise: a skip if the check does not
    apply, a redacted failure if inconclusive or if the subject's output must be redacted, otherwise
    the ending's own error.
    """
    advisory = is_advisory(item)
    if ending.verdict == "pass":
        return True
    if ending.verdict == "not_applicable":
        pytest.skip(f"not applicable: {ending.reason}")
    if advisory and ending.verdict in ("fail", "inconclusive"):
        item.add_report_section("call", "advisory", f"{ending.verdict}: {ending.reason}")
        return True
    if ending.verdict == "inconclusive":
        pytest.fail(run.redactor.text(f"Inconclusive: {ending.reason}"), pytrace=False)
    if run.subject.is_redacted:
        pytest.fail(run.redactor.text(f"{ending.verdict}: {ending.reason}"), pytrace=False)
    assert ending.error is not None
    raise ending.error


def mark_waived(report: pytest.TestReport, result: Result, run: RunSession) -> None:
    """Turn pytest's report of a waived failure into an expected failure (xfail), in place.

    Reports of other results stay.
    """
    if result.verdict == "waived":
        report.outcome = "skipped"
        report.wasxfail = run.redactor.text(result.reason)


def is_advisory(item: pytest.Item) -> bool:
    """Whether the first clause that a check cites is advisory; False without clauses."""
    cited = clauses_of(item)
    return bool(cited) and catalogue().clause(cited[0]).level == "advisory"


def setup_ending(
    excinfo: pytest.ExceptionInfo[BaseException], lacking: NotApplicable | None
) -> Ending:
    """Return the ending of a check whose fixtures failed, timed out or skipped it.

    A failure or unreadable answer is an `error`; a skip is `not_applicable`, for the reason
    `lacking` if given; the check's own time limit, or pytest's, is an error of the adapter; the
    run's limit is inconclusive. Other errors are classified as in a check.
    """
    error = excinfo.value
    if isinstance(error, pytest.skip.Exception):
        return attempt(partial(_raise, lacking or NotApplicable(str(error))))
    if isinstance(error, OutOfTime) and error.of_run:
        return late_ending(error)
    if isinstance(error, (OutOfTime, pytest.fail.Exception)):  # not set up in time
        return Ending(verdict="error", blame="adapter", reason=str(error))
    ending = attempt(partial(_raise, error))
    # A stage that cannot be set up makes its checks errors, whoever is to blame.
    broke = ending.verdict == "fail" or ending.cause == "unread_answer"
    return replace(ending, verdict="error", cause="", hint="") if broke else ending


def late_ending(error: BaseException) -> Ending:
    """Return the ending of a check that a time limit or an unexpected exception interrupted.

    At the run's limit it is inconclusive; at the check's own, or pytest's, an error of the
    network; otherwise an error of the suite.
    """
    if isinstance(error, OutOfTime) and error.of_run:
        unfinished = Inconclusive(f"{error} while the check ran", cause="cut_short")
        return attempt(partial(_raise, unfinished))
    blame: Blame = "network" if isinstance(error, (OutOfTime, pytest.fail.Exception)) else "suite"
    return Ending(verdict="error", blame=blame, reason=str(error))


def _raise(error: BaseException) -> None:
    """Raise the error, so that `attempt` can turn it into an ending."""
    raise error
