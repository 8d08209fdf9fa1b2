"""Coverage of a space by a run: which pairs of values were looked at, and why others were not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal

import msgspec

Status = Literal["excluded", "capability", "unarmed", "masked", "left_out"]
"""Why a pair of values was not looked at."""
MISSED: tuple[Status, ...] = ("masked", "unarmed", "left_out")
"""Statuses of admissible pairs, the most telling first."""
RANKS: tuple[Status, ...] = ("excluded", "capability", *MISSED)


class Uncovered(msgspec.Struct, frozen=True, kw_only=True):
    """Pairs of values that were not looked at for one reason, as `framing=crlf, event=503`."""

    status: Status
    reason: str
    tuples: tuple[str, ...]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """The coverage of one space: the number of pairs looked at, and the others by reason."""

    space: str
    version: int
    looked_at: int
    uncovered: tuple[Uncovered, ...] = ()

    @property
    def missed(self) -> Counter[Status]:
        """The numbers of admissible pairs that were not looked at, by status."""
        counts = Counter[Status]()
        for each in self.uncovered:
            counts[each.status] += len(each.tuples) if each.status in MISSED else 0
        return +counts

    @property
    def missed_by_dimensions(self) -> Counter[tuple[str, str]]:
        """The numbers of admissible pairs that were not looked at, by their two dimensions."""
        pairs = (pair for each in self.uncovered if each.status in MISSED for pair in each.tuples)
        halves = (pair.partition(", ") for pair in pairs)
        return Counter((one.partition("=")[0], two.partition("=")[0]) for one, _, two in halves)

    @property
    def admissible(self) -> int:
        """The number of pairs that neither a constraint nor an undeclared capability rules out."""
        return self.looked_at + self.missed.total()


def merged(parts: Sequence[Coverage]) -> Coverage:
    """Return the coverage by a whole run of one or more parts, all of the same space."""
    first, *_ = parts
    listed = [{pair: each for each in part.uncovered for pair in each.tuples} for part in parts]
    left: dict[tuple[Status, str], list[str]] = defaultdict(list)
    common = [pair for pair in listed[0] if all(pair in other for other in listed)]
    for pair in common:
        told = min((other[pair] for other in listed), key=lambda each: RANKS.index(each.status))
        left[told.status, told.reason].append(pair)
    return Coverage(
        space=first.space,
        version=first.version,
        looked_at=first.looked_at + len(listed[0]) - len(common),
        uncovered=tuple(
            Uncovered(status=status, reason=reason, tuples=tuple(pairs))
            for (status, reason), pairs in left.items()
        ),
    )
