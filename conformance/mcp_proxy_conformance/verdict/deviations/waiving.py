"""What deviations do in a run: known failures are waived, and entries without one are stale."""

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
    """A deviation that its authors know, an entry of their file, and what became of it in a run.

    `results` is how many failures were waived by it, alone or with others.
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
        """Where it is written."""
        return f"{self.file}:{self.line}"

    @property
    def is_link(self) -> bool:
        """Whether the issue leads to somewhere on the web."""
        return self.issue.startswith(("https://", "http://"))

    def told(self) -> str:
        """The waiver in a sentence."""
        return f"{self.place}: {self.reason} ({self.issue}, until {self.expires})"


def waived(result: Result, deviations: Sequence[Deviation]) -> Result:
    """The result as it counts: a failure that the deviations name whole is waived."""
    if result.verdict != "fail" or not (used := _covering(result, deviations)):
        return result
    told = "; ".join(dict.fromkeys(f"{one.reason} ({one.issue})" for one in used))
    return msgspec.structs.replace(result, verdict="waived", reason=f"{told}: {result.reason}")


def waivers(
    deviations: Sequence[Deviation], results: Sequence[Result], *, whole: bool
) -> list[Waiver]:
    """What became of each deviation, as the report tells it.

    Args:
        deviations: Those that the run was given.
        results: Those of the run, waived ones among them.
        whole: Whether nothing of the profile was left out; only then can an entry be stale.
    """
    covered = [_covering(one, deviations) for one in results if one.verdict == "waived"]
    return [
        Waiver(
            id=one.id,
            reason=one.reason,
            issue=one.issue,
            expires=one.expires.isoformat(),
            file=one.file,
            line=one.line,
            state=_state(one, results, whole=whole),
            results=sum(one in used for used in covered),
        )
        for one in deviations
    ]


def stray(deviations: Sequence[Deviation], collected: Collection[tuple[str, str | None]]) -> str:
    """A sentence on the first deviation that names a case which its check has not; else empty."""
    found = strays((one.id for one in deviations), collected)
    first = next((one for one in deviations if one.id in found), None)
    if first is None:
        return ""
    nearest = found[first.id]
    return f"{first.file}:{first.line}: there is no {first.id!r}; the nearest is {nearest!r}"


def stale(told: Sequence[Waiver]) -> list[str]:
    """A sentence on each waiver that names what passes: FILE:LINE, and the repair."""
    return [
        f"{one.file}:{one.line}: {one.id} passes now; take the entry out"
        for one in told
        if one.state == "stale"
    ]


def _covering(result: Result, deviations: Sequence[Deviation]) -> list[Deviation]:
    """The deviations by which the result is named whole; none when it is not."""
    if result.judgement != "F" or any(one.startswith(OWN) for one in result.clauses):
        return []
    by_name = [one for one in deviations if not is_clause(one.id) and names(one.id, result)]
    by_clause = [one for one in deviations if one.id in result.clauses]
    known = {one.id for one in by_clause}
    return [*by_name, *by_clause] if by_name or known.issuperset(result.clauses) else []


def _state(deviation: Deviation, results: Sequence[Result], *, whole: bool) -> State:
    meant = [(verdict, one) for one in results if (verdict := _of(deviation, one)) is not None]
    if any(one.judgement == "F" and verdict in ("fail", "waived") for verdict, one in meant):
        return "used"
    settled = all(
        verdict == "pass" or (verdict == "not_applicable" and one.cause != "not_asked")
        for verdict, one in meant
    )
    passes = any(verdict == "pass" for verdict, _ in meant)
    return "stale" if whole and settled and passes else "unobserved"


def _of(deviation: Deviation, result: Result) -> Verdict | None:
    """What a result says of what the deviation names; None when it says nothing."""
    if is_clause(deviation.id):
        return result.of(deviation.id)
    return result.verdict if names(deviation.id, result) else None
