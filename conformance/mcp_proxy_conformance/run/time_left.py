"""Estimate of the time that is left of a run, from what its checks have taken so far."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from mcp_proxy_conformance.run.collection import Place

Kind = Literal["fresh", "stage", "later", "examples", "load", "law"]
"""Kinds of checks by cost: with a target of its own, the first of a stage, a later one of it; the
first that needs the generated examples; that of one load; that of a law that is tried."""
WEIGHTS: Mapping[Kind, float] = {
    "fresh": 8, "stage": 5, "later": 1, "examples": 240, "load": 2, "law": 0.2,
}  # fmt: skip
"""The cost of a check of each kind beside the others, as measured on the bundled targets."""
SURE = 4
"""Checks of a kind whose mean counts as much as its weight."""
LEAST_S, LEAST_CHECKS = 3.0, 3
"""Seconds and checks before which nothing is estimated."""
LATE, LATE_S = 2.0, 2.0
"""A check beyond so many times its estimate, and seconds, makes that of the run worthless."""


def kinds(places: Sequence[Place | None]) -> list[Kind]:
    """Return the kind of each check, by its place and whether it is the first check there.

    `places` has the place of each check in order; all checks without one count as those of one
    stage.
    """
    known: set[str] = set()
    kind_of_each: list[Kind] = []
    for place in places:
        name = place.name if place is not None else ""
        first = name not in known
        known.add(name)
        if place is not None and place.is_generated:
            kind_of_each.append("examples" if first else "law")
        elif place is not None and not place.world.servers:
            kind_of_each.append("load")
        elif place is not None and place.fresh:
            kind_of_each.append("fresh")
        else:
            kind_of_each.append("stage" if first else "later")
    return kind_of_each


class TimeLeft:
    """The checks of a run that have yet to end, by kind, and the seconds that the others took."""

    def __init__(self, checks: Sequence[Kind]) -> None:
        """Keep the kinds of the checks in their order; the first one begins now."""
        self._checks, self._done = checks, 0
        self._remaining, self._number = Counter(checks), Counter[Kind]()
        self._spent: dict[Kind, float] = dict.fromkeys(WEIGHTS, 0.0)
        self._since = time.monotonic()

    def ended(self) -> None:
        """Note the end of the current check, with its seconds by kind; the next one begins."""
        now = time.monotonic()
        if self._done < len(self._checks):
            kind = self._checks[self._done]
            self._remaining[kind] -= 1
            self._number[kind] += 1
            self._spent[kind] += now - self._since
        self._done, self._since = self._done + 1, now

    @property
    def part(self) -> float:
        """The part of the run that is done, from 0 to 1, by the weights of its checks.

        It is 0.0 for a run without checks.
        """
        whole = sum(WEIGHTS[kind] for kind in self._checks)
        return self._weight / whole if whole else 0.0

    @property
    def _weight(self) -> float:
        """The sum of the weights of the checks that have ended."""
        return sum(WEIGHTS[kind] * number for kind, number in self._number.items())

    @property
    def seconds(self) -> float | None:
        """The estimated seconds that are left, by weights corrected with each kind's mean so far.

        None in the first 3 s or 3 checks, after the last check, and while a check takes far longer
        than others of its kind.
        """
        took = sum(self._spent.values())
        if took < LEAST_S or self._done < LEAST_CHECKS or self._done >= len(self._checks):
            return None
        pace = took / self._weight
        means = {
            kind: (self._spent[kind] + SURE * weight * pace) / (self._number[kind] + SURE)
            for kind, weight in WEIGHTS.items()
        }
        current = means[self._checks[self._done]]
        spent = time.monotonic() - self._since
        if spent > LATE * current + LATE_S:
            return None
        left = sum(means[kind] * number for kind, number in self._remaining.items()) - current
        return left + max(0.0, current - spent)
