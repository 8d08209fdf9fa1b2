"""The awaited answer to a request: found among arriving messages, or in an HTTP response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proxy_conformance.wire import jsonrpc
from mcp_proxy_conformance.wire.faults import ProtocolFault, SessionLost
from mcp_proxy_conformance.wire.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from mcp_proxy_conformance.wire.deadline import Deadline
    from mcp_proxy_conformance.wire.http import HttpResponse
    from mcp_proxy_conformance.wire.jsonrpc import Envelope
    from mcp_proxy_conformance.wire.response import Event
    from mcp_proxy_conformance.wire.transcript import Message

OK, NOT_FOUND, REFUSED = 200, 404, 400
REDIRECTED = range(300, 400)


class Awaited:
    """The answer to one request, searched for in a stream as it arrives, or in a body.

    `late` are the ids of abandoned requests: answers to them are skipped.
    """

    def __init__(self, request_id: int, late: Container[int | str | None] = ()) -> None:
        """Expect the answer to the request of this id; answers to ids in `late` will be skipped."""
        self._id = request_id
        self._late = late
        self._before: list[Envelope] = []
        self._answer: Envelope | None = None
        self._fault: ProtocolFault | None = None

    def take_event(self, event: Event) -> bool:
        """Take one event of the stream; return whether it ends the wait, by an answer or a fault.

        An event without data, or of another type than `message`, is ignored: False.
        """
        return bool(event.data) and event.event == "message" and self.take_message(event.data)

    def take_message(self, raw: bytes) -> bool:
        """Take one message; return whether it ends the wait, by an answer or a fault.

        A fault (an invalid message, an answer to another id) is kept, and raised by `envelope`.
        Requests and notifications are kept as `before`; answers to abandoned requests are skipped.
        An error without an id counts as the answer.
        """
        try:
            message = jsonrpc.parse(raw)
        except ProtocolFault as fault:
            self._fault = fault
            return True
        if self._answers(message):
            self._answer = message
            return True
        if message.method is None and message.id not in self._late:
            self._fault = self._wrong_id(message)
            return True
        if message.method is not None:
            self._before.append(message)
        return False

    def envelope(self) -> Envelope | None:
        """Return the answer, None while awaited; raises the ProtocolFault that ended the wait."""
        if self._fault is not None:
            raise self._fault
        return self._answer

    @property
    def is_over(self) -> bool:
        """Whether the wait has ended, by the answer or by a faulty message (invalid, other id)."""
        return self._answer is not None or self._fault is not None

    @property
    def before(self) -> tuple[Envelope, ...]:
        """The notifications and requests that arrived before the answer, in order."""
        return tuple(self._before)

    def heard(self, sent: Message, hear: Callable[[], Message], deadline: Deadline) -> Reply:
        """Take the messages that `hear` returns, up to the answer; return the answer as a Reply.

        `hear` waits for the next message; `sent` is the record of the request; `deadline` only
        measures the seconds since it was sent. Raises ProtocolFault for an invalid message or an
        answer to another id, and what `hear` raises.
        """
        received = hear()
        while not self.take_message(received.raw):
            received = hear()
        envelope = self.envelope()
        assert envelope is not None
        return Reply(
            envelope=envelope,
            status=0,
            headers=(),
            seconds=deadline.spent(),
            sent=sent,
            received=received,
            before=self.before,
        )

    def reply(self, answer: HttpResponse, *, in_session: bool) -> Reply:
        """Return the answer in an HTTP response as a Reply.

        With status 200 it is a JSON body, or among the events of the stream that `take_event` has
        taken; with 400 or more it is the JSON-RPC error in a JSON body.

        Raises:
            SessionLost: HTTP 404 while `in_session`, without an error that has the request's id.
            ProtocolFault: The response does not contain an answer, has a content encoding, another
                status, or another content type.
        """
        if (encoding := answer.header("content-encoding") or "identity") != "identity":
            observed = f"the content encoding {jsonrpc.quoted(encoding)}"
            raise ProtocolFault(
                "http", "no content encoding, as requested", observed, status=answer.status
            )
        if answer.status >= REFUSED:
            envelope = self._refusal(answer, in_session=in_session)
        elif answer.status != OK:
            raise _not_ok(answer)
        elif answer.media_type == "text/event-stream":
            envelope = self._of_stream(answer)
        elif answer.media_type == "application/json":
            envelope = self._of_body(answer.body)
        else:
            media = answer.header("content-type")
            observed = f"the content type {jsonrpc.quoted(media)}" if media else "no content type"
            expected = "application/json or text/event-stream"
            raise ProtocolFault("http", expected, observed, answer.body, status=answer.status)
        return Reply(
            envelope=envelope,
            status=answer.status,
            headers=answer.headers,
            seconds=answer.seconds,
            sent=answer.sent,
            received=answer.received,
            before=self.before,
        )

    def _answers(self, message: Envelope) -> bool:
        """Whether the message is an answer with the request's id, or an error without an id."""
        if message.method is not None:
            return False
        return message.id == self._id or (message.id is None and message.error is not None)

    def _of_body(self, body: bytes) -> Envelope:
        """Return the answer in a JSON body.

        ProtocolFault if it is not one JSON-RPC message, or not an answer to this request.
        """
        message = jsonrpc.parse(body)
        if not self._answers(message):
            raise self._wrong_id(message)
        return message

    def _of_stream(self, answer: HttpResponse) -> Envelope:
        """Return the answer that was found while the stream was read.

        ProtocolFault if one of its messages was invalid, or if it ended without an answer.
        """
        answered = self.envelope()
        if answered is None:
            observed = f"a stream of {len(answer.events)} events that ended without it"
            expected = f"an answer to request {self._id}"
            raise ProtocolFault("stream", expected, observed, answer.body[-200:])
        return answered

    def _refusal(self, answer: HttpResponse, *, in_session: bool) -> Envelope:
        """Return the JSON-RPC error in a JSON body of an HTTP status of 400 or more.

        Its id must be the request's, null, absent or a string; otherwise ProtocolFault is raised. A
        404 in a session raises SessionLost, unless the error has the request's id.
        """
        message = None
        if answer.media_type == "application/json":
            try:
                message = jsonrpc.parse(answer.body)
            except ProtocolFault:
                message = None
        if message is not None and message.error is not None and message.id == self._id:
            return message
        if in_session and answer.status == NOT_FOUND:
            expected = "an answer in the session that the target issued"
            raise SessionLost("session", expected, "HTTP 404", answer.body, status=NOT_FOUND)
        if message is None or message.error is None or isinstance(message.id, int):
            raise _not_ok(answer)
        return message

    def _wrong_id(self, message: Envelope) -> ProtocolFault:
        """Return the fault for a message that is a request, or answers another or no request."""
        to = "no request" if message.id is None else f"request {jsonrpc.quoted(message.id)}"
        observed = "a request" if message.method else f"an answer to {to}"
        return ProtocolFault("id", f"an answer to request {self._id}", observed, message.raw)


def _not_ok(answer: HttpResponse) -> ProtocolFault:
    """Return the fault for an unwanted HTTP status, with the Retry-After header, if any.

    The fault of a redirect has its Location, too.
    """
    place = answer.header("location") if answer.status in REDIRECTED else None
    observed = f"HTTP {answer.status}" + (f" to {jsonrpc.quoted(place)}" if place else "")
    return ProtocolFault(
        "http",
        "HTTP 200",
        observed,
        answer.body,
        status=answer.status,
        location=place,
        retry_after=answer.header("retry-after"),
    )
