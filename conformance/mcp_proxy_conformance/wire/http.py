"""One HTTP exchange at a time over a kept connection: exact bytes out, exact bytes in."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from mcp_proxy_conformance.wire.connection import DIRECT, Dialing, within_origin
from mcp_proxy_conformance.wire.deadline import Deadline, DeadlineSocket
from mcp_proxy_conformance.wire.faults import Phase, ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.response import (
    BrokenOff,
    Closed,
    Event,
    EventReader,
    NotHttp,
    Response,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from mcp_proxy_conformance.verdict.cited import Direction, Headers
    from mcp_proxy_conformance.wire.transcript import Message, Transcript

MAX_BODY = 16 << 20
"""The most bytes of one answer; a longer one is not read and not judged."""
GRACE = 0.05
"""Seconds in which a stream may end after its answer, so that the connection can be kept."""
QUIET_S = 3600.0
"""Seconds without a byte after which a stream that is listened to counts as ended."""
REFUSAL_S = 1.0
"""Seconds in which the first bytes of an answer may come that is not a stream."""
OK, STREAM = 200, "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """One HTTP response, of any status and content.

    Attributes:
        status: The HTTP status.
        headers: The response headers, as sent.
        body: The exact bytes, chunking undone; of a stream, all that was read of it.
        events: The events of a `text/event-stream`, else empty.
        seconds: From the start of the request to the last byte that mattered.
        sent: The request in the transcript.
        received: The response in the transcript.
        last_id: The event id from which the stream can be resumed; empty without one.
        retry_s: Seconds to wait before that, from the stream's `retry`.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    events: tuple[Event, ...]
    seconds: float
    sent: Message
    received: Message
    last_id: str = ""
    retry_s: float = 0.0

    def header(self, name: str) -> str | None:
        """Return the first header of that name, in any case; None without one."""
        return next((v for k, v in self.headers if k.lower() == name.lower()), None)

    @property
    def media_type(self) -> str:
        """The media type in lower case, without parameters; "" without one."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


_REASONS: tuple[tuple[type[OSError], str], ...] = (
    (TimeoutError, "no answer in time"),
    (socket.gaierror, "the name cannot be resolved"),
    (ConnectionRefusedError, "the connection was refused"),
    (Closed, "the connection was closed"),
    (ConnectionResetError, "the connection was reset"),
)


class _ResponseBody:
    """Body of a response as it arrives; what has arrived outlives a failed connection."""

    def __init__(self) -> None:
        """Begin empty."""
        self._bytes = BytesIO()  # its value shares its memory; joining pieces would double it
        self.events: list[Event] = []
        self.reader = EventReader()
        self.seconds = 0.0

    def add(self, piece: bytes) -> None:
        """Append a piece; ProtocolFault, appending nothing, if all would have more than 16 MiB."""
        if self._bytes.tell() + len(piece) > MAX_BODY:
            raise ProtocolFault("size", f"at most {MAX_BODY} bytes", "more", piece)
        self._bytes.write(piece)

    @property
    def raw(self) -> bytes:
        """The bytes that have been added so far."""
        return self._bytes.getvalue()


_NO_HEADER = re.compile(r"[^\x20-\x7e\xa0-\xff]")


def check_header(name: str, value: str) -> None:
    """Raise ValueError for a header with a control character, or one beyond Latin-1."""
    if _NO_HEADER.search(name + value):
        raise ValueError(f"the header {name!r} contains a character that HTTP cannot carry")


class Http:
    """HTTP client with one kept connection to one URL; no cookies, no compression."""

    def __init__(self, url: str, transcript: Transcript, dialing: Dialing = DIRECT) -> None:
        """Check URL and proxy; a connection is made by the first request.

        ValueError for another scheme, no host, a bad port, or a URL that is not percent-encoded
        ASCII.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http or https URL: {url!r}")
        self.url = url
        self._authority = parts.netloc.rpartition("@")[2]
        self._dialing = dialing
        self._proxy = dialing.proxy(url)
        check_header("URL", url)
        parts.port  # noqa: B018 - raises ValueError for an invalid port
        if not url.isascii() or " " in url:
            raise ValueError(f"a URL must be percent-encoded: {url!r}")
        self._transcript = transcript
        self._sock: DeadlineSocket | None = None
        self._phase: Phase = "connect"

    @property
    def _target(self) -> str:
        """The path and query of the URL, as a request line has them."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def close(self) -> None:
        """Close the connection, if there is one; the next request makes another."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    @property
    def is_answering(self) -> bool:
        """Whether the head of the answer to the latest request has arrived."""
        return self._phase == "read"

    def interrupt(self) -> None:
        """Cut the connection off; an exchange on it, in another thread, ends with Unreachable."""
        if (sock := self._sock) is not None:
            sock.interrupt()

    def exchange(
        self,
        method: str,
        body: bytes,
        headers: Sequence[tuple[str, str]],
        *,
        note: str,
        timeout: float,
        until: Callable[[Event], bool] = lambda _: False,
    ) -> HttpResponse:
        """Send one request and return the response, an event stream up to where `until` accepts.

        Its status may be any. Redirects within the origin are followed, at most `dialing.redirects`
        of them, and later requests go to the new URL. If a kept connection is closed before any
        byte of an answer, the request is sent again on a new one. `note` is for the transcript.

        Raises:
            Unreachable: No answer, or not a whole one, in `timeout` seconds.
            ProtocolFault: The answer is not HTTP, or has more than 16 MiB.
        """
        deadline = Deadline(timeout)
        for _ in range(self._dialing.redirects):
            answer = self._exchanged(
                method, body, headers, note=note, deadline=deadline, until=until
            )
            place = within_origin(self.url, answer.status, answer.header("location"))
            if place is None:
                return answer
            self.url = place
        return self._exchanged(method, body, headers, note=note, deadline=deadline, until=until)

    def events(
        self, headers: Sequence[tuple[str, str]], *, note: str, timeout: float
    ) -> Generator[tuple[Event, Message], None, NoReturn]:
        """GET an event stream on a new connection; yield each event, with its record, as it comes.

        It only ends by an exception. Its first bytes have `timeout` seconds, later ones an hour.

        Raises:
            Unreachable: It cannot be opened, ends, or is late.
            ProtocolFault: The answer is not an event stream, or 16 MiB of it are not an event.
        """
        self.close()
        deadline, media = Deadline(timeout), ""
        all_headers = (("Host", self._authority), *headers)
        line = f"GET {self._target}"
        self._record("sent", b"", f"{line} {note}".rstrip(), all_headers)
        try:
            response = self._begin(deadline, "GET", b"", all_headers)
            media = (response.header("content-type") or "").partition(";")[0].strip().lower()
            if response.status != OK or media != STREAM:
                deadline.shorten(REFUSAL_S)
                body = b""
                with contextlib.suppress(OSError, NotHttp):
                    body = response.piece()
                observed = f"HTTP {response.status}, {media or 'no content'}"
                self._record(
                    "received", body, f"{line} {response.status} {media}", response.headers
                )
                raise ProtocolFault(
                    "http", "an event stream", observed, body, status=response.status
                )
            reader, size = EventReader(), 0
            while piece := response.piece():
                if (size := size + len(piece)) > MAX_BODY:
                    raise ProtocolFault("size", f"at most {MAX_BODY} bytes of an event", "more")
                for event in reader.feed(piece):
                    size = 0
                    yield (
                        event,
                        self._record(
                            "received", event.data, f"{line} 200 {event.event}", response.headers
                        ),
                    )
                deadline.extend(QUIET_S)
        except BrokenOff:
            pass
        except OSError as error:
            raise self._unreachable(error, deadline) from None
        except NotHttp as error:
            raise ProtocolFault("http", "a whole HTTP response", str(error)) from None
        finally:
            self.close()
        raise Unreachable(self.url, "read", "the stream ended", deadline.spent())

    def _exchanged(
        self,
        method: str,
        body: bytes,
        headers: Sequence[tuple[str, str]],
        *,
        note: str,
        deadline: Deadline,
        until: Callable[[Event], bool],
    ) -> HttpResponse:
        """Send one request, recorded, and return the response; redirects are not followed.

        It is sent again if a kept connection turns out to be closed before a byte of the answer.
        Any failure closes the connection; Unreachable or ProtocolFault is raised.
        """
        all_headers = (("Host", self._authority), *headers)
        if self._sock is not None and self._sock.stale():
            self.close()
        while True:
            kept = self._sock is not None
            sent = self._record(
                "sent", body, f"{method} {self._target} {note}".rstrip(), all_headers
            )
            try:
                response = self._begin(deadline, method, body, all_headers)
                return self._read(response, deadline, sent, method, until)
            except OSError as error:
                unanswered = self._sock is not None and self._sock.received == 0
                self.close()
                if kept and unanswered and not isinstance(error, TimeoutError):
                    continue
                raise self._unreachable(error, deadline) from None
            except NotHttp as error:
                self.close()
                raise ProtocolFault("http", "a whole HTTP response", str(error)) from None
            except BaseException:
                self.close()  # half an exchange: its rest would be read as a later answer
                raise

    def _begin(
        self, deadline: Deadline, method: str, body: bytes, headers: Sequence[tuple[str, str]]
    ) -> Response:
        """Connect if needed, send the request, and return the response, read up to its body.

        Set `_phase` on the way. For http through a proxy, the request line has the whole URL, and
        the proxy's credentials are sent.
        """
        self._phase = "connect"
        if self._sock is None:
            sock = self._dialing.connect(self.url, self._proxy, deadline)
            self._sock = DeadlineSocket(sock, deadline)
        self._sock.begin(deadline)
        self._phase = "send"
        by_proxy = self._proxy is not None and urlsplit(self.url).scheme == "http"
        whole = f"http://{self._authority}" if by_proxy else ""
        head = [f"{method} {whole}{self._target} HTTP/1.1"]
        head += [f"{name}: {value}" for name, value in headers]
        if by_proxy and self._proxy is not None and self._proxy.authorization:
            head.append(f"Proxy-Authorization: {self._proxy.authorization}")
        if body:
            head.append(f"Content-Length: {len(body)}")
        self._sock.sendall("\r\n".join([*head, "", ""]).encode("latin-1") + body)
        self._phase = "wait"
        response = Response(self._sock)
        self._phase = "read"
        return response

    def _read(
        self,
        response: Response,
        deadline: Deadline,
        sent: Message,
        method: str,
        until: Callable[[Event], bool],
    ) -> HttpResponse:
        """Read the body, record it in the transcript, and return head and body as one response.

        If reading fails, what has arrived is recorded as cut off. The connection is closed unless
        the response was read whole, and both request and response allow to keep it.
        """
        headers = response.headers
        media = (response.header("content-type") or "").partition(";")[0].strip().lower()
        body = _ResponseBody()
        note, whole = "cut off", False
        try:
            whole = _fill(response, deadline, body, until if "event-stream" in media else None)
            note = ""
        finally:
            raw = body.raw
            line = f"{method} {self._target} {response.status} {media} {note}".rstrip()
            received = self._record("received", raw, line, headers)
            if not whole or not response.keeps or _last(sent.headers):
                self.close()
        return HttpResponse(
            status=response.status,
            headers=headers,
            body=raw,
            events=tuple(body.events),
            last_id=body.reader.last_id,
            retry_s=body.reader.retry_s,
            seconds=body.seconds,
            sent=sent,
            received=received,
        )

    def _unreachable(self, error: OSError, deadline: Deadline) -> Unreachable:
        """Return the fault of a connection that failed, in the phase that was reached."""
        return Unreachable(self.url, self._phase, _reason(error), deadline.spent())

    def _record(self, direction: Direction, raw: bytes, note: str, headers: Headers) -> Message:
        """Record one message in the transcript, and return it."""
        return self._transcript.record(
            edge="client", direction=direction, peer=self.url, raw=raw, note=note, headers=headers
        )


