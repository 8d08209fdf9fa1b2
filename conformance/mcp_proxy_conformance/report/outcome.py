"""Headline and exit code of a run from the verdicts of its clauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_proxy_conformance.run import Run

CONFORMANT, VIOLATED, DECLARATION, BROKEN, INCOMPLETE = 0, 1, 2, 3, 4
FAULT, INTERRUPTED = 70, 130


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run comes to: its headline, its exit code, and the reason in one sentence."""

    headline: str
    exit: int
    why: str


def outcome(run: Run, clauses: list[dict[str, Any]]) -> Outcome:
    """Precedence 130 > 70 > 2 > 3 > 1 > 4 > 0; advisory clauses never count."""
    firm = [one for one in clauses if one["judgement"] == "F"]
    errors = [
        one
        for one in run.results
        if one.verdict == "error" and (one.judgement == "F" or one.blame == "suite")
    ]
    blamed = {one.blame for one in errors}
    failed = [one["id"] for one in firm if one["verdict"] == "fail"]
    open_ = [one["id"] for one in firm if one["verdict"] in ("inconclusive", "error")]
    if run.interrupted:
        return Outcome("interrupted", INTERRUPTED, "the run was interrupted; the report is partial")
    if run.faults:
        return Outcome("fault of the suite", FAULT, run.faults[0])
    if run.stopped is not None:
        return run.stopped
    if "suite" in blamed:
        first = next(one for one in errors if one.blame == "suite")
        return Outcome("fault of the suite", FAULT, f"{first.check}: {_last(first.reason)}")
    if "declaration" in blamed:
        first = next(one for one in errors if one.blame == "declaration")
        return Outcome("error in the declaration", DECLARATION, first.reason)
    if errors:
        return Outcome("target or adapter broke", BROKEN, errors[0].reason)
    if run.cut_short and not failed:
        return Outcome("incomplete", INCOMPLETE, f"the run was cut short: {run.cut_short}")
    if run.narrowed and not failed:
        return Outcome("partial", INCOMPLETE, "a part of the profile was left out")
    if failed:
        return Outcome("violated", VIOLATED, f"broken: {', '.join(failed)}")
    missing = sorted(set(run.profile.floor.capabilities) - run.target.capabilities)
    if missing:
        why = f"the floor asks for {', '.join(missing)}, which the target does not declare"
        return Outcome("incomplete", INCOMPLETE, why)
    if open_:
        return Outcome("incomplete", INCOMPLETE, run.unsettled(open_))
    passed = {one["id"] for one in clauses if one["verdict"] == "pass"}
    below = [one for one in run.profile.floor.passes if one not in passed]
    if below:
        return Outcome("incomplete", INCOMPLETE, f"the floor wants a pass of {', '.join(below)}")
    return run.green


def _last(reason: str) -> str:
    return reason.strip().rpartition("\n")[2]
