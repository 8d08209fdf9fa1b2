"""Printed output of a program: beginning and end are kept, in memory or a file, without secrets."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import IO

from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, Redactor

MOST = 1 << 16
"""Bytes kept of the beginning, and as many of the end."""
CHUNK = 1 << 16
JOIN_S = 0.5
"""Seconds to wait for the rest; a process that left the group may keep the pipe open forever."""


class Printed:
    """Reads one output stream of a program in a thread, and keeps its beginning and end."""

    def __init__(
        self, stream: IO[bytes], path: Path | None = None, redactor: Redactor = NOTHING_SECRET
    ) -> None:
        """Begin to read in a thread; secrets are removed before text is returned or written.

        With a path, the lines of the beginning are appended to the file at once, the end when it is
        closed.
        """
        self._stream, self._redactor = stream, redactor
        self._file = None if path is None else _opened(path)
        self._first, self._last, self._lost = bytearray(), bytearray(), 0
        self._written = 0
        self._lock, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def tail(self, most: int) -> str:
        """Return the last `most` characters of the kept output, without secrets."""
        with self._lock:
            kept = bytes(self._first + self._last)
        return self._redactor.text(kept.decode("utf-8", "replace"))[-most:]

    def drain(self) -> None:
        """Wait up to 0.5 s for the remaining output of a program that has ended."""
        self._thread.join(JOIN_S)

    def close(self) -> None:
        """Wait up to 0.5 s for more output, then write the rest to the file and close it.

        A line says how many bytes are left out between beginning and end; a second call writes
        nothing.
        """
        self.drain()
        with self._lock:
            begun, last = self._first[self._written :], self._last
            closed, self._closed = self._closed, True
        self._append(b"" if closed else bytes(begun + _left_out(self._lost) + last))
        if self._file is not None:
            self._file.close()

    def _listen(self) -> None:
        """Read the stream to its end, in the thread; errors of reading end it silently."""
        with self._stream as stream, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(stream.fileno(), CHUNK):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        """Add a chunk to what is kept: the first 64 KiB and the last 64 KiB of the output.

        Bytes between them are dropped and counted. Whole new lines of the beginning are written to
        the file.
        """
        with self._lock:
            room = MOST - len(self._first)
            self._first += chunk[:room]
            self._last += chunk[room:]
            if (over := len(self._last) - MOST) > 0:
                self._lost += over
                del self._last[:over]
            whole = max(self._written, self._first.rfind(b"\n") + 1)
            lines, self._written = bytes(self._first[self._written : whole]), whole
        self._append(lines)

    def _append(self, lines: bytes) -> None:
        """Write lines to the file without secrets; errors are ignored: no log may lose the run."""
        if lines and self._file is not None:
            with contextlib.suppress(OSError, ValueError):
                self._file.write(without_secrets(lines, self._redactor))


def _opened(path: Path) -> IO[bytes]:
    """Open the file for appending, made if missing; OSError for a symbolic link in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab", 0)


def ends_of(path: Path) -> bytes:
    """Return a file's first and last 64 KiB, between them a line on what is left out, if any."""
    with path.open("rb") as file:
        first, size = file.read(MOST), os.fstat(file.fileno()).st_size
        lost = max(0, size - 2 * MOST)
        file.seek(len(first) + lost)
        return first + _left_out(lost) + file.read(MOST)


def _left_out(lost: int) -> bytes:
    """Return the line that says how many bytes are left out; empty if none are."""
    return f"\n... {lost} bytes are left out ...\n".encode() if lost else b""


def without_secrets(printed: bytes, redactor: Redactor) -> bytes:
    """Remove secrets from a program's output, which may be any bytes."""
    text = redactor.text(printed.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")
