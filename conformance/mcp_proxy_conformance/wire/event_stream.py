"""Event stream of HTTP+SSE (2024-11-05), and the endpoint that it names for messages."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

from mcp_proxy_conformance.wire.connection import DIRECT, Dialing, origin
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.http import STREAM, Http, check_header
from mcp_proxy_conformance.wire.jsonrpc import quoted
from mcp_proxy_conformance.wire.session import ACKNOWLEDGED, overridden

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp_proxy_conformance.wire.response import Event
    from mcp_proxy_conformance.wire.transcript import Message, Transcript

    Take = Callable[[Message | None], None]

SLACK_S = 1.0
"""Seconds by which the reader of a stream waits longer than whoever opens it."""
EXACT = ("Accept-Encoding", "identity")


class EventStream:
    """One stream, read in a thread of its own; it is its client's session.

    Attributes:
        revision: The revision that requests state, once it is agreed; empty before.
        fault: Why the stream has ended; None while it goes on.
    """

    def __init__(
        self, url: str, transcript: Transcript, headers: Mapping[str, str], take: Take,
        dialing: Dialing = DIRECT,
    ) -> None:  # fmt: skip
        """Check URL and headers, ValueError if unusable; connect to nothing yet.

        `headers` go with every request. `take` gets each message, and None once the stream has
        ended; it is called in the thread that reads.
        """
        for header, value in headers.items():
            check_header(header, value)
        self.revision = ""
        self.fault: Exception | None = None
        self._url, self._transcript = url, transcript
        self._own, self._take, self._dialing = headers, take, dialing
        self._http = Http(url, transcript, dialing)
        self._endpoint = ""
        self._is_settled = threading.Event()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def open(self, timeout: float) -> None:
        """Open the stream, and wait until it has named an endpoint.

        Raises:
            Unreachable: It cannot be opened, ends, or names none in `timeout` seconds.
            ProtocolFault: The answer is not an event stream, or the endpoint is of another origin.
            Exception: Whatever the transcript or `take` raised.
        """
        self._thread = threading.Thread(target=self._run, args=(timeout + SLACK_S,), daemon=True)
        self._thread.start()
        if not self._is_settled.wait(timeout):
            self.close()
            raise Unreachable(self._url, "read", "no event `endpoint` in time", timeout)
        if self.fault is not None:
            raise self.fault

    def post(self, body: bytes, *, note: str, timeout: float) -> Message:
        """Post a message, on a connection of its own; return its record.

        Raises Unreachable without an answer in `timeout` seconds, ProtocolFault unless it is
        acknowledged (HTTP 2xx).
        """
        headers = [("Accept", "*/*"), EXACT, ("Content-Type", "application/json")]
        if self.revision:
            headers.append(("MCP-Protocol-Version", self.revision))
        http = Http(self._endpoint, self._transcript, self._dialing)
        with contextlib.closing(http):
            answer = http.exchange(
                "POST", body, overridden(headers, self._own), note=note, timeout=timeout
            )
        if answer.status not in ACKNOWLEDGED:
            observed = f"HTTP {answer.status}"
            raise ProtocolFault("http", "HTTP 202", observed, answer.body, status=answer.status)
        return answer.sent

    def close(self) -> None:
        """End the stream, and so the session; never raises.

        Waits up to 1 s for the thread that reads, unless it is called in that thread.
        """
        self._is_closed = True
        self._http.interrupt()
        if self._thread not in (None, threading.current_thread()):
            self._thread.join(SLACK_S)

    def _run(self, timeout: float) -> None:
        """Read the stream until it ends; its first bytes have `timeout` seconds.

        However it ends, the exception is kept as `fault`, `open` waits no longer, and `take` gets
        None.
        """
        headers = overridden([("Accept", STREAM), EXACT], self._own)
        events = self._http.events(headers, note="listen", timeout=timeout)
        try:
            with contextlib.closing(events):
                for event, received in events:
                    self._take_event(event, received)
        except Exception as fault:  # noqa: BLE001 - raised again for whoever waits
            self.fault = fault
        finally:
            self._is_settled.set()
            self._take(None)

    def _take_event(self, event: Event, received: Message) -> None:
        """Hand the record of a `message` event to `take`, or keep the first `endpoint` event's URL.

        The URL may be relative; events of other types and further endpoints are ignored. Raises
        ProtocolFault for an endpoint of another origin, to which no message may go, and Unreachable
        once the client has closed the stream.
        """
        if self._is_closed:
            raise Unreachable(self._url, "read", "the client has closed it", 0.0)
        if event.event == "message":
            self._take(received)
        elif event.event == "endpoint" and not self._endpoint:
            named = event.data.decode("utf-8", "replace")
            try:
                place = urldefrag(urljoin(self._url, named)).url
                Http(place, self._transcript, self._dialing)
                is_own = origin(place) == origin(self._url)
            except ValueError:
                is_own = False
            if not is_own:
                expected = f"an endpoint of the origin of {self._url}"
                raise ProtocolFault("stream", expected, f"the endpoint {quoted(named)}")
            self._endpoint = place
            self._is_settled.set()
