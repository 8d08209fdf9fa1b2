"""Order trials: checks of the reference run backwards or alone must give the same verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_proxy_conformance.catalogue.index import Check
from mcp_proxy_conformance.run.request import RunRequest, Selection
from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.matrix import LIMIT_S
from mcp_proxy_conformance.selftest.row import MatrixRow
from mcp_proxy_conformance.selftest.trial import Verdicts, trial, tried
from mcp_proxy_conformance.targets.target import Target

BACKWARDS, ALONE = "order-backwards", "order-alone"
WAYS = {
    BACKWARDS: "The checks run in reverse order.",
    ALONE: "Each check runs alone.",
}
ABSENT = "no verdict"
CaseVerdicts = dict[tuple[str, str | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One run of checks on the unchanged reference: all in the order `way`, or one check alone.

    `make` makes the reference.
    """

    make: Callable[[], Target]
    way: str = ""
    check: Check | None = None

    def request(self) -> RunRequest:
        """Return the request of this turn, on the reference: all checks in its order, or one alone.

        One alone is selected by its name, and the run is narrowed to the clauses that it cites.
        """
        if self.check is None:
            return trial(self.make(), Selection(backwards=self.way == BACKWARDS))
        cited = frozenset(self.check.clauses)
        return trial(self.make(), Selection(clauses=cited, alone=self.check.name))


def rows(
    ways: Iterable[str],
    alone: Sequence[Check],
    make: Callable[[], Target],
    folder: Path,
    *,
    at_once: int,
) -> list[MatrixRow]:
    """Run the checks in each of these ways and once in usual order; return a row for each way.

    `ways` are keys of WAYS; without any, nothing runs. `alone` are the checks for ALONE, each in a
    run of its own; `make` makes the reference. A row is `misbehaved` if verdicts differ from those
    in the usual order. Each run has a forked process, `at_once` at a time, its report in `folder`.
    """
    wanted = [way for way in WAYS if way in set(ways)]
    if not wanted:
        return []
    turns = [Turn(make=make), *(Turn(make=make, way=way) for way in wanted if way != ALONE)]
    turns += [Turn(make=make, way=ALONE, check=check) for check in alone if ALONE in wanted]
    names = {check.name for check in alone}
    by_way: dict[str, CaseVerdicts] = {}
    seconds: dict[str, float] = {}

    def work(turn: Turn) -> Verdicts:
        """Run one turn, its report in a folder of its own; return the verdicts."""
        name = turn.check.name if turn.check else turn.way or "in-order"
        return tried(turn.request(), folder / "order" / name)

    for outcome in forked(work, turns, folder / "order", at_once=at_once, limit_s=LIMIT_S):
        way = outcome.job.way
        seconds[way] = seconds.get(way, 0.0) + outcome.seconds
        by_way.setdefault(way, {}).update(
            _case_verdicts(outcome.value, outcome.job, outcome.failure)
        )
    of_those = {pair: verdict for pair, verdict in by_way[""].items() if pair[0] in names}
    return [
        _row(
            way,
            differing(of_those if way == ALONE else by_way[""], by_way.get(way, {})),
            seconds.get(way, 0.0),
        )
        for way in wanted
    ]


def differing(in_order: CaseVerdicts, other: CaseVerdicts) -> dict[str, str]:
    """Map each check whose verdict differs in two runs to a sentence on its first differing case.

    A verdict that only one of the runs has differs too.
    """
    differences: dict[str, str] = {}
    for check, case in dict.fromkeys([*in_order, *other]):
        was, now = (verdicts.get((check, case), ABSENT) for verdicts in (in_order, other))
        if was != now:
            name = f"{check}[{case}]" if case else check
            differences.setdefault(check, f"{name}: {was} in the usual order, {now} in this run")
    return differences


def _case_verdicts(verdicts: Verdicts | None, turn: Turn, failure: str) -> CaseVerdicts:
    """Map (check, case) to its verdict, with None for no case.

    Without verdicts, map (the turn's check or way, None) to `failure` alone.
    """
    if verdicts is None:
        return {(turn.check.name if turn.check else turn.way or "in-order", None): failure}
    return {(result["check"], result["case"]): result["verdict"] for result in verdicts.every}


def _row(way: str, differences: Mapping[str, str], seconds: float) -> MatrixRow:
    """Return the row of one way to run the checks: `misbehaved` if verdicts differ, else `behaved`.

    Its reason joins the sentences of `differences`, which are by check.
    """
    return MatrixRow(
        id=way,
        kind="order",
        text=WAYS[way],
        clauses=(),
        cell="misbehaved" if differences else "behaved",
        by=tuple(differences),
        reason="; ".join(differences.values()),
        seconds=round(seconds, 2),
    )
