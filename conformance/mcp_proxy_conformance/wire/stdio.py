"""The client over stdio, of a program it starts: one line per message, exact bytes both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proxy_conformance.wire import jsonrpc
from mcp_proxy_conformance.wire.awaited_answer import Awaited
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.deadline import Deadline
from mcp_proxy_conformance.wire.program import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mcp_proxy_conformance.wire.reply import Reply
    from mcp_proxy_conformance.wire.transcript import Transcript


class StdioClient(Conversation):
    """A conversation with a program, started by the first request with exactly `env`.

    It uses the handshake wire. `Unreachable` includes the exit code of a program that ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        transcript: Transcript,
        timeout: float = 10.0,
    ) -> None:
        """Start nothing yet; `timeout` is that of a request, in seconds."""
        self._lines = Lines(command, env=env, transcript=transcript)
        super().__init__(self._lines, timeout)

    @property
    def wire(self) -> str:
        """The wire in use, such as `handshake 2025-11-25 (stdio)`, or `unopened`."""
        revision = self._lines.revision
        return f"handshake {revision} (stdio)" if revision else "unopened"


class Lines:
    """Carrier that sends each message as one line to a program, started on first use."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], transcript: Transcript
    ) -> None:
        """Keep how the program is started; it is started by the first message."""
        self.revision = ""
        self._command = command
        self._env = env
        self._transcript = transcript
        self._program: Program | None = None
        self._late: set[int | str | None] = set()

    def ask(self, method: str, params: bytes | None, timeout: float) -> Reply:
        """Send a request and return its answer; messages that came before are in the reply.

        Late answers to abandoned requests are skipped. Raises Unreachable if the program ends or
        `timeout` seconds pass, ProtocolFault for an invalid message.
        """
        deadline = Deadline(timeout)
        program = self._running()
        request_id = jsonrpc.fresh_id()
        awaited = Awaited(request_id, self._late)
        sent = program.write(jsonrpc.request(method, params, request_id), method)
        self._late.add(request_id)  # until its answer arrives
        reply = awaited.heard(sent, lambda: program.hear(deadline), deadline)
        self._late.discard(request_id)
        return reply

    def exchange(self, body: bytes, until: Callable[[bytes], bool], timeout: float) -> bytes:
        """Send a line as it is, and return the first line after it that `until` accepts.

        Raises Unreachable if the program ends or `timeout` seconds pass.
        """
        deadline = Deadline(timeout)
        program = self._running()
        program.write(body, "a line as it is")
        while not until(received := program.hear(deadline).raw):
            pass
        return received

    def tell(self, method: str, params: bytes | None, timeout: float) -> None:
        """Send a notification, which is not acknowledged, and wait until it is written.

        Raises Unreachable if the program ends or `timeout` seconds pass.
        """
        deadline = Deadline(timeout)
        program = self._running()
        program.write(jsonrpc.request(method, params, None), method)
        program.flush(deadline)

    def granted(self, reply: Reply, revision: str) -> None:
        """Store the revision from the handshake; there is no session's id."""
        del reply
        self.revision = revision

    def forget(self) -> None:
        """Clear the revision; the program is kept."""
        self.revision = ""

    def end(self, timeout: float) -> None:
        """End the program, if it runs, and clear the revision.

        It never raises, and takes up to 3.5 s.
        """
        del timeout
        program, self._program = self._program, None
        self.forget()
        if program is not None:
            program.end()

    def _running(self) -> Program:
        """Return the program; the first call, also after `end`, starts it.

        Unreachable if it cannot be started.
        """
        if self._program is None:
            self._program = Program(self._command, self._env, self._transcript)
        return self._program
