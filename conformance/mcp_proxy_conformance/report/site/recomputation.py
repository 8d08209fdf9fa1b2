"""Recomputation of a report: its clauses, its exit code and its headline from its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version

import msgspec

from mcp_proxy_conformance.catalogue.requirement import (
    BESIDE,
    Profile,
    UnknownProfile,
    catalogue,
    frozen,
    profile,
)
from mcp_proxy_conformance.report.document import SUITE, Report
from mcp_proxy_conformance.report.phrases import profile_of
from mcp_proxy_conformance.verdict.deviations.deviation import names
from mcp_proxy_conformance.verdict.headline import outcome
from mcp_proxy_conformance.verdict.outcome import (
    BROKEN,
    CONFORMANT,
    DECLARATION,
    FAULT,
    GREEN,
    INCOMPLETE,
    INTERRUPTED,
    VIOLATED,
    Outcome,
    and_violated,
)
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result, worst

UNSETTLED = ("inconclusive", "error")
"""Verdicts of a clause that no result mentions, although it was asked for."""
ENDED: Mapping[int, tuple[str, ...]] = {
    DECLARATION: ("error in the declaration",),
    BROKEN: ("target or adapter broke",),
    INCOMPLETE: ("incomplete", "partial"),
    FAULT: ("fault of the suite",),
    INTERRUPTED: ("interrupted",),
}
"""Headlines, by exit code, of runs that ended early: a report does not hold the reason."""


def contradiction(report: Report) -> str:
    """Return how the report contradicts its own results or its profile; "" if it does not.

    Its clauses, their levels and the floor (what a pass requires at least) are compared with its
    profile if that is frozen, never to change. With another profile only levels and floor are
    compared, if this version of the suite made the report.
    """
    known = frozen_profile(report)
    return (
        _of_profile(report)
        or _of_list(report, known)
        or next(filter(None, (_of_clause(clause, report) for clause in report.clauses)), "")
        or next(filter(None, (_of_waived(result, report) for result in report.results)), "")
        or _of_outcome(report, known)
    )


def recomputed(report: Report) -> Report:
    """Return the report with `why` computed anew if its exit code is 0 or 1, else unchanged."""
    if report.exit not in (CONFORMANT, VIOLATED):
        return report
    return msgspec.structs.replace(report, why=_due(report, frozen_profile(report)).why)


def is_of_the_suite(report: Report) -> bool:
    """Whether the report was judged by its profile as the running suite has it.

    That is by the same clauses with the same levels, by the same floor, and with no clause untested
    that the suite has checks of now. False if the suite does not have the profile.
    """
    own = _own_profile(report)
    return own is not None and not (
        own.holds.symmetric_difference(clause.id for clause in report.clauses)
        or _of_levels(report, own)
        or any(
            clause.cause == "untested" and not catalogue().clause(clause.id).untested
            for clause in report.clauses
        )
    )


def _own_profile(report: Report) -> Profile | None:
    """Return the report's profile as the running suite has it; None if it has none."""
    try:
        return profile(profile_of(report))
    except UnknownProfile:
        return None


def frozen_profile(report: Report) -> Profile | None:
    """Return the report's profile as the suite has it; None if it has none.

    None also if a version of a profile in its name is not frozen, and may still change.
    """
    is_frozen = frozen().issuperset(profile_of(report).split(BESIDE))
    return _own_profile(report) if is_frozen else None


def _of_profile(report: Report) -> str:
    """Return how the report's suite, or id, version and name of its profile, are wrong; else "".

    They are if the suite is another, if they contradict each other, or if the running version of
    the suite made the report and does not have the profile.
    """
    judged = report.profile
    parts = [part.partition("@") for part in judged.name.split(BESIDE)]
    if report.suite.name != SUITE:
        return f"its suite is {report.suite.name!r}, and not {SUITE}"
    if not judged.name:
        return f"its profile {judged.id} has no name with versions"
    if BESIDE.join(part[0] for part in parts) != judged.id or parts[0][2] != str(judged.version):
        return f"its profile is {judged.id}, version {judged.version}, and its name {judged.name}"
    if _own_profile(report) is None and report.suite.version == version(SUITE):
        return f"this version of the suite made it, and has no profile {judged.name}"
    return ""


def _of_list(report: Report, known: Profile | None) -> str:
    """Return what is wrong with the report's list of clauses and its floor; "" if nothing is.

    With `known`, its frozen profile, the list must have exactly the clauses of that. Otherwise only
    levels and floor are compared, and only if the running version of the suite made the report.
    """
    ids = Counter(clause.id for clause in report.clauses)
    twice = next((clause_id for clause_id, number in ids.items() if number > 1), None)
    if twice is not None:
        return f"the clause {twice} is in it twice"
    if known is None:
        own = _own_profile(report) if report.suite.version == version(SUITE) else None
        return "" if own is None else _of_levels(report, own)
    lost = [clause_id for clause_id in known.clauses if clause_id not in ids]
    more = [clause_id for clause_id in ids if clause_id not in known.holds]
    if lost:
        return f"the clause {lost[0]} of {known.name} is missing"
    if more:
        return f"the clause {more[0]} is not in {known.name}"
    return _of_levels(report, known)


