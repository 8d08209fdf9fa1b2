"""Pauses between a loader's attempts: do they differ by more than noise makes of equal ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from mcp_proxy_conformance.resilience.load_case import (
    Behaviour,
    Expected,
    GivenLoad,
    LoadCase,
    LoadServer,
)
from mcp_proxy_conformance.resilience.loads import Load
from mcp_proxy_conformance.verdict.result import Inconclusive

ATTEMPTS, FIRST_PAUSE_S = 3, 0.5
FAILING = tuple(
    LoadServer(
        server_id=name,
        tools=(f"{name}_tool",),
        script=(Behaviour(do="status", on="tools/list", code=503),),
    )
    for name in ("oak", "elm", "ash", "yew", "fir", "bay", "box", "nut")
)
RETRIED = LoadCase(
    id="retried",
    area="time",
    title="Servers that fail at the same time are tried again.",
    source=(),
    clauses=(),
    given=GivenLoad(
        max_attempts=ATTEMPTS, servers=FAILING, controls=False, base_backoff_s=FIRST_PAUSE_S
    ),
    then={server.server_id: Expected(status=("transient",)) for server in FAILING},
)
"""The load in which pauses are measured: long ones, as noise does not grow with them."""
NONE, SOME = 0.010, 0.015
"""The difference of pauses, as a share of their length, up to which they may be equal, and from
which on they may differ."""
WITHIN, BEYOND = 1, 2
"""The same in reactions of the loader: what noise may make of equal pauses, and what it does not,
however busy the machine is."""
UNKNOWN = 1 / 20
"""The reaction, as a share of a pause, of a loader that makes one request an attempt."""
LEAST_S = 1e-9
Retries = Sequence[Sequence[float]]
"""The pauses of several servers before each retry, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How much pauses differ, and how long they are, in seconds.

    `reaction_s`: the median time from an answer to the next request of the same attempt.
    """

    seconds: float
    pause_s: float
    reaction_s: float

    @property
    def share(self) -> float:
        """The difference as a share of the length."""
        return self.seconds / self.pause_s

    @property
    def is_seen(self) -> bool | None:
        """Whether the pauses differ; None if it is not sure whether noise explains it."""
        reactions = self.seconds / self.reaction_s
        if self.share <= NONE and reactions <= WITHIN:
            return False
        return True if self.share >= SOME and reactions >= BEYOND else None

    def __str__(self) -> str:
        return (
            f"pauses of {self.pause_s * 1000:.0f} ms differ by {self.share:.1%}, and the loader "
            f"takes {self.reaction_s * 1000:.0f} ms from an answer to the next request"
        )


def jitter(retries: Retries, reactions: Sequence[float]) -> Difference:
    """Return the mean difference of pauses from the median of all servers before the same retry."""
    typical = [median(pauses) for pauses in retries]
    apart = [abs(p - own) for own, pauses in zip(typical, retries, strict=True) for p in pauses]
    return _difference(fmean(apart), fmean(typical), reactions)


def growth(retries: Retries, reactions: Sequence[float]) -> Difference:
    """Return by how much the median of the last pauses exceeds that of the first ones."""
    first, last = median(retries[0]), median(retries[-1])
    return _difference(last - first, first, reactions)


def _difference(seconds: float, pause_s: float, reactions: Sequence[float]) -> Difference:
    pause_s = max(pause_s, LEAST_S)
    reaction_s = median(reactions) if reactions else pause_s * UNKNOWN
    return Difference(seconds=seconds, pause_s=pause_s, reaction_s=max(reaction_s, LEAST_S))


def timed(load: Load) -> tuple[list[list[float]], list[float]]:
    """Return the pauses of all servers before each retry, and the reactions, in seconds.

    A reaction is the time between two requests of one attempt. Inconclusive if a server has fewer
    than two pauses.
    """
    pauses: list[list[float]] = []
    reactions: list[float] = []
    for server in load.case.servers():
        attempts: dict[int, list[float]] = {}
        for request in load.servers.log(server.server_id):
            attempts.setdefault(request.attempt, []).append(request.at)
        times = [attempts[number] for number in sorted(attempts)]
        if len(times) < ATTEMPTS:
            raise Inconclusive(f"{server.server_id} was tried fewer than three times")
        pauses.append([after[0] - before[-1] for before, after in pairwise(times)])
        reactions += [after - before for own in times for before, after in pairwise(own)]
    return [[*retry] for retry in zip(*pauses, strict=False)], reactions
