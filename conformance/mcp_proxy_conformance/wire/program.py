"""A child process that speaks in lines: reads and writes have deadlines; `end` ends its group."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections import deque
from typing import TYPE_CHECKING

from mcp_proxy_conformance.wire.faults import EXCERPT, Phase, ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import MAX_BODY
from mcp_proxy_conformance.wire.printed import Printed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proxy_conformance.verdict.cited import Direction
    from mcp_proxy_conformance.wire.deadline import Deadline
    from mcp_proxy_conformance.wire.transcript import Message, Transcript


INSTEAD = "use Linux, macOS or WSL, or judge a running endpoint: `run endpoint --url URL`"


def lacking(what: str) -> str:
    """Return why `what` is impossible without process groups, with advice; "" if they exist."""
    if hasattr(os, "killpg") and hasattr(os, "fork"):
        return ""
    return f"{what} needs process groups, which this system does not have; {INSTEAD}"


PEER = "stdio"
CHUNK = 1 << 16
LOOK_MS = 50
"""Milliseconds between polls of a quiet program: a child with its output open hides its end."""
PATIENCE_S = 1.0
"""Seconds it may take to end after its input's end, and again after SIGTERM and SIGKILL."""


class Program:
    """One process in a group of its own; every line is recorded in the transcript."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], transcript: Transcript
    ) -> None:
        """Start the command with exactly `env`, in a session of its own.

        Raises Unreachable if it cannot be started, or this system has no process groups.
        """
        if why := lacking("an endpoint that is started here"):
            raise Unreachable(PEER, "connect", why, 0.0)
        self._transcript = transcript
        self._unsent = bytearray()
        self._parts: list[bytes] = []
        self._heard: deque[Message] = deque()
        self._size = 0
        pipe = subprocess.PIPE
        try:
            self._child = subprocess.Popen(  # noqa: S603 - the target is the user's own program
                list(command),
                env=dict(env),
                bufsize=0,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except OSError as error:
            reason = f"cannot start {command[0]!r}: {error.strerror}"
            raise Unreachable(PEER, "connect", reason, 0.0) from None
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self._stderr = Printed(self._child.stderr)
        self._in, self._out = self._child.stdin, self._child.stdout
        for end in (self._in, self._out):
            os.set_blocking(end.fileno(), False)

    def write(self, line: bytes, note: str) -> Message:
        """Record one line as sent, queue it, and return the record; `flush` or `hear` sends it.

        The bytes of output that count against the limit of 16 MiB are counted from 0 again.

        Raises:
            ValueError: The line contains a line break.
        """
        if b"\n" in line:
            raise ValueError("a message over stdio cannot contain a line break")
        self._unsent += line + b"\n"
        self._size = 0
        return self._record("sent", line, note)

    def flush(self, deadline: Deadline) -> None:
        """Send all queued bytes, reading output meanwhile; blocks until then.

        Raises Unreachable if the program ends or at the deadline, ProtocolFault beyond 16 MiB of
        output.
        """
        while self._unsent:
            self._pump(deadline)

    def hear(self, deadline: Deadline) -> Message:
        """Send what is queued, wait for the next line of output that is not blank, and return it.

        Raises:
            Unreachable: The program has ended, or prints nothing in time.
            ProtocolFault: More than 16 MiB; the program is killed.
        """
        while True:
            while not self._heard:
                self._pump(deadline)
            message = self._heard.popleft()
            if message.raw.strip():
                return message

    def end(self) -> None:
        """Close the program's input and wait up to 1 s for its end.

        If it still runs, its group gets SIGTERM, and SIGKILL after another second. What is left of
        the group is killed in any case. The pipes are closed; an unfinished last line is recorded.
        """
        self._in.close()
        for number in (0, signal.SIGTERM, signal.SIGKILL):
            self._signal(number)  # 0 is no signal: the end of its input comes first
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(PATIENCE_S)
                break
        self._signal(signal.SIGKILL)
        self._size = 0
        with contextlib.suppress(BlockingIOError):
            self._take(os.read(self._out.fileno(), CHUNK))
        self._cut_off()
        self._out.close()
        self._stderr.close()

    def _signal(self, number: int) -> None:
        """Send a signal to the process group; nothing happens if it has ended or is not ours."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, number)

    def _pump(self, deadline: Deadline) -> None:
        """Wait at most 50 ms for a pipe to be ready, then write, read, or both.

        Raises Unreachable if the program has ended or the deadline is over; ProtocolFault for more
        than 16 MiB, and the program is killed.
        """
        ended = self._child.poll() is not None
        poll = select.poll()
        poll.register(self._out, select.POLLIN)
        if self._unsent:
            poll.register(self._in, select.POLLOUT)
        try:
            ready = [number for number, _ in poll.poll(min(LOOK_MS, deadline.left() * 1000))]
        except TimeoutError as error:
            raise self._unreachable(str(error), deadline) from None
        if self._in.fileno() in ready:
            self._send()
        if self._out.fileno() in ready:
            chunk = os.read(self._out.fileno(), CHUNK)
            self._take(chunk)
            if not chunk:
                raise self._gone(deadline)
        elif ended and not ready:
            raise self._gone(deadline)

    def _send(self) -> None:
        """Write queued bytes to the program's input; drop them if it has closed its input."""
        try:
            del self._unsent[: os.write(self._in.fileno(), self._unsent[:CHUNK])]
        except BrokenPipeError:
            self._unsent.clear()  # the rest of its output, and its end, arrive on its output

    def _take(self, chunk: bytes) -> None:
        """Split output into lines, record each and queue it; the last, unfinished one waits.

        Beyond 16 MiB since the last `write`, kill the program and raise ProtocolFault.
        """
        first, *more = chunk.split(b"\n")
        self._parts.append(first)
        for part in more:
            self._heard.append(self._record("received", b"".join(self._parts), ""))
            self._parts = [part]
        self._size += len(chunk)
        if self._size > MAX_BODY:
            self._parts = []
            self._signal(signal.SIGKILL)
            raise ProtocolFault("size", f"at most {MAX_BODY} bytes", "more", chunk)

    def _gone(self, deadline: Deadline) -> Unreachable:
        """Return the fault for a program whose output ended: exit code and last error output.

        Record an unfinished last line, and wait up to 1 s for the exit code.
        """
        self._cut_off()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(PATIENCE_S)
        code = self._child.returncode
        reason = "its output ended" if code is None else f"the program ended with exit code {code}"
        self._stderr.close()
        words = self._stderr.tail(EXCERPT).strip()
        detail = f" ({words})" if words else ""
        return self._unreachable(reason + detail, deadline)

    def _cut_off(self) -> None:
        """At the end of the output, record an unfinished last line, noted as "cut off"."""
        if rest := b"".join(self._parts):
            self._record("received", rest, "cut off")
        self._parts = []

    def _unreachable(self, reason: str, deadline: Deadline) -> Unreachable:
        """Return the fault, in the phase `send` while bytes are queued, else `wait`."""
        phase: Phase = "send" if self._unsent else "wait"
        return Unreachable(PEER, phase, reason, deadline.spent())

    def _record(self, direction: Direction, raw: bytes, note: str) -> Message:
        """Record one line in the transcript, and return it as a Message."""
        return self._transcript.record(
            edge="client", direction=direction, peer=PEER, raw=raw, note=note
        )
