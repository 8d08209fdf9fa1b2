"""The number of checks that are judged side by side, by processors, load and the target's waits."""

from __future__ import annotations

import os

MOST, OF_WAITING = 8, 2
"""The most checks at once, and those for each processor where a target is mostly waited for."""
WAITED_S = 0.25
"""Seconds that the probe waits, without work of this process, for such a target."""


def lanes_for(waited_s: float, processors: int, load: float) -> int:
    """Return how many checks to judge at once on a target whose probe waited for so many seconds.

    A check on a busy machine may see a target late that is not: each further process that keeps a
    processor busy takes one of them.
    """
    most = min(processors * (OF_WAITING if waited_s > WAITED_S else 1), MOST)
    return max(1, most - round(max(0.0, load - processors)))


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float:
    """Return how many processes have lately kept processors busy; 0 where that is unknown."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0
