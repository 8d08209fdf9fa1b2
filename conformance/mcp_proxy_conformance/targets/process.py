"""Processes of targets: each starts its own group, ended as a whole; their output is kept."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_proxy_conformance.targets.target import TargetNotStarted
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.redaction import Redactor
from mcp_proxy_conformance.wire.printed import Printed
from mcp_proxy_conformance.wire.program import lacking

LOG_TAIL = 4000
PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY, errno.EFAULT)
PAUSES_S = (0.1, 0.4, 1.5)
"""Temporary reasons for a failed start, and the pauses in seconds between attempts."""
NO_PROGRAM = "name an executable program"


class Process:
    """One running program of a target: its process group and its output files."""

    def __init__(self, pid: int, log: Path, printed: Sequence[Printed] = ()) -> None:
        """Watch the program of that process id.

        Without `printed`, the program itself writes `log` and the file of its output.
        """
        self.pid = pid
        self._printed = printed
        self._log = log
        self._output = output_beside(log)

    def alive(self) -> bool:
        """Whether a process with this id exists."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def tail(self) -> str:
        """Return the end, 4000 characters, of each output stream of the program, joined.

        Those of an ended program are first read to their end.
        """
        if self._printed:
            for stream in self._printed if not self.alive() else ():
                stream.drain()
            return "".join(stream.tail(LOG_TAIL) for stream in self._printed)
        return "".join(_end_of(path) for path in (self._output, self._log))

    def first_line(self, deadline: float) -> str:
        """Poll for the first whole line of standard output and return it, without its line end.

        Raises TargetNotStarted at the deadline (monotonic seconds), or if the program has ended.
        """
        while True:
            text = self._output.read_text(encoding="utf-8", errors="replace")
            if "\n" in text:
                return text.partition("\n")[0]
            self.check(deadline, "printed no address line")
            time.sleep(0.005)

    def check(self, deadline: float, complaint: str) -> None:
        """Raise TargetNotStarted, with the log's end, if the program ended or the time is over.

        `deadline` is in monotonic seconds; `complaint` says in words what was not done in time.
        """
        if not self.alive():
            raise TargetNotStarted(f"the target {self._exit()}; {self._log_end()}")
        if time.monotonic() > deadline:
            raise TargetNotStarted(f"the target {complaint} in time; {self._log_end()}")

    def _log_end(self) -> str:
        """Return the end of a sentence with the tail of the log, or that it is empty."""
        tail = self.tail().strip()
        return f"its log ends with:\n{tail}" if tail else "its log is empty"

    def end(self, patience_s: float = 3.0, *, at_once: bool = False) -> None:
        """End the process group by SIGTERM, then SIGKILL; wait up to `patience_s` after each.

        With `at_once` by SIGKILL alone. What is left of the group gets SIGKILL; the streams are
        closed.
        """
        try:
            for number in (signal.SIGKILL,) if at_once else (signal.SIGTERM, signal.SIGKILL):
                self._signal(number)
                deadline = time.monotonic() + patience_s
                while self.alive() and time.monotonic() < deadline:
                    time.sleep(0.005)
                if not self.alive():
                    break
        finally:  # the time of a check may be over by now
            self._signal(signal.SIGKILL)
            for stream in self._printed:
                stream.close()

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the process group; nothing happens if it has ended or is not ours."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _exit(self) -> str:
        """Return in words that the program ended."""
        return "ended"


class Spawned(Process):
    """A program that is a child of this process."""

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str], log: Path) -> None:
        """Start `command` with exactly `env`, no input.

        Standard error goes to `log`, output beside it. Both are redacted. Raises TargetNotStarted.
        """
        self._child = spawned(command, stdin=subprocess.DEVNULL, env=env)
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        stdout, stderr = self._child.stdout, self._child.stderr
        redactor = Redactor(credentials(words=command, environment=env))
        printed = tuple(
            Printed(stream, path, redactor)
            for stream, path in ((stdout, output_beside(log)), (stderr, log))
        )
        super().__init__(self._child.pid, log, printed)

    def alive(self) -> bool:
        """Whether the child has not ended; if it has, its exit code is collected."""
        return self._child.poll() is None

    def _exit(self) -> str:
        """Return in words how the program ended, with its exit code."""
        return f"ended with exit code {self._child.returncode}"


def expect_groups() -> None:
    """Raise TargetNotStarted if this system has no process groups to end a program with."""
    if why := lacking("a target that is started here"):
        raise TargetNotStarted(why)


def spawned(
    command: Sequence[str], *, stdin: int, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program in a session and group of its own, with pipes for output.

    `stdin` is as of Popen. Without `env` it inherits this process's. If a resource is exhausted,
    three more attempts are made within 2 s. Raises TargetNotStarted after the last, and at once for
    another reason.
    """
    expect_groups()
    for pause_s in (*PAUSES_S, None):
        try:
            return subprocess.Popen(  # noqa: S603 - the program is the user's own
                list(command),
                env=None if env is None else dict(env),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            lacks = isinstance(error, OSError) and error.errno in PASSING
            if not lacks or pause_s is None:
                raise _not_started(command, error, lacks=lacks) from None
            time.sleep(pause_s)
    raise AssertionError("the last attempt returns or raises")


def _not_started(
    command: Sequence[str], error: OSError | ValueError, *, lacks: bool
) -> TargetNotStarted:
    """Return the error for a failed start, with the repair; `lacks`: a resource is exhausted."""
    reason = error.strerror if isinstance(error, OSError) else error
    repair = "free some processes, open files or memory on this machine" if lacks else NO_PROGRAM
    return TargetNotStarted(f"cannot start {command[0]!r}: {reason}; {repair}")


def output_beside(log: Path) -> Path:
    """Return the path for standard output when standard error goes to `log`: suffix .out."""
    return log.with_suffix(".out")


def _end_of(path: Path) -> str:
    """Return the last 4000 bytes of a file as text; empty if it cannot be read."""
    with contextlib.suppress(OSError):
        return path.read_bytes()[-LOG_TAIL:].decode("utf-8", "replace")
    return ""


def free_port() -> int:
    """Return a loopback port that is free at this moment; another program may take it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
