"""Deviation (a known failure, excused until a date), the ids it may have, faults of its file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from difflib import get_close_matches
from functools import cache
from typing import Literal

import msgspec

from mcp_proxy_conformance.catalogue.index import checks, cited_by_case, split
from mcp_proxy_conformance.catalogue.requirement import catalogue, nearest, profiles
from mcp_proxy_conformance.verdict.result import Result

FILE = "mcp-proxy-conformance-deviations.toml"
"""The file that a run reads from its working folder, unless another one is named."""


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """A failure that does not count until a date, and the line of its entry.

    `id` is a clause, a check, a case, or a check with its case in brackets. `expires` is the last
    day, in UTC, on which it holds. `file` is written as the user named it.
    """

    id: str
    reason: str
    issue: str
    expires: date
    file: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One reason why a file cannot be used: one sentence with the place and the repair.

    `kind`: the file is malformed, or what it says is no longer, or never was, true.
    """

    file: str
    line: int
    text: str
    kind: Literal["form", "outdated"] = "form"

    def __str__(self) -> str:
        """Return FILE:LINE and the sentence."""
        return f"{self.file}:{self.line}: {self.text}"


class BadDeviations(ValueError):
    """A file of deviations that cannot be used; its message has one line for each fault."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        """Keep the faults, of which there is at least one, and make the message of them."""
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, faults)))

    @property
    def is_formal(self) -> bool:
        """Whether at least one fault is that the file is malformed."""
        return any(fault.kind == "form" for fault in self.faults)


def today() -> date:
    """Return the date in UTC."""
    return datetime.now(UTC).date()


OWN, SHOWN = "SUITE.", 80
"""Prefix of clauses that are the suite's own comparisons; shown characters of a wrong name."""


def names(wanted: str, result: Result) -> bool:
    """Whether a deviation's id names this result: by its check, its case, or both.

    False for an id that is of a clause.
    """
    check, case = split(wanted)
    return check in ("", result.check) and case in ("", result.case or "") and bool(check or case)


def is_clause(wanted: str) -> bool:
    """Whether the id is that of a clause in the catalogue."""
    return wanted in catalogue().clauses


def strays(wanted: Iterable[str], collected: Collection[tuple[str, str | None]]) -> dict[str, str]:
    """Map each id with a case that its check does not have to the nearest id of that check.

    Ids of clauses, of cases alone, and of checks that are not in the run, are left out. `collected`
    are the (check, case) pairs of the whole run.
    """
    nearest: dict[str, str] = {}
    for wanted_id in wanted:
        check, case = split(wanted_id) if not is_clause(wanted_id) else ("", "")
        known = [other or "" for name, other in collected if name == check]
        if case and known and case not in known:
            near = get_close_matches(case, known, 1, 0.0)[0]
            nearest[wanted_id] = f"{check}[{near}]" if near else check
    return nearest


def why_not(wanted: str) -> str:
    """Return why this id cannot be waived, with the repair; "" if it can.

    It cannot if it is unknown, or if it cites no required clause but the suite's own.
    Of `check[case]` only the check is looked at: for the case see `strays`.
    """
    cited = _cited(wanted)
    if cited is None:
        near = nearest(wanted[:SHOWN], _known())
        return f"there is no clause, check or case {wanted[:SHOWN]!r}; the nearest is {near!r}"
    firm = [clause_id for clause_id in cited if catalogue().clause(clause_id).level == "required"]
    if not firm:
        return f"{wanted} is advisory and never counts; take the entry out"
    if all(clause_id.startswith(OWN) for clause_id in firm):
        return f"{wanted} cannot be waived; accept the new answers with `baseline accept`"
    return ""


def _cited(wanted: str) -> tuple[str, ...] | None:
    """Return the clauses that an id stands for; None if nothing has that name.

    A clause of a profile stands for itself, a check or case for those that it cites.
    """
    if is_clause(wanted):
        return (wanted,) if wanted in _known() else None
    check, case = split(wanted)
    by_name = {entry.name: entry.clauses for entry in checks()}
    if check:
        return by_name.get(check)
    return cited_by_case().get(case)


@cache
def _known() -> tuple[str, ...]:
    clauses = dict.fromkeys(clause_id for profile in profiles() for clause_id in profile.clauses)
    return (*clauses, *(check.name for check in checks()), *cited_by_case())
