"""Signal handler that ends a run by KeyboardInterrupt, raised again if the interpreter drops it."""

from __future__ import annotations

import signal
import time
from collections.abc import Generator

import pytest

AGAIN_S = 5.0
"""Seconds in which a repeated signal counts as the same one, while the run cleans up."""


class Interruption:
    """Signal handler that raises KeyboardInterrupt; also a pytest plugin.

    The interpreter drops exceptions raised where nobody can catch them, as in a finalizer, and so
    may third-party code; `again` raises it once more, and so does a later signal.
    """

    def __init__(self) -> None:
        """Begin as if no signal had been received."""
        self._raised_at: float | None = None

    def __call__(self, number: int, frame: object) -> None:
        """Raise KeyboardInterrupt, unless it did so less than 5 s ago."""
        del number, frame
        now = time.monotonic()
        if self._raised_at is None or now - self._raised_at >= AGAIN_S:
            self._raised_at = now
            raise KeyboardInterrupt

    def again(self) -> None:
        """Raise KeyboardInterrupt if any signal was received before; else do nothing."""
        if self._raised_at is not None:
            raise KeyboardInterrupt

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Let the loop run; raise its KeyboardInterrupt anew from this frame.

        CPython 3.11 has no line number for some places where a signal arrives, and pytest
        breaks when it prints such a traceback.
        """
        try:
            return (yield)
        except KeyboardInterrupt as interruption:
            if type(interruption) is not KeyboardInterrupt:  # pytest has subclasses of its own
                raise
            raise KeyboardInterrupt from None

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Let the collection run; raise its KeyboardInterrupt anew from this frame."""
        return (yield from self.pytest_runtestloop())


INTERRUPTION = pytest.StashKey[Interruption]()


def heed(config: pytest.Config, *numbers: signal.Signals) -> None:
    """Have these signals raise KeyboardInterrupt, by an Interruption, until pytest's end.

    The Interruption is a plugin, one for each config. At the end the earlier handlers are restored,
    unless others have replaced it by then.
    """
    interruption = config.stash.setdefault(INTERRUPTION, Interruption())
    if not config.pluginmanager.is_registered(interruption):
        config.pluginmanager.register(interruption)
    before = {number: signal.signal(number, interruption) for number in numbers}

    def end() -> None:
        """Give the signals their earlier handlers back, unless others have been set by now."""
        for number, handler in before.items():
            if signal.getsignal(number) is interruption:
                signal.signal(number, handler)

    config.add_cleanup(end)
