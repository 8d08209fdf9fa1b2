"""What a program prints, of which the first and the last stay: in memory, and in a small file."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import IO

from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, Redactor

MOST = 1 << 16
"""Bytes that stay of the beginning, and again of the end."""
CHUNK = 1 << 16
JOIN_S = 0.5
"""How long the rest may take to come in; who has left the group may hold the pipe open for ever."""


class Printed:
    """One stream of a program, read as fast as it comes; a program that floods it fills no disk."""

    def __init__(
        self, stream: IO[bytes], path: Path | None = None, redactor: Redactor = NOTHING_SECRET
    ) -> None:
        """Begin to read; what is secret is taken out before it is told or written.

        The lines of the beginning are in the file at once, the end once it is closed.
        """
        self._stream, self._redactor = stream, redactor
        self._file = None if path is None else _opened(path)
        self._first, self._last, self._lost = bytearray(), bytearray(), 0
        self._written = 0
        self._lock, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def end(self, most: int) -> str:
        """The last so many bytes, as text."""
        with self._lock:
            kept = bytes(self._first + self._last)
        return self._redactor.text(kept.decode("utf-8", "replace"))[-most:]

    def drain(self) -> None:
        """Of a program that has ended, wait for what is still on its way."""
        self._thread.join(JOIN_S)

    def close(self) -> None:
        """What has not come by now is not waited for; the file gets its end."""
        self.drain()
        with self._lock:
            begun, last = self._first[self._written :], self._last
            closed, self._closed = self._closed, True
        self._append(b"" if closed else bytes(begun + _left_out(self._lost) + last))
        if self._file is not None:
            self._file.close()

    def _listen(self) -> None:
        with self._stream as stream, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(stream.fileno(), CHUNK):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
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

    def _append(self, told: bytes) -> None:
        """Write it; that a log cannot be written must not lose the run."""
        if told and self._file is not None:
            with contextlib.suppress(OSError, ValueError):
                self._file.write(without_secrets(told, self._redactor))


def _opened(path: Path) -> IO[bytes]:
    """The file to append to, and no link that who prints has laid in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab", 0)


def ends_of(path: Path) -> bytes:
    """The beginning and the end of a file."""
    with path.open("rb") as file:
        first, size = file.read(MOST), os.fstat(file.fileno()).st_size
        lost = max(0, size - 2 * MOST)
        file.seek(len(first) + lost)
        return first + _left_out(lost) + file.read(MOST)


def _left_out(lost: int) -> bytes:
    return f"\n... {lost} bytes are left out ...\n".encode() if lost else b""


def without_secrets(told: bytes, redactor: Redactor) -> bytes:
    """What a program printed, whatever bytes those are."""
    text = redactor.text(told.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")
