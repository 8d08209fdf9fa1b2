"""An upstream over stdio: one process for each client's session, lines of JSON both ways."""

import asyncio
import contextlib
import logging
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Sequence

from mcp_relay_reference import message
from mcp_relay_reference.message import Message
from mcp_relay_reference.remote import Unreachable

ENDS_S = 2.0
WAITING = 1_000
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""Variables that a program needs; secrets of the relay, or for other programs, are in others."""
Stream = asyncio.Queue[Message | None]
log = logging.getLogger("mcp_relay_reference")


class Child:
    """A session with a process of its own, so that nothing of one client can reach another.

    Each request's answer, and its progress, go to the stream of that request. What the server says
    of its own accord goes to the listening stream or, without one, to the latest request in
    progress; it waits if there is neither.
    """

    def __init__(self, process: Process) -> None:
        """Read the process's lines from now on."""
        self._process = process
        self._streams: dict[str, tuple[str | None, Stream]] = {}
        self._listening: Stream | None = None
        self._waiting: deque[Message] = deque(maxlen=WAITING)
        self._reader = asyncio.create_task(self._read())

    @staticmethod
    async def start(command: Sequence[str]) -> "Child":
        """Start the upstream's program, which inherits no variable but those of INHERITED.

        Raises Unreachable if that is impossible.
        """
        env = {name: os.environ[name] for name in INHERITED if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, start_new_session=True,
                limit=message.MOST_BYTES, env=env,
            )  # fmt: skip
        except OSError:
            raise Unreachable("The upstream server cannot be started.") from None
        return Child(process)

    @property
    def is_over(self) -> bool:
        """Whether the process has ended, so that its session is lost."""
        return self._reader.done()

    async def send(self, sent: Message) -> Stream | None:
        """Write a message to the process; return the stream of a request's answer, else None.

        The stream has what comes for the request, its answer, then None. If the process has ended,
        the answer is an error of the relay.
        """
        stream = None
        if sent.is_request:
            assert sent.id is not None
            stream = Stream()
            self._streams[sent.id] = sent.token, stream
            while self._waiting and self._listening is None:
                stream.put_nowait(self._waiting.popleft())
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(sent.line + b"\n")
            await stdin.drain()
        except OSError:
            self._lose()
        if self.is_over:
            self._lose()
        return stream

    def listen(self) -> Stream:
        """Return the stream of what the server says of its own accord; an earlier one ends.

        Messages that have waited for a stream come first.
        """
        self.unlisten(self._listening)
        self._listening = Stream()
        while self._waiting:
            self._listening.put_nowait(self._waiting.popleft())
        return self._listening

    def unlisten(self, stream: Stream | None) -> None:
        """End a listening stream by None, if it is the current one; ignore another one, or None."""
        if stream is not None and stream is self._listening:
            stream.put_nowait(None)
            self._listening = None

    async def close(self) -> None:
        """Close the process's input and wait until it ends; after 2 s send SIGTERM, then SIGKILL.

        Signals go to all that it started. Requests in progress are answered with an error.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), ENDS_S)
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
        await self._process.wait()
        self._reader.cancel()
        self._lose()

    async def _read(self) -> None:
        """Route each line of the process until it ends; a line that is not a message is logged.

        A line of more than 16 MiB ends the reading, too. Then requests in progress get an error.
        """
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # a line beyond the limit
            async for line in self._process.stdout:
                try:
                    self._route(message.read(line))
                except message.BadMessage:
                    log.warning("the upstream printed a line that is no message")
        self._lose()

    def _route(self, came: Message) -> None:
        """Put a message of the server on the stream of its request, or on the listening one.

        An answer, progress or a subscription's notification names its request by id or token. Other
        messages go to the listening stream, without one to the latest request, or wait. Answers and
        progress that belong to no request in progress are dropped.
        """
        if came.method is None and came.id in self._streams:
            assert came.id is not None
            _, stream = self._streams.pop(came.id)
            stream.put_nowait(came)
            stream.put_nowait(None)
            return
        if came.method is None:
            return  # an answer that nobody waits for
        if came.method == "notifications/progress":
            for token, stream in self._streams.values():
                if token is not None and token == came.token:
                    stream.put_nowait(came)
            return
        if came.subscription in self._streams:
            self._streams[came.subscription][1].put_nowait(came)
            return
        if self._listening is not None:
            self._listening.put_nowait(came)
        elif self._streams:
            [*self._streams.values()][-1][1].put_nowait(came)
        else:
            self._waiting.append(came)

    def _lose(self) -> None:
        """Answer every request in progress with an error, and end the listening stream."""
        for own_id, (_, stream) in self._streams.items():
            text = "The upstream server ended before it answered."
            stream.put_nowait(message.read(message.failure(own_id, message.LOST, text)))
            stream.put_nowait(None)
        self._streams.clear()
        self.unlisten(self._listening)
