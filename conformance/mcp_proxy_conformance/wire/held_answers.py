"""Counter of the memory of a target's large answers while referenced; over 64 MiB is a fault."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Protocol

from mcp_proxy_conformance.wire.faults import ProtocolFault
from mcp_proxy_conformance.wire.jsonrpc import weight

MOST, SMALL = 64 << 20, 256 << 10
"""Bytes of memory: the most of all answers together; the least of an answer that is counted."""


class Answered(Protocol):
    """An answer, and the bytes that it was read from."""

    @property
    def raw(self) -> bytes:
        """The bytes that the answer was read from, kept as long as the answer."""


class Held:
    """Counts the memory of a target's answers; above the bound it calls `release` to drop some."""

    def __init__(self, release: Callable[[], None] = lambda: None) -> None:
        """Keep `release`, which drops references to answers; nothing is counted yet."""
        self._release = release
        self._bytes = 0
        self._lock = threading.RLock()  # a finalizer may run while the lock is held

    def take(self, answer: Answered) -> None:
        """Count the memory of an answer until it is garbage, unless that is under 256 KiB.

        Above 64 MiB of all answers together, call `release`, and have garbage collected if they
        still take more.

        Raises:
            ProtocolFault: Even so the answers take more; a single one is always accepted.
        """
        size = weight(answer.raw)
        if size < SMALL:
            return
        self._add(size)
        weakref.finalize(answer, self._add, -size).atexit = False
        if self._bytes > MOST:
            self._release()
        if self._bytes > max(MOST, size):
            gc.collect()  # a failed check and its answers are a cycle
        if self._bytes > max(MOST, size):  # a single answer is always accepted
            most = f"answers that take at most {MOST >> 20} MiB of memory in all"
            raise ProtocolFault("size", most, "more", answer.raw)

    def _add(self, size: int) -> None:
        """Change the number of counted bytes by `size`, which may be negative."""
        with self._lock:
            self._bytes += size
