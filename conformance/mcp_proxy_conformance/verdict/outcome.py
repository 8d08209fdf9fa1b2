"""Headline and exit code of a run from the verdicts of its clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.verdict.deviations.waiving import stale

if TYPE_CHECKING:
    from mcp_proxy_conformance.run.session import Run

CONFORMANT, VIOLATED, DECLARATION, BROKEN, INCOMPLETE, STALE = 0, 1, 2, 3, 4, 5
FAULT, INTERRUPTED = 70, 130
WORST_FIRST = (
    INTERRUPTED, FAULT, DECLARATION, VIOLATED, BROKEN, STALE, INCOMPLETE, CONFORMANT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run comes to: its headline, its exit code, and the reason in one sentence."""

    headline: str
    exit: int
    why: str


def outcome(
    run: Run, clauses: list[dict[str, Any]], waivers: Sequence[dict[str, Any]] = ()
) -> Outcome:
    """Precedence 130 > 70 > 2 > 1 > 3 > 5 > 4 > 0; advisory clauses never count.

    A waived clause counts for the floor, which then is not passed but excused: the headline of a
    run with deviations never says that the target is conformant.
    """
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
    if run.stopped is not None and not (failed and run.stopped.exit in (INCOMPLETE, BROKEN)):
        return run.stopped
    if "suite" in blamed:
        first = next(one for one in errors if one.blame == "suite")
        return Outcome("fault of the suite", FAULT, f"{first.check}: {_last(first.reason)}")
    if "declaration" in blamed:
        first = next(one for one in errors if one.blame == "declaration")
        return Outcome("error in the declaration", DECLARATION, first.reason)
    if errors and not failed:
        return Outcome("target or adapter broke", BROKEN, errors[0].reason)
    if run.cut_short and not failed:
        return Outcome("incomplete", INCOMPLETE, f"the run was cut short: {run.cut_short}")
    if run.partial and not failed:
        return Outcome("partial", INCOMPLETE, f"{_of_a_part(clauses)}; {run.partial}")
    if failed:
        return Outcome("violated", VIOLATED, f"broken: {', '.join(failed)}")
    if gone := stale(waivers):
        more = f" (and {len(gone) - 1} more)" if gone[1:] else ""
        return Outcome("stale deviation", STALE, f"{gone[0]}{more}")
    if why := _lacks(run, clauses, open_):
        return Outcome("incomplete", INCOMPLETE, why)
    excused = [one["id"] for one in firm if one["verdict"] == "waived"]
    return _deviating(run, excused, waivers) if excused else run.green


def _lacks(run: Run, clauses: list[dict[str, Any]], open_: list[str]) -> str:
    """Why nothing is said of a target that breaks no clause; empty when enough was seen."""
    missing = sorted(set(run.profile.floor.capabilities) - run.target.capabilities)
    if missing:
        return f"the floor asks for {', '.join(missing)}, which the target does not declare"
    if open_:
        return run.unsettled(open_)
    reached = {one["id"] for one in clauses if one["verdict"] in ("pass", "waived")}
    below = [one for one in run.profile.floor.passes if one not in reached]
    return f"the floor wants a pass of {', '.join(below)}" if below else ""


def _deviating(run: Run, excused: list[str], waivers: Sequence[dict[str, Any]]) -> Outcome:
    """What a run comes to in which nothing but known failures was found."""
    number = sum(one["state"] == "used" for one in waivers)
    word = "deviation" if number == 1 else "deviations"
    floor = [one for one in excused if one in run.profile.floor.passes]
    told = f"; of the floor: {', '.join(floor)}" if floor else ""
    return Outcome(
        f"passes with {number} {word}", CONFORMANT, f"waived: {', '.join(excused)}{told}"
    )


def _of_a_part(clauses: list[dict[str, Any]]) -> str:
    """What the clauses that were looked at came to."""
    seen = [one for one in clauses if one["results"]]
    counts = Counter(one["verdict"] for one in seen if one["judgement"] == "F")
    told = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    told = told or ("advisory ones alone" if seen else "none")
    return f"of the clauses that were asked for: {told}"


def _last(reason: str) -> str:
    return reason.strip().rpartition("\n")[2]
