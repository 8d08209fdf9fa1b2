"""Stray processes: orphans outside their parent's process group, killed at the end of a run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SET_SUBREAPER = 36
"""Option of prctl(2): orphans below this process become its children."""
ROUNDS, PAUSE_S = 20, 0.05
"""Searches for strays, and the pause between: a stray's own children become ours when it ends."""


@contextmanager
def reaped() -> Iterator[None]:
    """Kill, at the end of the block, the children that this process gained in it (Linux only).

    During the block orphaned descendants become its children. Searches are repeated until none is
    left, up to twenty times, with pauses of 0.05 s for what has not ended yet. On other systems
    nothing is killed.
    """
    if sys.platform != "linux" or not _set(1):
        yield
        return
    before = _children()
    try:
        yield
    finally:
        for _ in range(ROUNDS):
            left = _children() - before
            if not left:
                break
            ended = [_ended(child) for child in left]
            if not all(ended):
                time.sleep(PAUSE_S)
        _set(0)


def _ended(child: int) -> bool:
    """Kill a child and collect its exit code; return False if it has not ended yet."""
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    try:
        return os.waitpid(child, os.WNOHANG)[0] == child
    except OSError:  # somebody else collected it
        return True


def _set(on: int) -> bool:
    """Have orphans below this process become its children, or not; return whether it worked."""
    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None).prctl(SET_SUBREAPER, on, 0, 0, 0) == 0)
    return False


def _children() -> set[int]:
    """Return the process ids of this process's children."""
    children = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            _, _, fields = path.read_text(encoding="utf-8", errors="replace").rpartition(") ")
            if int(fields.split()[1]) == os.getpid():
                children.add(int(path.parent.name))
    return children
