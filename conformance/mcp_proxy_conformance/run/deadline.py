"""The time limit of a run, or of one of its checks: an alarm that interrupts the main thread."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEAST_S, AGAIN_S = 0.001, 10.0
"""Seconds until an alarm that is due, and until one that was swallowed is raised again."""


class OutOfTime(BaseException):
    """The time of a check or (`of_run`) of the whole run is over.

    It is a BaseException, so that no check catches it.
    """

    def __init__(
        self, message: str, *, of_run: bool, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        """Keep the members; the alarm calls `meanwhile` in another thread when it raises this."""
        self.of_run, self.meanwhile = of_run, meanwhile
        super().__init__(message)


def set_alarm(seconds: float, alarm: OutOfTime) -> Callable[[], None]:
    """Raise `alarm` in the main thread after `seconds` (0 or less: at once), then every 10 s.

    Each time its `meanwhile` is called in a new thread. Return a function that cancels it and
    resumes an alarm set earlier. Without SIGALRM, or outside the main thread, nothing is
    raised.
    """
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        return lambda: None

    def ring(number: int, frame: object) -> None:
        """Handle SIGALRM: call the alarm's `meanwhile` in a new thread and raise the alarm."""
        del number, frame
        threading.Thread(target=alarm.meanwhile).start()
        raise alarm

    began, handler = time.monotonic(), signal.signal(signal.SIGALRM, ring)
    left_s, every_s = signal.setitimer(signal.ITIMER_REAL, max(seconds, LEAST_S), AGAIN_S)

    def cancel() -> None:
        """Stop this alarm, restore the earlier handler, resume an earlier alarm for its rest."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left_s:  # an alarm that was set before continues
            due_s = left_s - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(due_s, LEAST_S), every_s)

    return cancel


@contextmanager
def within(seconds: float | None, alarm: OutOfTime) -> Iterator[None]:
    """Raise `alarm` in the main thread if the block takes over `seconds`; None is no limit.

    It is raised again every 10 s until the block ends. Without SIGALRM, or outside the main
    thread, nothing is raised.
    """
    if seconds is None:
        yield
        return
    cancel = set_alarm(seconds, alarm)
    try:
        yield
    finally:
        cancel()


@contextmanager
def postponed() -> Iterator[None]:
    """Postpone an alarm that is due during the block to its end, where it is raised.

    For third-party code that would take the alarm's exception for a failure of its own. Outside the
    main thread, or without an alarm, nothing is done.
    """
    ring = signal.getsignal(signal.SIGALRM) if hasattr(signal, "SIGALRM") else None
    if not callable(ring) or threading.current_thread() is not threading.main_thread():
        yield
        return
    due = threading.Event()
    signal.signal(signal.SIGALRM, lambda *_: due.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, ring)
        if due.is_set():
            ring(signal.SIGALRM, None)
