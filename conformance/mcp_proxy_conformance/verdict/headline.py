"""Computation of a run's outcome and exit code from its clauses' verdicts, by precedence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mcp_proxy_conformance.verdict.deviations.waivers import Waiver, stale
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    DECLARATION,
    FAULT,
    INCOMPLETE,
    INTERRUPTED,
    STALE,
    VIOLATED,
    Outcome,
    and_violated,
    broke,
)
from mcp_proxy_conformance.verdict.record import RunRecord
from mcp_proxy_conformance.verdict.result import ClauseVerdict


def outcome(
    run: RunRecord, clauses: Sequence[ClauseVerdict], waivers: Sequence[Waiver] = ()
) -> Outcome:
    """Return a run's outcome; the precedence of exit codes is 130, 70, 2, 1, 3, 5, 4, 0.

    Advisory results count only as faults of the suite. A stopped run has the outcome it was stopped
    with, unless that is 3 or 4 and a required clause failed. A part of a run in which a
    check was judged and nothing is broken or open, even if nothing applies, ends with 0 as
    `partial`; a whole run whose only failures are waived, with 0 as `passes with N deviations`.
    Beside a fault of the suite or of the declaration, what other checks found is named too.
    """
    firm = [clause for clause in clauses if clause.level == "required"]
    failed = [clause.id for clause in firm if clause.verdict == "fail"]
    return and_violated(_worst(run, clauses, waivers, firm, failed), failed)


def _worst(
    run: RunRecord, clauses: Sequence[ClauseVerdict], waivers: Sequence[Waiver],
    firm: Sequence[ClauseVerdict], failed: Sequence[str],
) -> Outcome:  # fmt: skip
    """Return the outcome by the worst that happened; `failed` are broken clauses of `firm`."""
    errors = [
        result
        for result in run.state.results
        if result.verdict == "error" and (result.level == "required" or result.blame == "suite")
    ]
    blamed = {result.blame for result in errors}
    open_ = [clause.id for clause in firm if clause.verdict in ("inconclusive", "error")]
    if run.state.interrupted:
        return Outcome("interrupted", INTERRUPTED, "the run was interrupted; the report is partial")
    if run.state.faults:
        return Outcome("fault of the suite", FAULT, run.state.faults[0])
    if run.state.stopped is not None and not (
        failed and run.state.stopped.exit in (INCOMPLETE, BROKEN)
    ):
        return run.state.stopped
    if "suite" in blamed:
        first = next(result for result in errors if result.blame == "suite")
        return Outcome("fault of the suite", FAULT, f"{first.check}: {_first(first.reason)}")
    if "declaration" in blamed:
        first = next(result for result in errors if result.blame == "declaration")
        return Outcome("error in the declaration", DECLARATION, first.reason)
    if errors and not failed:
        return broke(f"{errors[0].reason}{_cut(run)}")
    if run.state.cut_short and not failed:
        return Outcome("incomplete", INCOMPLETE, f"the run was cut short: {run.state.cut_short}")
    if run.state.partial and not failed:
        judged = [clause.verdict for clause in clauses if clause.results]
        seen = any(verdict in ("pass", "waived") for verdict in judged)
        unseen = open_ or (not seen and not {"inconclusive", "error"}.isdisjoint(judged))
        settled = judged and not (unseen or run.state.missing)
        why = f"{_of_one(run)}{_of_a_part(clauses)}; {run.state.partial}"
        return Outcome("partial", CONFORMANT if settled else INCOMPLETE, why)
    if failed:
        return Outcome("violated", VIOLATED, f"broken: {', '.join(failed)}{_cut(run)}")
    if gone := stale(waivers):
        more = f" (and {len(gone) - 1} more)" if gone[1:] else ""
        return Outcome("stale deviation", STALE, f"{gone[0]}{more}")
    if why := _lacks(run, clauses, open_):
        return Outcome("incomplete", INCOMPLETE, why)
    excused = [clause.id for clause in firm if clause.verdict == "waived"]
    return _deviating(run, excused, waivers) if excused else run.green


def _lacks(run: RunRecord, clauses: Sequence[ClauseVerdict], open_: list[str]) -> str:
    """Return why a run without failures is incomplete; "" if enough was observed.

    That is, in this order: the profile's floor requires capabilities that are not declared, clauses
    are open (`open_`), or the floor requires passes that are missing; a waived clause counts as
    passed.
    """
    missing = sorted(set(run.profile.floor.capabilities) - run.target.capabilities)
    if missing:
        return f"the profile requires capabilities that are not declared: {', '.join(missing)}"
    if open_:
        return run.unsettled or f"not settled: {', '.join(open_)}"
    reached = {clause.id for clause in clauses if clause.verdict in ("pass", "waived")}
    below = [clause_id for clause_id in run.profile.floor.passes if clause_id not in reached]
    return f"the profile requires a pass of {', '.join(below)}" if below else ""


def _deviating(run: RunRecord, excused: list[str], waivers: Sequence[Waiver]) -> Outcome:
    """Return the outcome, of exit code 0, of a run whose only failures are the waived `excused`.

    The headline counts the deviations used. The reason also names those of the clauses that the
    profile's floor requires to pass.
    """
    number = sum(waiver.state == "used" for waiver in waivers)
    word = "deviation" if number == 1 else "deviations"
    floor = [clause_id for clause_id in excused if clause_id in run.profile.floor.passes]
    suffix = f"; the profile requires a pass of {', '.join(floor)}" if floor else ""
    return Outcome(
        f"passes with {number} {word}", CONFORMANT, f"waived: {', '.join(excused)}{suffix}"
    )


def _cut(run: RunRecord) -> str:
    """Return "; the run was cut short: WHY", or "" if it came to its own end."""
    return f"; the run was cut short: {run.state.cut_short}" if run.state.cut_short else ""


def _of_one(run: RunRecord) -> str:
    """Return "NAME passes now; " if the run's only result is a pass; else ""."""
    passed = [result.name for result in run.state.results if result.verdict == "pass"]
    alone = len(run.state.results) == len(passed) == 1
    return f"{passed[0]} passes now; " if alone else ""


def _of_a_part(clauses: Sequence[ClauseVerdict]) -> str:
    """Return the numbers of required clauses with results, by verdict, as "judged clauses: …".

    Without any it is "only advisory ones" or "none".
    """
    judged = [clause for clause in clauses if clause.results]
    counts = Counter(clause.verdict for clause in judged if clause.level == "required")
    summary = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    summary = summary or ("only advisory ones" if judged else "none")
    return f"judged clauses: {summary}"


def _first(reason: str) -> str:
    """Return the first line of a reason, which of a fault is the exception."""
    return reason.strip().partition("\n")[0]
