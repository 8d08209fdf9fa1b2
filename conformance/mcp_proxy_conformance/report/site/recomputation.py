"""Recomputation of a report: its clauses, its exit code and its headline from its results."""

from __future__ import annotations

from collections import Counter

from mcp_proxy_conformance.catalogue.requirement import (
    BESIDE,
    Profile,
    UnknownProfile,
    catalogue,
    frozen,
    profile,
)
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import profile_of
from mcp_proxy_conformance.verdict.headline import outcome
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    DECLARATION,
    FAULT,
    GREEN,
    INCOMPLETE,
    INTERRUPTED,
)
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts
from mcp_proxy_conformance.verdict.result import ClauseVerdict, worst

UNSEEN = ("not_applicable", "inconclusive", "error")
"""Verdicts of a clause that no result mentions."""
BEYOND = ("not_declared", "not_asked", "not_here")
"""Causes by which a clause does not apply, whatever the results."""
ENDED = (DECLARATION, BROKEN, INCOMPLETE, FAULT, INTERRUPTED)
"""Exit codes of runs that ended before their end, of which a report does not hold the reason."""


def contradiction(report: Report) -> str:
    """Return how the report contradicts its own results or its profile; "" if it does not.

    Its clauses, their levels and the floor are compared with profiles that are frozen alone, since
    others may have changed since the run.
    """
    known = frozen_profile(report)
    return (
        _of_list(report, known)
        or next(filter(None, (_of_clause(clause, report) for clause in report.clauses)), "")
        or _of_outcome(report, known)
    )


def frozen_profile(report: Report) -> Profile | None:
    """Return the report's profile as the suite has it; None if it has none, or it may change."""
    name = profile_of(report)
    try:
        return profile(name) if frozen().issuperset(name.split(BESIDE)) else None
    except UnknownProfile:
        return None


def _of_list(report: Report, known: Profile | None) -> str:
    """Return what is wrong with the list of clauses; with a known profile, it has just those."""
    ids = Counter(clause.id for clause in report.clauses)
    twice = next((clause_id for clause_id, number in ids.items() if number > 1), None)
    if twice is not None:
        return f"the clause {twice} is in it twice"
    if known is None:
        return ""
    lost = [clause_id for clause_id in known.clauses if clause_id not in ids]
    more = [clause_id for clause_id in ids if clause_id not in known.holds]
    if lost:
        return f"the clause {lost[0]} of {known.name} is missing"
    if more:
        return f"the clause {more[0]} is not in {known.name}"
    for clause in report.clauses:
        level = catalogue().clause(clause.id).level
        if level != clause.level:
            return f"{clause.id} is {clause.level}, and {known.name} has it as {level}"
    return "" if report.profile.floor == known.floor else f"its floor is not that of {known.name}"


def _of_clause(clause: ClauseVerdict, report: Report) -> str:
    """Return how a clause contradicts its results or the catalogue; "" if it does not."""
    verdicts = [found for result in report.results if (found := result.of(clause.id)) is not None]
    due = worst(verdicts)
    if clause.results != len(verdicts):
        return f"{clause.id} counts {clause.results} results, and {len(verdicts)} mention it"
    if clause.verdict == due or (due is None and clause.verdict in UNSEEN):
        return ""
    if clause.verdict == "not_applicable" and clause.cause in BEYOND and due != "fail":
        return ""
    if clause.verdict == "not_applicable" and _is_undeclared(clause, report):
        return ""
    return f"{clause.id} is {clause.verdict}, and its results say {due or 'nothing'}"


def _is_undeclared(clause: ClauseVerdict, report: Report) -> bool:
    """Whether the clause needs a capability that the target does not declare."""
    known = catalogue().clauses.get(clause.id)
    return known is not None and not set(known.capability) <= set(report.target.capabilities)


def _of_outcome(report: Report, known: Profile | None) -> str:
    """Return how exit code or headline contradict the clauses; "" if they do not.

    A run that ended early may end with any code that is neither a pass nor a violation.
    """
    due = outcome(_record(report, known), report.clauses, report.waivers)
    if report.exit == FAULT or (not report.complete and report.exit in ENDED):
        return ""
    if report.exit != due.exit:
        return f"exit is {report.exit}, and its clauses come to {due.exit} ({due.headline})"
    free = report.target.kind == "endpoint" and due == GREEN
    if report.headline != due.headline and not free:
        return f"the headline is {report.headline!r}, and its clauses come to {due.headline!r}"
    return ""


def _record(report: Report, known: Profile | None) -> RunRecord:
    """Return a record of a run that would come to this report's outcome."""
    judged_by = known or Profile(
        id=report.profile.id,
        version=report.profile.version,
        text="",
        clauses=tuple(clause.id for clause in report.clauses),
        interpretations=(),
        floor=report.profile.floor,
    )
    narrowed = not report.complete and report.exit == CONFORMANT
    return RunRecord(
        profile=judged_by,
        target=TargetFacts(
            kind=report.target.kind, capabilities=frozenset(report.target.capabilities)
        ),
        state=RunState(results=list(report.results), cut_short=report.cut_short, narrowed=narrowed),
    )