def _of_levels(report: Report, own: Profile) -> str:
    """Return how levels or floor differ from those of the suite; "" if they do not.

    `own` is the report's profile as the suite has it. Clauses unknown to the suite are skipped.
    """
    known = catalogue().clauses
    for clause in report.clauses:
        level = known[clause.id].level if clause.id in known else clause.level
        if level != clause.level:
            return f"{clause.id} is {clause.level}, and {own.name} has it as {level}"
    return "" if report.profile.floor == own.floor else f"its floor is not that of {own.name}"


def _of_clause(clause: ClauseVerdict, report: Report) -> str:
    """Return how a clause contradicts its results or the catalogue; "" if it does not."""
    verdicts = [
        verdict for result in report.results if (verdict := result.of(clause.id)) is not None
    ]
    due = worst(verdicts)
    if clause.results != len(verdicts):
        return f"{clause.id} counts {clause.results} results, and {len(verdicts)} mention it"
    if report.complete and clause.cause in ("left_out", "ended"):
        return f"{clause.id} is {clause.cause}, and the run is called complete"
    if clause.verdict == due or (due is None and clause.verdict in UNSETTLED):
        return ""
    if clause.verdict == "not_applicable" and _is_beyond(clause, report, seen=due is not None):
        return ""
    return f"{clause.id} is {clause.verdict}, and its results say {due or 'nothing'}"


def _of_waived(result: Result, report: Report) -> str:
    """Return a sentence if a result is waived and its deviations do not excuse it whole, or ""."""
    if result.verdict != "waived":
        return ""
    used = [waiver.id for waiver in report.waivers if waiver.state == "used"]
    covered = set(result.clauses) <= set(used) or any(names(each, result) for each in used)
    return "" if covered else f"{result.name} is waived, and its waivers do not name it"


def _is_beyond(clause: ClauseVerdict, report: Report, *, seen: bool) -> bool:
    """Whether `not_applicable` is right for the clause, whatever its results say.

    It is if the clause needs a capability that the target does not declare, or an option that was
    not given. If no result mentions it (not `seen`), it may also be left out, untested or unknown.
    """
    known = catalogue().clauses.get(clause.id)
    if known is None:
        return not seen
    if clause.cause == "not_asked":
        return known.asked_by is not None
    if not set(known.capability) <= set(report.target.capabilities):
        return True
    return not seen and clause.cause in ("left_out", "untested")


def _of_outcome(report: Report, known: Profile | None) -> str:
    """Return how exit code or headline contradict the clauses; "" if they do not.

    The exit codes 70 and, of an incomplete run, 2, 3, 4 and 130 are believed if the headline is
    that of the code. Any other outcome must follow from the clauses.
    """
    if report.exit == FAULT or (not report.complete and report.exit in ENDED):
        firm = [clause for clause in report.clauses if clause.level == "required"]
        broken = [clause.id for clause in firm if clause.verdict == "fail"]
        own = ENDED[report.exit]
        ended = [Outcome(headline, report.exit, "") for headline in own]
        beside = [and_violated(each, broken).headline for each in ended]
        if report.headline in (*own, *beside):  # earlier builds named no failures beside
            return ""
        return f"the headline is {report.headline!r}, and that of exit {report.exit} {own[0]!r}"
    due = _due(report, known)
    if report.exit != due.exit:
        return f"exit is {report.exit}, and its clauses come to {due.exit} ({due.headline})"
    if report.headline != due.headline:
        return f"the headline is {report.headline!r}, and its clauses come to {due.headline!r}"
    return ""


def _due(report: Report, known: Profile | None) -> Outcome:
    """Return the outcome that the clauses of the report come to; `known`: its frozen profile."""
    return outcome(_record(report, known), report.clauses, report.waivers)


def _record(report: Report, known: Profile | None) -> RunRecord:
    """Return a record of a run that would come to this report's outcome.

    `known` is the frozen profile; without, one is made of the report's clauses and floor.
    """
    judged_by = known or Profile(
        id=report.profile.id,
        version=report.profile.version,
        text="",
        clauses=tuple(clause.id for clause in report.clauses),
        interpretations=(),
        floor=report.profile.floor,
    )
    narrowed = not report.complete and report.exit == CONFORMANT
    consistent = f"consistent with {profile_of(report)}"
    return RunRecord(
        profile=judged_by,
        green=(
            Outcome(consistent, CONFORMANT, "nothing observed contradicts it")
            if report.target.kind == "endpoint"
            else GREEN
        ),
        target=TargetFacts(
            kind=report.target.kind, capabilities=frozenset(report.target.capabilities)
        ),
        state=RunState(results=list(report.results), cut_short=report.cut_short, narrowed=narrowed),
    )
