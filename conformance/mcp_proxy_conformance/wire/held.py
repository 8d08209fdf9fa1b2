"""What large answers take in memory for as long as somebody has them, and the most of that."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.jsonrpc import weight

MOST, SMALL = 64 << 20, 256 << 10
"""Bytes of all of them together; and of one that is not worth counting."""


class Answered(Protocol):
    """An answer, and the bytes that it was read from."""

    @property
    def raw(self) -> bytes:
        """They, which are kept with it."""


class Held:
    """Counts the answers of one target; `release` lets go of those that could be asked for anew."""

    def __init__(self, release: Callable[[], None] = lambda: None) -> None:
        self._release = release
        self._bytes = 0
        self._lock = threading.RLock()  # what is let go of may be so while the lock is held

    def take(self, answer: Answered) -> None:
        """Count an answer until nobody has it any more.

        Raises:
            ProtocolFault: With it there are too many.
        """
        size = weight(answer.raw)
        if size < SMALL:
            return
        self._add(size)
        weakref.finalize(answer, self._add, -size).atexit = False
        if self._bytes > MOST:
            self._release()
        if self._bytes > max(MOST, size):  # one alone is always taken
            most = f"answers that take {MOST >> 20} MiB of memory in all"
            raise ProtocolFault("size", most, "more", answer.raw)

    def _add(self, size: int) -> None:
        with self._lock:
            self._bytes += size
