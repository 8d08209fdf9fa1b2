"""What a program prints, of which the first and the last stay: in memory, and in a small file."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import IO

MOST = 1 << 16
"""Bytes that stay of the beginning, and again of the end."""
CHUNK = 1 << 16
JOIN_S = 0.5
"""How long the rest may take to come in; who has left the group may hold the pipe open for ever."""


class Printed:
    """One stream of a program, read as fast as it comes; a program that floods it fills no disk."""

    def __init__(self, stream: IO[bytes], path: Path | None = None) -> None:
        """Begin to read; the beginning is in the file at once, the end once it is closed."""
        self._stream, self._path = stream, path
        self._first, self._last, self._lost = bytearray(), bytearray(), 0
        self._lock, self._closed = threading.Lock(), False
        if path is not None:
            path.touch()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def end(self, most: int) -> str:
        """The last so many bytes, as text."""
        with self._lock:
            told = bytes(self._first[-most:] + self._last)[-most:]
        return told.decode("utf-8", "replace")

    def drain(self) -> None:
        """Of a program that has ended, wait for what is still on its way."""
        self._thread.join(JOIN_S)

    def close(self) -> None:
        """What has not come by now is not waited for; the file gets its end."""
        self.drain()
        with self._lock:
            lost, last = self._lost, bytes(self._last)
            closed, self._closed = self._closed, True
        note = f"\n... {lost} bytes are left out ...\n".encode() if lost else b""
        self._append(b"" if closed else note + last)

    def _listen(self) -> None:
        with self._stream as stream, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(stream.fileno(), CHUNK):
                self._keep(chunk)

    def _keep(self, chunk: bytes) -> None:
        with self._lock:
            room = MOST - len(self._first)
            begins, rest = chunk[:room], chunk[room:]
            self._first += begins
            self._last += rest
            if (over := len(self._last) - MOST) > 0:
                self._lost += over
                del self._last[:over]
        self._append(begins)

    def _append(self, told: bytes) -> None:
        """Write it; that a log cannot be written must not lose the run."""
        if told and self._path is not None:
            with contextlib.suppress(OSError), self._path.open("ab") as file:
                file.write(told)
