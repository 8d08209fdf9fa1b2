"""Changes of verdicts between builds of an implementation, and clauses whose verdict varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from mcp_proxy_conformance.report.site.builds import Build
from mcp_proxy_conformance.verdict.result import Verdict

MOST_PAIRS = 120
"""Pairs of builds that have a section each; of more builds, those next to each other have one."""
BROKEN = ("fail", "waived")


@dataclass(frozen=True, slots=True)
class Change:
    """A clause whose verdict is another in a later build."""

    clause: str
    level: str
    before: Verdict
    after: Verdict


@dataclass(frozen=True, slots=True)
class Step:
    """The changes of verdicts from one build to a later one: regressions, `mends`, and others."""

    before: Build
    after: Build
    regressions: tuple[Change, ...]
    mends: tuple[Change, ...]
    others: tuple[Change, ...]

    @property
    def anchor(self) -> str:
        """The anchor of its section on the page of changes."""
        return f"from-{self.before.version}~{self.after.version}"

    @property
    def is_quiet(self) -> bool:
        """Whether nothing changed."""
        return not (self.regressions or self.mends or self.others)


@dataclass(frozen=True, slots=True)
class Moving:
    """A clause whose verdict is not the same in all builds, with its verdict in each."""

    clause: str
    level: str
    verdicts: tuple[Verdict | None, ...]


def step(before: Build, after: Build) -> Step:
    """Return the changes from a build to a later one, of clauses that both runs were asked about.

    From a pass to a failure is a regression, the reverse is in `mends`; a waived failure is a
    failure.
    """
    changes = [
        Change(clause.id, clause.level, old.verdict, clause.verdict)
        for clause in after.report.clauses
        if after.clause(clause.id) is not None
        and (old := before.clause(clause.id)) is not None
        and old.verdict != clause.verdict
    ]
    regressions = tuple(c for c in changes if c.before == "pass" and c.after in BROKEN)
    mends = tuple(c for c in changes if c.after == "pass" and c.before in BROKEN)
    rest = tuple(c for c in changes if c not in regressions and c not in mends)
    return Step(before, after, regressions, mends, rest)


def adjacent(builds: Sequence[Build]) -> list[Step]:
    """Return the steps between builds next to each other; `builds` and steps are newest first."""
    return [step(older, newer) for newer, older in pairwise(builds)]


def pairs(builds: Sequence[Build]) -> list[Step]:
    """Return the steps from each build to each later one; `builds` are in order, newest first.

    If these are more than 120, only those between builds next to each other.
    """
    number = len(builds) * (len(builds) - 1) // 2
    if number > MOST_PAIRS:
        return adjacent(builds)
    return [step(older, newer) for newer, older in combinations(builds, 2)]


def moving(builds: Sequence[Build]) -> list[Moving]:
    """Return the clauses whose verdicts differ among the builds, in the order of the reports.

    Each has its verdict in every build, None where the run was not asked about it; such a gap alone
    is no difference.
    """
    known = {clause.id: clause.level for build in builds for clause in build.report.clauses}
    rows = []
    for clause_id, level in known.items():
        clauses = [build.clause(clause_id) for build in builds]
        verdicts = tuple(None if clause is None else clause.verdict for clause in clauses)
        if len(set(verdicts) - {None}) > 1:
            rows.append(Moving(clause_id, level, verdicts))
    return rows