def _fill(
    response: Response,
    deadline: Deadline,
    body: _ResponseBody,
    until: Callable[[Event], bool] | None,
) -> bool:
    """Read the response into `body`, and its events unless `until` is None.

    Once `until` has accepted an event, the stream has 0.05 s to end. Return whether it was read to
    its end; False if it broke off after that event, or earlier, but not by a timeout, with an event
    id to resume it from. Other failures are raised.
    """
    while True:
        try:
            chunk = response.piece()
        except (OSError, NotHttp) as error:
            if body.seconds:
                return False  # the answer is complete; only its stream did not end within GRACE
            if body.reader.last_id and not isinstance(error, TimeoutError):
                body.seconds = deadline.spent()
                return False  # the stream can be resumed
            raise
        if not chunk:
            break
        body.add(chunk)
        if until is not None and not body.seconds:
            events = body.reader.feed(chunk)
            body.events += events
            if any(until(event) for event in events):
                body.seconds = deadline.spent()
                deadline.shorten(GRACE)
    body.seconds = body.seconds or deadline.spent()
    return True


def _last(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether a request's headers contain `Connection: close`."""
    return any(name.lower() == "connection" and value == "close" for name, value in headers)


def _reason(error: OSError) -> str:
    """Return an error's reason in words, the system's own if none of ours fits."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    return error.strerror or str(error) or type(error).__name__
