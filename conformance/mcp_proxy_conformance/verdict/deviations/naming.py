"""What a deviation may name: a clause, a check or a case; and which results it then means."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache

from mcp_proxy_conformance.catalogue.index import checks, cited_by_case, split
from mcp_proxy_conformance.catalogue.requirement import catalogue, profiles
from mcp_proxy_conformance.verdict.result import Result

OWN, SHOWN = "SUITE.", 80
"""How clauses begin that are the suite's own comparisons; how much of a wrong name is told."""


def names(wanted: str, result: Result) -> bool:
    """Whether the id of a deviation is that of the result's check or case, or of both."""
    check, case = split(wanted)
    return check in ("", result.check) and case in ("", result.case or "") and bool(check or case)


def is_clause(wanted: str) -> bool:
    """Whether the id is that of a clause."""
    return wanted in catalogue().clauses


def strays(wanted: Iterable[str], collected: Collection[tuple[str, str | None]]) -> dict[str, str]:
    """Of these ids the ones that name a case which their check has not, each with the nearest.

    Args:
        wanted: Ids of deviations.
        collected: Every check of the run by its name and case, before any was left out.
    """
    found: dict[str, str] = {}
    for one in wanted:
        check, case = split(one) if not is_clause(one) else ("", "")
        known = [other or "" for name, other in collected if name == check]
        if case and known and case not in known:
            near = get_close_matches(case, known, 1, 0.0)[0]
            found[one] = f"{check}[{near}]" if near else check
    return found


def why_not(wanted: str) -> str:
    """Why nothing of that name can be waived, with the repair; empty when it can."""
    cited = _cited(wanted)
    if cited is None:
        near = get_close_matches(wanted[:SHOWN], _known(), 1, 0.0)
        return f"there is no clause, check or case {wanted[:SHOWN]!r}; the nearest is {near[0]!r}"
    firm = [one for one in cited if catalogue().clause(one).judgement == "F"]
    if not firm:
        return f"{wanted} is advisory and never counts; take the entry out"
    if all(one.startswith(OWN) for one in firm):
        return f"{wanted} is never waived; take changes over with `baseline accept`"
    return ""


def _cited(wanted: str) -> tuple[str, ...] | None:
    """The clauses that the id stands for; None when there is nothing of that name."""
    if is_clause(wanted):
        return (wanted,) if wanted in _known() else None
    check, case = split(wanted)
    by_name = {one.name: one.clauses for one in checks()}
    if check:
        return by_name.get(check)
    return cited_by_case().get(case)


@cache
def _known() -> tuple[str, ...]:
    """Every clause of a profile, every check and every case."""
    clauses = dict.fromkeys(one for profile in profiles() for one in profile.clauses)
    return (*clauses, *(one.name for one in checks()), *cited_by_case())
