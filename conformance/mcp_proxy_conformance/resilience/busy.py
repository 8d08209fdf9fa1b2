"""How busy this machine is: how long a program takes to start."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import suppress

NOTHING = (sys.executable, "-I", "-S", "-c", "")
EVERY_S = 0.5
BUSY_S = 0.25
"""Seconds for the start of a program by which a machine is too busy; beside a run it takes 0.1."""


class Starts:
    """Starts of a program that does nothing, twice a second while they are measured."""

    def __init__(self) -> None:
        """Measure nothing yet."""
        self._took: list[tuple[float, float]] = []
        self._since = 0.0
        self._closed = threading.Event()

    def measure(self) -> None:
        """Begin to measure, in the background, until it is closed."""
        threading.Thread(target=self._measure, name="starts", daemon=True).start()

    def slow(self, since: float, until: float, over_s: float) -> float:
        """Return the share of the time between two monotonic times in which starts were slow.

        These took more than `over_s` seconds, or do so by now. 0 if nothing is measured.
        """
        began, now = self._since, time.monotonic()
        starts = [*self._took, *([(began, now)] if began else [])]
        slow = (min(end, until) - max(at, since) for at, end in starts if end - at > over_s)
        return sum(each for each in slow if each > 0) / max(until - since, EVERY_S)

    def close(self) -> None:
        """Measure no more."""
        self._closed.set()

    def _measure(self) -> None:
        while not self._closed.wait(EVERY_S):
            self._since = began = time.monotonic()
            with suppress(OSError):
                subprocess.run(NOTHING, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - python
            self._took.append((began, time.monotonic()))
            self._since = 0.0
