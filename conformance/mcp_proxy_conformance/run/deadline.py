"""The time that a run, or one of its checks, may take: an alarm ends whatever goes on then."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEAST_S, AGAIN_S = 0.001, 10.0
"""Seconds until an alarm that is due, and until one that nobody heard rings again."""


class Overdue(BaseException):
    """The time is over, which no check can catch; `of_run` where it is that of the whole run."""

    def __init__(
        self, told: str, *, of_run: bool, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """`meanwhile` is called in another thread when it is raised."""
        self.of_run, self.meanwhile = of_run, meanwhile
        super().__init__(told)


def set_alarm(seconds: float, alarm: Overdue) -> Callable[[], None]:
    """Raise it in the main thread after so many seconds; what is returned takes that back.

    Where a system has no such signal, or in another thread, nothing rings.
    """
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        return lambda: None

    def ring(number: int, frame: object) -> None:
        del number, frame
        threading.Thread(target=alarm.meanwhile).start()
        raise alarm

    began, handler = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    left_s, every_s = signal.setitimer(signal.ITIMER_REAL, max(seconds, LEAST_S), AGAIN_S)

    def cancel() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left_s:  # one that was set before goes on
            due_s = left_s - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(due_s, LEAST_S), every_s)

    return cancel


@contextmanager
def within(seconds: float | None, alarm: Overdue) -> Iterator[None]:
    """Raise it in this block once so many seconds are over; None are without end."""
    if seconds is None:
        yield
        return
    cancel = set_alarm(seconds, alarm)
    try:
        yield
    finally:
        cancel()
