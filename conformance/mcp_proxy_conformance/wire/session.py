"""One MCP session over HTTP, by handshake or stateless; and a probe for the old SSE transport."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proxy_conformance.wire import jsonrpc, revisions
from mcp_proxy_conformance.wire.awaited_answer import Awaited
from mcp_proxy_conformance.wire.connection import DIRECT, Dialing
from mcp_proxy_conformance.wire.conversation import refused
from mcp_proxy_conformance.wire.deadline import Deadline, Overdue
from mcp_proxy_conformance.wire.faults import ProtocolFault, SessionLost, Unreachable
from mcp_proxy_conformance.wire.http import OK, STREAM, Http, check_header

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proxy_conformance.wire.http import HttpResponse
    from mcp_proxy_conformance.wire.reply import Reply
    from mcp_proxy_conformance.wire.response import Event
    from mcp_proxy_conformance.wire.transcript import Transcript

CLOSE_TIMEOUT = 1.0
PAUSE_S = 0.05
"""Seconds before a stream is resumed, if it sets no longer `retry`; doubled if nothing arrived."""
SESSION_ID, NOT_FOUND = "Mcp-Session-Id", 404
ACKNOWLEDGED = range(200, 300)
_SESSION_ID = re.compile(r"[\x21-\x7e]+")
_STANDING = [
    ("Accept", "application/json, text/event-stream"),
    ("Accept-Encoding", "identity"),
    ("Content-Type", "application/json"),
]


class Session:
    """Carrier over HTTP: the revision, empty before it is agreed, and the session's id."""

    def __init__(
        self,
        url: str,
        *,
        transcript: Transcript,
        headers: Mapping[str, str],
        dialing: Dialing = DIRECT,
    ) -> None:
        """Check URL and the user's headers, ValueError if unusable; connect to nothing yet."""
        for header, value in headers.items():
            check_header(header, value)
        self.revision = ""
        self.id: str | None = None
        self._own = headers
        self._http = Http(url, transcript, dialing)

    @property
    def stateless(self) -> bool:
        """Whether the revision has no handshake: each request carries its own metadata."""
        return self.revision in revisions.STATELESS_REVISIONS

    def ask(self, method: str, params: bytes | None, timeout: float) -> Reply:
        """Send a request with a fresh id and return its answer; resume a stream that ends early.

        In the stateless revision the params get `_meta`, and nothing is resumed. Raises Unreachable
        without an answer in `timeout` seconds, ProtocolFault for an invalid one, SessionLost for a
        404 in a session.
        """
        request_id = jsonrpc.fresh_id()
        if self.stateless:
            params = revisions.with_meta(params)
        awaited, deadline = Awaited(request_id), Deadline(timeout)
        answer = self._http.exchange(
            "POST",
            jsonrpc.request(method, params, request_id),
            self._headers(method, params),
            note=method,
            timeout=timeout,
            until=awaited.take_event,
        )
        if answer.last_id and answer.status == OK and not (self.stateless or awaited.is_over):
            answer = self._resumed(answer, awaited, deadline)
        return awaited.reply(answer, in_session=self.id is not None)

    def _resumed(self, answer: HttpResponse, awaited: Awaited, deadline: Deadline) -> HttpResponse:
        """Resume the stream of an answer by GET until the awaited message has arrived.

        Wait before each GET, as `retry` says, at least 50 ms, doubled each time the last GET
        brought no new event id. Status and headers stay those of `answer`; events are added. Raises
        Unreachable at the deadline, ProtocolFault if a GET does not return a stream.
        """
        wanted = {"Accept": STREAM}
        if self.id is None and (session_id := answer.header(SESSION_ID)) is not None:
            wanted[SESSION_ID] = session_id  # from the handshake, which is not over yet
        last_id, retry_s, pause_s = answer.last_id, answer.retry_s, PAUSE_S
        while not awaited.is_over:
            try:
                deadline.sleep(max(retry_s, pause_s))
                left = deadline.left()
            except Overdue as error:
                spent = deadline.spent()
                raise Unreachable(self._http.url, "read", str(error), spent) from None
            # as event streams encode it
            place = last_id.encode("utf-8", "replace").decode("latin-1")
            headers = [*overridden(self._headers("", None), wanted), ("Last-Event-ID", place)]
            more = self._http.exchange(
                "GET", b"", headers, note="resume", timeout=left, until=awaited.take_event
            )
            if more.status != OK or more.media_type != STREAM:
                expected = f"the stream to go on after its event {jsonrpc.quoted(last_id)}"
                observed = f"HTTP {more.status}, {more.media_type or 'no content'}"
                raise ProtocolFault("stream", expected, observed, more.body, status=more.status)
            moved = more.last_id not in ("", last_id)
            pause_s = PAUSE_S if moved else 2 * pause_s
            last_id, retry_s = more.last_id or last_id, more.retry_s or retry_s
            events = answer.events + more.events
            answer = replace(more, status=answer.status, headers=answer.headers, events=events,
                             sent=answer.sent, seconds=deadline.spent())  # fmt: skip
        return answer

    def tell(self, method: str, params: bytes | None, timeout: float) -> None:
        """Send a notification; raises ProtocolFault unless it is acknowledged (HTTP 2xx).

        A 404 in a session raises SessionLost, no answer in `timeout` seconds Unreachable.
        """
        if self.stateless:
            params = revisions.with_meta(params)
        body = jsonrpc.request(method, params, None)
        headers = self._headers(method, params)
        answer = self._http.exchange("POST", body, headers, note=method, timeout=timeout)
        if answer.status == NOT_FOUND and self.id is not None:
            expected = "an answer in the session that the target issued"
            raise SessionLost("session", expected, "HTTP 404", answer.body, status=NOT_FOUND)
        if answer.status not in ACKNOWLEDGED:
            observed = f"HTTP {answer.status}"
            raise ProtocolFault("http", "HTTP 202", observed, answer.body, status=answer.status)

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        timeout: float,
        until: Callable[[Event], bool] = lambda _: False,
    ) -> HttpResponse:
        """Post any bytes and return the response, a stream up to the event that `until` accepts.

        No session is opened; `headers` replace those of the same name. Raises Unreachable without a
        whole answer within `timeout` seconds, ProtocolFault for one that is not HTTP or too large.
        """
        wanted = overridden(self._headers("", None), headers)
        return self._http.exchange("POST", body, wanted, note="raw", timeout=timeout, until=until)

    def exchange(self, body: bytes, until: Callable[[bytes], bool], timeout: float) -> bytes:
        """Post a message as it is, and return the first one of its response that `until` accepts.

        Raises Unreachable without a whole response, ProtocolFault if that has none.
        """
        answer = self.post(body, {}, timeout, lambda event: until(event.data))
        texts = [event.data for event in answer.events] or [answer.body]
        if (accepted := next(filter(until, texts), None)) is None:
            observed = f"HTTP {answer.status}"
            raise ProtocolFault("http", "an answer", observed, answer.body, status=answer.status)
        return accepted

    def granted(self, reply: Reply, revision: str) -> None:
        """Store the revision, and the session's id if any, from the handshake's answer.

        Raises ProtocolFault for an id that is not visible ASCII.
        """
        session_id = next((v for k, v in reply.headers if k.lower() == SESSION_ID.lower()), None)
        if session_id is not None and not _SESSION_ID.fullmatch(session_id):
            raise refused(
                reply, "a session id of visible ASCII characters", jsonrpc.quoted(session_id)
            )
        self.revision, self.id = revision, session_id

    def forget(self) -> None:
        """Clear the revision and the session's id; the connection is kept."""
        self.revision, self.id = "", None

    def end(self, timeout: float) -> None:
        """Delete the session, if there is one, in at most 1 s, and close the connection.

        It never raises. Revision and id are cleared.
        """
        if self.id is not None:
            headers = self._headers("", None)
            with contextlib.suppress(Unreachable, ProtocolFault):
                seconds = min(CLOSE_TIMEOUT, timeout)
                self._http.exchange("DELETE", b"", headers, note="", timeout=seconds)
        self._http.close()
        self.forget()

    def _headers(self, method: str, params: bytes | None) -> list[tuple[str, str]]:
        """Return a request's headers: the protocol's, with version and session if known.

        Only the stateless revision repeats `method` and the name in `params` in headers. The user's
        own are added, or replace those of the same name.
        """
        headers = [*_STANDING]
        if self.stateless:
            headers += revisions.stateless_headers(method, params)
        elif self.revision:
            headers.append(("MCP-Protocol-Version", self.revision))
        if self.id is not None:
            headers.append((SESSION_ID, self.id))
        return overridden(headers, self._own)


def overridden(headers: list[tuple[str, str]], by: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return `headers` with those of `by` added, or in place of those of the same name.

    Names are compared in any case. ValueError for one that cannot be sent.
    """
    for name, value in by.items():
        check_header(name, value)
    named = {name.lower() for name in by}
    return [header for header in headers if header[0].lower() not in named] + [*by.items()]


TIMEOUT = 3.0


def opens_old_stream(
    url: str, headers: Mapping[str, str], transcript: Transcript, dialing: Dialing = DIRECT
) -> bool:
    """Whether GET opens, within 3 s, a stream of the old HTTP+SSE transport.

    Its first event is then `endpoint`. False also if the target does not answer.
    """
    wanted = overridden([("Accept", STREAM)], headers)
    http = Http(url, transcript, dialing)
    try:
        answer = http.exchange(
            "GET", b"", wanted, note="", timeout=TIMEOUT, until=lambda event: bool(event.data)
        )
    except (Unreachable, ProtocolFault):
        return False
    finally:
        http.close()
    return answer.status == OK and any(first.event == "endpoint" for first in answer.events[:1])
