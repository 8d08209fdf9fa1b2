"""Waivers: the effect of deviations on a run, and entries whose failure is gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import msgspec

from mcp_proxy_conformance.verdict.deviations.deviation import (
    OWN,
    Deviation,
    is_clause,
    names,
    strays,
)
from mcp_proxy_conformance.verdict.result import Result, Verdict

State = Literal["used", "stale", "unobserved"]


class Waiver(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a deviations file and its state after a run.

    `results` is the number of failures that it waived, alone or with others.
    """

    id: str
    reason: str
    issue: str
    expires: str
    file: str
    line: int
    state: State
    results: int

    @property
    def place(self) -> str:
        """The entry's place, as FILE:LINE."""
        return f"{self.file}:{self.line}"

    @property
    def is_link(self) -> bool:
        """Whether the issue is a link to the web."""
        return self.issue.startswith(("https://", "http://"))

    def in_words(self) -> str:
        """Return the waiver as `FILE:LINE: reason (issue, until date)`."""
        return f"{self.place}: {self.reason} ({self.issue}, until {self.expires})"


def waived(result: Result, deviations: Sequence[Deviation]) -> Result:
    """Return the result, made `waived` if it is a failure that the deviations excuse whole.

    Its reason then begins with theirs; any other result is returned unchanged.
    """
    if result.verdict != "fail" or not (used := _covering(result, deviations)):
        return result
    reasons = "; ".join(
        dict.fromkeys(f"{deviation.reason} ({deviation.issue})" for deviation in used)
    )
    return msgspec.structs.replace(result, verdict="waived", reason=f"{reasons}: {result.reason}")


def waivers(
    deviations: Sequence[Deviation], results: Sequence[Result], *, whole: bool
) -> list[Waiver]:
    """Return the state of each deviation after a run, in their order.

    `results` are those of the run, excused failures already made `waived`. Only if `whole`, when
    nothing of the profile was left out, can an entry be stale.
    """
    covered = [_covering(result, deviations) for result in results if result.verdict == "waived"]
    return [
        Waiver(
            id=deviation.id,
            reason=deviation.reason,
            issue=deviation.issue,
            expires=deviation.expires.isoformat(),
            file=deviation.file,
            line=deviation.line,
            state=_state(deviation, results, whole=whole),
            results=sum(deviation in used for used in covered),
        )
        for deviation in deviations
    ]


def stray(deviations: Sequence[Deviation], collected: Collection[tuple[str, str | None]]) -> str:
    """Return the sentence on the first deviation with an unknown case; "" without one.

    `collected` are the (check, case) pairs of the whole run.
    """
    unknown = strays((deviation.id for deviation in deviations), collected)
    first = next((deviation for deviation in deviations if deviation.id in unknown), None)
    if first is None:
        return ""
    nearest = unknown[first.id]
    return f"{first.file}:{first.line}: there is no case {first.id!r}; the nearest is {nearest!r}"


def stale(known: Sequence[Waiver]) -> list[str]:
    """Return a sentence on each stale waiver, whose failure is gone: FILE:LINE, and the repair."""
    return [
        f"{waiver.file}:{waiver.line}: {waiver.id} passes now; take the entry out"
        for waiver in known
        if waiver.state == "stale"
    ]


def _covering(result: Result, deviations: Sequence[Deviation]) -> list[Deviation]:
    """Return the deviations that together excuse a failed result whole; [] if they do not.

    One that names its check or case is enough; without such, those that name clauses must together
    name every broken one. Advisory results, and failures of the suite's own clauses, are never
    excused.
    """
    if result.level != "required" or any(clause_id.startswith(OWN) for clause_id in result.clauses):
        return []
    by_name = [
        deviation
        for deviation in deviations
        if not is_clause(deviation.id) and names(deviation.id, result)
    ]
    by_clause = [deviation for deviation in deviations if deviation.id in result.clauses]
    known = {deviation.id for deviation in by_clause}
    return [*by_name, *by_clause] if by_name or known.issuperset(result.clauses) else []


def _state(deviation: Deviation, results: Sequence[Result], *, whole: bool) -> State:
    """Return `used` if the deviation's failure was seen in a required result.

    `stale` if it is gone: nothing was left out of the run, and what it names passed at least once
    and otherwise does not apply, but not for lack of an option; else `unobserved`.
    """
    meant = [
        (verdict, result) for result in results if (verdict := _of(deviation, result)) is not None
    ]
    if any(
        result.level == "required" and verdict in ("fail", "waived") for verdict, result in meant
    ):
        return "used"
    settled = all(
        verdict == "pass" or (verdict == "not_applicable" and result.cause != "not_asked")
        for verdict, result in meant
    )
    passes = any(verdict == "pass" for verdict, _ in meant)
    return "stale" if whole and settled and passes else "unobserved"


def _of(deviation: Deviation, result: Result) -> Verdict | None:
    """Return a result's verdict on the clause, check or case that the deviation names, or None."""
    if is_clause(deviation.id):
        return result.of(deviation.id)
    return result.verdict if names(deviation.id, result) else None
