"""How busy this machine is: how long a program takes to start."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

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

    def longest(self, since: float, until: float) -> float:
        """Return the most seconds of one that was under way between two monotonic times, or 0.

        One that has not ended counts as long as it has taken.
        """
        lately = [(self._since, time.monotonic())] if self._since else []
        within = (end - at for at, end in [*self._took, *lately] if end >= since and at <= until)
        return max(within, default=0.0)

    def close(self) -> None:
        """Measure no more."""
        self._closed.set()

    def _measure(self) -> None:
        while not self._closed.wait(EVERY_S):
            self._since = began = time.monotonic()
            subprocess.run(NOTHING, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - python
            self._took.append((began, time.monotonic()))
            self._since = 0.0
