"""Signals that end a run: an interruption that nobody heard of is raised again."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator

import pytest

AGAIN_S = 5.0
"""Seconds for ending what was begun: a signal that comes sooner after another is the same one."""


class Interruption:
    """A handler of signals that raises KeyboardInterrupt.

    The interpreter drops what is raised where nobody could catch it, as in a finalizer, and so may
    other people's code; `again` raises it once more, and so does a signal that comes later.
    """

    def __init__(self) -> None:
        """None has come yet."""
        self._came: float | None = None

    def __call__(self, number: int, frame: object) -> None:
        """A signal has come."""
        del number, frame
        now = time.monotonic()
        if self._came is None or now - self._came >= AGAIN_S:
            self._came = now
            raise KeyboardInterrupt

    def again(self) -> None:
        """Raise KeyboardInterrupt if a signal has come."""
        if self._came is not None:
            raise KeyboardInterrupt

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Raise an interruption from here.

        CPython 3.11 knows no line number for some places where a signal is met, and pytest breaks
        when it prints such a one.
        """
        try:
            return (yield)
        except KeyboardInterrupt as interruption:
            if type(interruption) is not KeyboardInterrupt:  # pytest has ends of its own
                raise
            raise KeyboardInterrupt from None

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Likewise."""
        return (yield from self.pytest_runtestloop())


INTERRUPTION = pytest.StashKey[Interruption]()


def heed(config: pytest.Config, *numbers: signal.Signals) -> None:
    """These signals interrupt until the run is over; then they are again what they were.

    A run that was interrupted ignores them from then on, and leaves them so.
    """
    heard = config.stash.setdefault(INTERRUPTION, Interruption())
    if not config.pluginmanager.is_registered(heard):
        config.pluginmanager.register(heard)
    before = {number: signal.signal(number, heard) for number in numbers}

    def end() -> None:
        for number, handler in before.items():
            if signal.getsignal(number) is heard:
                signal.signal(number, handler)

    config.add_cleanup(end)
