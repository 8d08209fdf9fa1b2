"""Rows as they were observed: symptoms of failures, what rows with one have in common, coverage."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from mcp_proxy_conformance.run.space.space import Pair, Row, Space, in_words
from mcp_proxy_conformance.verdict.coverage import RANKS, Coverage, Status, Uncovered
from mcp_proxy_conformance.verdict.result import Finding

MOST_REPLAYS = 12
"""Replays by which a failing row is made smaller."""


class Symptom(NamedTuple):
    """What failures have in common: the clauses, and the finding with its names masked."""

    clauses: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One row of a scenario after a run; `status` is why it was not looked at, empty if it was."""

    scenario: str
    row: Row
    status: Status | None = None
    reason: str = ""
    symptoms: frozenset[Symptom] = frozenset()


def symptom_of(finding: Finding) -> Symptom:
    """Return the symptom of a finding: its path and a word observed, names and numbers masked."""
    word = f" {finding.observed}" if isinstance(finding.observed, str) else ""
    kind = finding.path + word
    for matter in finding.about:
        kind = kind.replace(matter.name, "*")
    return Symptom(finding.clauses, re.sub(r"\d+", "N", kind))


def wherever(space: Space, symptom: Symptom, observed: Iterable[Observed]) -> str:
    """Return where a symptom shows, in words, with the numbers of observations with and without.

    It is the value, or the pair of values, that tells the rows with the symptom from the others
    best. Empty if nothing unusual is common to them.
    """
    rows = [(space.bare(o.row), symptom in o.symptoms) for o in observed if o.status is None]
    failed = [row for row, fails in rows if fails]
    if not failed:
        return ""
    best, place = 0.0, dict[str, str]()
    for size in (1, 2):  # one value, unless a pair tells better
        shared = (each for row in failed[:MOST_REPLAYS] for each in combinations(row.items(), size))
        for items in dict.fromkeys(shared):
            having = [fails for row, fails in rows if dict(items).items() <= row.items()]
            score = 2 * sum(having) / (len(failed) + len(having))
            if score > best:
                best, place = score, dict(items)
    if not place:
        return ""
    having = [fails for row, fails in rows if place.items() <= row.items()]
    others = [fails for row, fails in rows if not place.items() <= row.items()]
    return (
        f"wherever {in_words(place)} ({sum(having)} of {len(having)} observations; "
        f"without: {sum(others)} of {len(others)})"
    )


def smaller(
    space: Space, row: Row, fails: Callable[[Sequence[Row]], Sequence[bool]], until: float
) -> Row:
    """Return the row with defaults for the values without which it fails as well.

    `fails` says of each of several rows, played at the same time, whether it does; at most a dozen
    are played, and none after `until`.
    """
    kept = space.bare(row)
    without = {name: space.cut({n: v for n, v in kept.items() if n != name}, _needed(space, kept))
               for name in kept}  # fmt: skip
    tried = [name for name in kept if name not in without[name]][: MOST_REPLAYS - 2]
    if time.monotonic() > until or not tried:
        return kept
    failing = fails([without[name] for name in tried])
    spare = [name for name, failed in zip(tried, failing, strict=True) if failed]
    if not spare:
        return kept
    small = space.cut({n: v for n, v in kept.items() if n not in spare}, _needed(space, kept))
    return small if time.monotonic() < until and all(fails([small])) else without[spare[0]]


def _needed(space: Space, row: Row) -> Collection[str]:
    return {word for name, value in row.items() for word in space.values[name][value].needs.split()}


def coverage(
    space: Space, observed: Iterable[Observed], capabilities: Collection[str], version: int | None
) -> Coverage:
    """Return which pairs of values were looked at, and why the others were not."""
    seen: set[Pair] = set()
    lost: dict[Pair, tuple[int, str]] = {}
    for each in observed:
        pairs = space.pairs_of(each.row)
        if each.status is None:
            seen.update(pairs)
            continue
        reason = RANKS.index(each.status), each.reason
        for pair in pairs:
            lost[pair] = min(lost.get(pair, reason), reason)
    left: dict[tuple[Status, str], list[str]] = defaultdict(list)
    played = space.reduced(capabilities, version)
    for pair, sentence in space.pairs.items():
        if sentence:
            left["excluded", sentence].append(in_words(dict(pair)))
        elif pair not in seen:
            left[_why(space, played, pair, lost)].append(in_words(dict(pair)))
    return Coverage(
        space=space.name,
        version=version or space.version,
        looked_at=len(seen),
        uncovered=tuple(
            Uncovered(status=status, reason=reason, tuples=tuple(pairs))
            for (status, reason), pairs in left.items()
        ),
    )


def _why(
    space: Space, played: Space, pair: Pair, lost: Mapping[Pair, tuple[int, str]]
) -> tuple[Status, str]:
    """Return why a pair was not looked at; `played` is the space of this target."""
    if pair in lost:
        rank, reason = lost[pair]
        return RANKS[rank], reason
    for name, word in pair:
        value = space.values[name][word]
        if word not in played.values[name]:
            if value.needs:
                return "capability", f"{value.needs.replace(' ', ', ')} is not declared"
            return "excluded", f"an older version of the space has no {name}={word}"
    if played.excluded(dict(pair)):
        return "capability", "what can have both is not declared"
    return "unarmed", "no scenario that is played here has both"
