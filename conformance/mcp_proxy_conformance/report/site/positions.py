"""Positions of implementations on a clause: who passes, who fails, who does not declare it."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.report.site.builds import Build, Record


@dataclass(frozen=True, slots=True)
class Positions:
    """The newest builds that were asked about a clause, by what was found of each."""

    clause: str
    level: str
    passes: tuple[Build, ...]
    fails: tuple[Build, ...]
    undeclared: tuple[Build, ...]
    unsettled: tuple[Build, ...]
    elsewhere: tuple[Build, ...]

    @property
    def split(self) -> tuple[int, int]:
        """How evenly implementations split: (number on the smaller side, number on both sides).

        The sides are those that pass and those that fail.
        """
        sides = [{build.implementation for build in side} for side in (self.passes, self.fails)]
        return min(map(len, sides)), sum(map(len, sides))

    @property
    def is_compared(self) -> bool:
        """Whether at least two implementations pass or fail it."""
        return len({build.implementation for build in (*self.passes, *self.fails)}) > 1

    @property
    def is_split(self) -> bool:
        """Whether at least one implementation passes and at least one other fails."""
        return self.is_compared and self.split[0] > 0


def positions(record: Record) -> list[Positions]:
    """Return the positions on every clause of the record, in the order of the catalogue.

    Levels are those of the catalogue; of clauses that it does not have, those of the reports.
    """
    known = catalogue().clauses
    order = {clause_id: number for number, clause_id in enumerate(known)}
    levels = {
        clause.id: known[clause.id].level if clause.id in known else clause.level
        for build in record.builds
        for clause in build.report.clauses
    }
    ids = sorted(levels, key=lambda clause_id: (order.get(clause_id, len(order)), clause_id))
    return [_positions(clause_id, levels[clause_id], record) for clause_id in ids]


def disagreements(every: list[Positions]) -> list[Positions]:
    """Return the positions on clauses that one implementation passes and another fails, sorted.

    First those with most implementations on the smaller side, then with most on both, then those
    that are required.
    """
    split = [each for each in every if each.is_split]
    return sorted(
        split, key=lambda each: (-each.split[0], -each.split[1], each.level != "required")
    )


def _positions(clause_id: str, level: str, record: Record) -> Positions:
    """Return the positions of the newest builds on one clause; a waived failure is a failure.

    Builds that it does not apply to are `undeclared` if they do not declare a capability that it
    needs, otherwise `elsewhere`.
    """
    asked = [
        (build, clause)
        for build in record.newest
        if (clause := build.clause(clause_id)) is not None
    ]
    return Positions(
        clause=clause_id,
        level=level,
        passes=tuple(build for build, clause in asked if clause.verdict == "pass"),
        fails=tuple(build for build, clause in asked if clause.verdict in ("fail", "waived")),
        undeclared=tuple(
            build
            for build, clause in asked
            if clause.verdict == "not_applicable" and clause.cause == "not_declared"
        ),
        unsettled=tuple(
            build for build, clause in asked if clause.verdict in ("inconclusive", "error")
        ),
        elsewhere=tuple(
            build
            for build, clause in asked
            if clause.verdict == "not_applicable" and clause.cause != "not_declared"
        ),
    )
