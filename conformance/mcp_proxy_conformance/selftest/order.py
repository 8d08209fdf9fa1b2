"""Verdicts on the reference must not depend on which checks ran before: in reverse, and alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_proxy_conformance.catalogue.index import Check
from mcp_proxy_conformance.run.request import RunRequest, Selection
from mcp_proxy_conformance.selftest.forking import forked
from mcp_proxy_conformance.selftest.matrix import LIMIT_S, reference
from mcp_proxy_conformance.selftest.row import Row
from mcp_proxy_conformance.selftest.trial import Verdicts, trial, tried

BACKWARDS, ALONE = "order-backwards", "order-alone"
WAYS = {
    BACKWARDS: "The checks run in reverse order.",
    ALONE: "Each check runs alone.",
}
ABSENT = "no verdict"
Told = dict[tuple[str, str | None], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One run of the checks: all of them in a way, or one alone."""

    way: str = ""
    check: Check | None = None

    def request(self) -> RunRequest:
        """The run of the unchanged reference."""
        if self.check is None:
            return trial(reference(), Selection(backwards=self.way == BACKWARDS))
        cited = frozenset(self.check.clauses)
        return trial(reference(), Selection(clauses=cited, alone=self.check.name))


def rows(ways: Iterable[str], alone: Sequence[Check], folder: Path, *, at_once: int) -> list[Row]:
    """A row for each way: `misbehaved` by the checks whose verdicts differ from those in order.

    Args:
        ways: Of WAYS.
        alone: The checks that are run alone, if that is among the ways.
        folder: Where the reports go.
        at_once: How many processes.
    """
    wanted = [way for way in WAYS if way in set(ways)]
    if not wanted:
        return []
    turns = [Turn(), *(Turn(way=way) for way in wanted if way != ALONE)]
    turns += [Turn(way=ALONE, check=one) for one in alone if ALONE in wanted]
    names = {one.name for one in alone}
    told: dict[str, Told] = {}
    seconds: dict[str, float] = {}

    def work(turn: Turn) -> Verdicts:
        name = turn.check.name if turn.check else turn.way or "in-order"
        return tried(turn.request(), folder / "order" / name)

    for outcome in forked(work, turns, folder / "order", at_once=at_once, limit_s=LIMIT_S):
        way = outcome.job.way
        seconds[way] = seconds.get(way, 0.0) + outcome.seconds
        told.setdefault(way, {}).update(_told(outcome.value, outcome.job, outcome.failure))
    of_those = {pair: verdict for pair, verdict in told[""].items() if pair[0] in names}
    return [
        _row(
            way,
            differing(of_those if way == ALONE else told[""], told.get(way, {})),
            seconds.get(way, 0.0),
        )
        for way in wanted
    ]


def differing(in_order: Told, other: Told) -> dict[str, str]:
    """Each check whose verdicts differ, with the first difference."""
    found: dict[str, str] = {}
    for check, case in dict.fromkeys([*in_order, *other]):
        was, now = (told.get((check, case), ABSENT) for told in (in_order, other))
        if was != now:
            name = f"{check}[{case}]" if case else check
            found.setdefault(check, f"{name}: {was} in order, {now} so")
    return found


def _told(found: Verdicts | None, turn: Turn, failure: str) -> Told:
    if found is None:
        return {(turn.check.name if turn.check else turn.way or "in-order", None): failure}
    return {(one["check"], one["case"]): one["verdict"] for one in found.every}


def _row(way: str, differences: Mapping[str, str], seconds: float) -> Row:
    return Row(
        id=way,
        kind="order",
        text=WAYS[way],
        clauses=(),
        cell="misbehaved" if differences else "behaved",
        by=tuple(differences),
        reason="; ".join(differences.values()),
        seconds=round(seconds, 2),
    )
