"""A program that is spoken to in lines on its standard streams, and ended with its group."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from mcp_proxy_conformance.target.adapter import TargetNotStarted
from mcp_proxy_conformance.target.process import Process

LINE_MAX = 1 << 20


class Ended(Exception):
    """The program has ended, or closed its standard output."""


class LineProgram(Process):
    """One program with pipes to its standard input and from its standard output."""

    def __init__(self, command: Sequence[str], *, log: Path) -> None:
        """Start `command` in a group of its own; standard error goes to `log`."""
        with log.open("ab") as sink:
            try:
                self._child = subprocess.Popen(  # noqa: S603 - the program is the user's own
                    list(command),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=sink,
                    start_new_session=True,
                )
            except OSError as error:
                raise TargetNotStarted(
                    f"cannot start {command[0]!r}: {error.strerror}; name an executable program"
                ) from None
        super().__init__(self._child.pid, log)
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def alive(self) -> bool:
        """Whether the program still runs."""
        return self._child.poll() is None

    def send(self, line: bytes) -> None:
        """Write one line; that nobody reads it any more shows when the answer is waited for."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._child.stdin.write(line + b"\n")
            self._child.stdin.flush()

    def receive(self, within_s: float) -> bytes:
        """The next line.

        Raises:
            TimeoutError: None came in so many seconds.
            Ended: None will come.
        """
        try:
            line = self._lines.get(timeout=within_s)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            self._lines.put(None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(1.0)
            raise Ended(self._exit())
        return line

    def finish(self, patience_s: float) -> None:
        """Close its standard input, and end what is left of its group after so many seconds."""
        assert self._child.stdin is not None
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._child.stdin.close()
            self._child.wait(patience_s)
        self.end()

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as told, contextlib.suppress(OSError, ValueError):
            while line := told.readline(LINE_MAX):
                self._lines.put(line)
        self._lines.put(None)

    def _exit(self) -> str:
        code = self._child.poll()
        return "closed its standard output" if code is None else f"ended with exit code {code}"
