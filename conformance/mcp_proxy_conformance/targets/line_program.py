"""A program that speaks in lines on its standard streams, ended with its process group."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.targets.process import Process, spawned
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.wire.printed import Printed

LINE_MAX = 1 << 20
WAITING_MOST = 8
"""The most unread lines; a program that prints more has to wait."""
SLICE_S = 0.1
QUOTED = 300
SECRET = ("headers", "agents", "env")
"""Members of an answer that hold credentials."""
LATE_S = 0.2
"""Seconds in which the last output of an ended program may arrive."""


class ProgramEnded(Exception):
    """The program has ended, or closed its standard input or output."""


class LineProgram(Process):
    """One program with pipes to its standard input and from its standard output."""

    def __init__(self, command: Sequence[str], *, log: Path) -> None:
        """Start `command` in a group of its own, and a thread that reads its lines.

        Its standard error goes to `log`, redacted. Raises TargetNotStarted.
        """
        self._child = spawned(command, stdin=subprocess.PIPE)
        assert self._child.stderr is not None
        redactor = Redactor(credentials(words=command))
        super().__init__(self._child.pid, log, (Printed(self._child.stderr, log, redactor),))
        self._lines: queue.Queue[bytes | None] = queue.Queue(WAITING_MOST)
        self._over, self._deaf = threading.Event(), False
        threading.Thread(target=self._listen, daemon=True).start()

    def alive(self) -> bool:
        """Whether the program still runs."""
        return self._child.poll() is None

    def send(self, line: bytes) -> None:
        """Write one line, with a line end; block while the program's input is full.

        If the program no longer reads, nothing is raised here: `receive` raises later.
        """
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(line + b"\n")
            self._child.stdin.flush()
        except (OSError, ValueError):
            self._deaf = True

    def receive(self, within_s: float) -> bytes:
        """Wait for the next line and return it, with its line end.

        Raises:
            TimeoutError: No line arrived in that many seconds.
            ProgramEnded: No further line will arrive.
        """
        deadline = time.monotonic() + within_s
        ended_at = None  # a child may keep the output of an ended program open
        while True:
            left = max(0.01, deadline - time.monotonic())
            try:
                line = self._lines.get(timeout=min(SLICE_S, left))
            except queue.Empty:
                now = time.monotonic()
                if self.alive() and not self._deaf:
                    if now >= deadline:
                        raise TimeoutError from None
                    continue
                ended_at = ended_at or now
                if now >= ended_at + LATE_S:
                    raise ProgramEnded(self._exit()) from None
                continue
            if line is not None:
                return line
            self._lines.put(None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(1.0)
            raise ProgramEnded(self._exit())

    def stray(self) -> bytes | None:
        """Return a line that has arrived, without waiting; None without one, also at the end."""
        try:
            line = self._lines.get_nowait()
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)
        return line

    def finish(self, patience_s: float) -> None:
        """Close the program's standard input, wait up to that many seconds, then end its group."""
        self.leave(patience_s)
        self.end()

    def leave(self, patience_s: float) -> bool:
        """Close the program's standard input, and return whether it ends in that many seconds."""
        assert self._child.stdin is not None
        self._over.set()
        with contextlib.suppress(OSError, ValueError, subprocess.TimeoutExpired):
            self._child.stdin.close()
            self._child.wait(patience_s)
        return not self.alive()

    def end(self, patience_s: float = 3.0, *, at_once: bool = False) -> None:
        """End the process group, by force after `patience_s` or `at_once`; drop further output."""
        self._over.set()
        super().end(patience_s, at_once=at_once)

    def _listen(self) -> None:
        """Queue each line of the program's output, in parts of 1 MiB, and None at its end."""
        assert self._child.stdout is not None
        with self._child.stdout as stdout, contextlib.suppress(OSError, ValueError):
            while line := stdout.readline(LINE_MAX):
                self._keep(line)
        self._keep(None)

    def _keep(self, line: bytes | None) -> None:
        """Queue a line of output (None: its end).

        Wait for room, but drop it once the program is to end.
        """
        while not self._over.is_set():
            try:
                self._lines.put(line, timeout=SLICE_S)
            except queue.Full:
                continue
            return

    def _exit(self) -> str:
        """Return in words how the program ended, or which stream it closed."""
        code = self._child.poll()
        if code is None:
            return f"closed its standard {'input' if self._deaf else 'output'}"
        return f"ended with exit code {code}"


def quoted(line: bytes) -> str:
    """Return a program's line for an error message, as a repr: cut at 300 characters.

    Of a JSON object or list the credentials are redacted.
    """
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    try:
        parsed = json.loads(text)
        if isinstance(parsed, dict | list):
            text = json.dumps(_redacted(parsed), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        pass
    return repr(cut(text))


def cut(value: object) -> str:
    """Return the value as text, cut after 300 characters."""
    text = str(value)
    return text if len(text) <= QUOTED else text[:QUOTED] + "…"


def _redacted(value: Any, *, secret: bool = False) -> Any:
    """Return the JSON value; values in `headers`, `agents` and `env`, at any depth, are redacted.

    A null is kept. `secret`: the value is itself within such a member.
    """
    if isinstance(value, dict):
        return {
            name: _redacted(member, secret=secret or name in SECRET)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_redacted(member, secret=secret) for member in value]
    return "(redacted)" if secret and value is not None else value
