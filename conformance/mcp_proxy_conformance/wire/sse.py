"""The client over HTTP+SSE (2024-11-05): one stream of messages, and a POST for each request."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

from mcp_proxy_conformance.wire import jsonrpc
from mcp_proxy_conformance.wire.awaited_answer import Awaited
from mcp_proxy_conformance.wire.connection import DIRECT, Dialing
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.deadline import Deadline, Overdue
from mcp_proxy_conformance.wire.event_stream import EventStream
from mcp_proxy_conformance.wire.faults import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proxy_conformance.wire.reply import Reply
    from mcp_proxy_conformance.wire.transcript import Message, Transcript


class SseClient(Conversation):
    """A conversation over HTTP+SSE with one endpoint, on the handshake wire."""

    def __init__(
        self,
        url: str,
        *,
        transcript: Transcript,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        dialing: Dialing = DIRECT,
    ) -> None:
        """Connect to nothing yet; ValueError for an unusable URL or header.

        `url` is that of the stream, `headers` go with every request, `timeout` is that of a request
        in seconds; `dialing` sets certificates, proxy and
        redirects.
        """
        self._posts = Posts(
            url, transcript=transcript, headers=dict(headers or {}), dialing=dialing
        )
        super().__init__(self._posts, timeout)

    @property
    def wire(self) -> str:
        """The wire in use, such as `handshake 2024-11-05 (sse)`, or `unopened`."""
        revision = self._posts.revision
        return f"handshake {revision} (sse)" if revision else "unopened"


class Posts:
    """Carrier that posts each message, and hears all others on one stream, opened on first use."""

    def __init__(
        self, url: str, *, transcript: Transcript, headers: Mapping[str, str],
        dialing: Dialing,
    ) -> None:  # fmt: skip
        """Keep how the stream is opened; the first message opens it.

        Raises ValueError for an unusable URL or header.
        """
        self.revision = ""
        self._url, self._transcript, self._own, self._dialing = url, transcript, headers, dialing
        self._heard: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._stream: EventStream | None = None
        self._made()
        self._late: set[int | str | None] = set()

    def ask(self, method: str, params: bytes | None, timeout: float) -> Reply:
        """Send a request and return its answer; messages that came meanwhile are in the reply.

        Late answers to abandoned requests are skipped. Raises Unreachable if the stream ends or
        `timeout` seconds pass, ProtocolFault for a refused POST or an invalid message.
        """
        deadline = Deadline(timeout)
        request_id = jsonrpc.fresh_id()
        awaited = Awaited(request_id, self._late)
        self._late.add(request_id)  # until its answer arrives
        sent = self._posted(jsonrpc.request(method, params, request_id), method, deadline)
        reply = awaited.heard(sent, lambda: self._hear(deadline), deadline)
        self._late.discard(request_id)
        return reply

    def exchange(self, body: bytes, until: Callable[[bytes], bool], timeout: float) -> bytes:
        """Send a message as it is, and return the first one after it that `until` accepts.

        Raises Unreachable if the stream ends or `timeout` seconds pass, ProtocolFault for a refused
        POST.
        """
        deadline = Deadline(timeout)
        self._posted(body, "raw", deadline)
        while not until(received := self._hear(deadline).raw):
            pass
        return received

    def tell(self, method: str, params: bytes | None, timeout: float) -> None:
        """Send a notification; raises Unreachable or ProtocolFault unless it is acknowledged."""
        self._posted(jsonrpc.request(method, params, None), method, Deadline(timeout))

    def granted(self, reply: Reply, revision: str) -> None:
        """Store the revision from the handshake; no id is needed: the stream is the session."""
        del reply
        self.revision = revision
        if self._stream is not None:
            self._stream.revision = revision

    def forget(self) -> None:
        """Clear the revision; the stream is kept."""
        self.revision = ""

    def end(self, timeout: float) -> None:
        """End the stream, if it is open, and clear the revision; never raises."""
        del timeout
        stream, self._stream = self._stream, None
        self.forget()
        if stream is not None:
            stream.close()

    def _posted(self, body: bytes, note: str, deadline: Deadline) -> Message:
        """Post a message, after opening the stream if needed; return the record of the message.

        Messages that came before and were not read are dropped. Raises the fault of a stream that
        has ended, Unreachable at the deadline, ProtocolFault for a refused POST.
        """
        try:
            if self._stream is None:
                self._heard = queue.SimpleQueue()
                self._stream = self._made()
                self._stream.open(deadline.left())
            while not self._heard.empty():
                self._hear(deadline)
            return self._stream.post(body, note=note, timeout=deadline.left())
        except Overdue as error:
            raise Unreachable(self._url, "send", str(error), deadline.spent()) from None

    def _made(self) -> EventStream:
        """Return a stream that is not open yet; ValueError for an unusable URL or header."""
        return EventStream(self._url, self._transcript, self._own, self._heard.put, self._dialing)

    def _hear(self, deadline: Deadline) -> Message:
        """Return the next message of the stream, waiting for it.

        Raises Unreachable at the deadline, or, once the stream has ended, its fault.
        """
        try:
            message = self._heard.get(timeout=deadline.left())
        except (queue.Empty, Overdue):
            reason = "no answer in time"
            raise Unreachable(self._url, "wait", reason, deadline.spent()) from None
        if message is not None:
            return message
        self._heard.put(None)  # for whoever asks next
        assert self._stream is not None
        assert self._stream.fault is not None
        raise self._stream.fault
