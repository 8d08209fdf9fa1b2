"""One HTTP response as it arrives over a connection: its head, its body, server-sent events."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import httptools

if TYPE_CHECKING:
    from mcp_proxy_conformance.wire.deadline import DeadlineSocket


MOST_DIGITS = 9
"""The most digits of the milliseconds of `retry`."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One server-sent event; its data includes the line breaks between `data:` lines."""

    data: bytes
    event: str = "message"
    id: str | None = None


class EventReader:
    """Parses server-sent events from bytes as they arrive; only whole events are returned.

    Attributes:
        last_id: The event id from which the stream can be resumed; empty without one, or if no
            header can carry it.
        retry_s: Seconds to wait before that.
    """

    def __init__(self) -> None:
        """Begin at the start of a stream."""
        self.last_id = ""
        self.retry_s = 0.0
        self._buffer = bytearray()
        self._searched = 0
        self._begun = False
        self._data: list[bytes] = []
        self._event = "message"
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes, in order.

        The rest is kept for the next call.
        """
        self._buffer += chunk
        events: list[Event] = []
        at = 0
        while match := _LINE_END.search(self._buffer, max(at, self._searched)):
            if match.end() == len(self._buffer) and match[0] == b"\r":
                break  # an LF may follow and belong to it
            line = bytes(self._buffer[at : match.start()])
            at = self._searched = match.end()
            if event := self._line(line):
                events.append(event)
        del self._buffer[:at]
        self._searched = max(0, len(self._buffer) - 1)
        return events

    def _line(self, line: bytes) -> Event | None:
        """Take one line: a field of the event, or the empty line that ends it; return that event.

        None for other lines, and for an event without data. A `retry` sets `retry_s`.
        """
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value.decode("utf-8", "replace") or "message"
        elif field == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit() and len(value) <= MOST_DIGITS:
            self.retry_s = int(value) / 1000
        return None

    def _dispatch(self) -> Event | None:
        """End the event; return it, None if it has no data.

        The latest id of the stream is stored as `last_id`, "" if no header can carry it.
        """
        data, event = self._data, self._event
        self._data, self._event = [], "message"
        self.last_id = "" if _CONTROL.search(self._id or "") else self._id or ""
        return Event(data=b"\n".join(data), event=event, id=self._id) if data else None


MOST_HEADERS, MOST_HEAD = 100, 64 << 10
"""The most fields and bytes of one head; the byte limit also holds for framing around a body."""
PIECE = 64 << 10


class NotHttp(Exception):
    """The response is not HTTP/1, or incomplete; the message gives the defect."""


class BrokenOff(NotHttp):
    """The connection ended inside the body of the response."""


class Closed(ConnectionResetError):
    """The connection was closed before a byte of an answer."""


class Response:
    """Reads one final response; interim ones before it are skipped.

    Attributes:
        status: The HTTP status.
        headers: The fields of the head, as sent; those of a trailer are not included.
    """

    def __init__(self, sock: DeadlineSocket) -> None:
        """Read up to the end of the final response's head.

        Raises:
            Closed: The connection ended before any byte arrived.
            NotHttp: The head is invalid or too long.
            OSError: The connection failed, or the deadline has passed.
        """
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self._sock = sock
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,  # folded ones, and harmless bytes
            lenient_chunked_length=True,
            lenient_keep_alive=True,  # an interim response may say "close" or be HTTP/1.0
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self._fields: list[tuple[str, str]] = []
        self._pieces: list[bytes] = []
        self._kept = self._sized = self._done = False
        self._broken = ""
        self._read = 0
        while not self.status:
            if not self._fed():
                raise NotHttp("one that ended inside its head") if self._read else Closed

    def header(self, name: str) -> str | None:
        """Return the first field of that name, which is given in lower case; None without one."""
        return next((value for field, value in self.headers if field.lower() == name), None)

    def piece(self) -> bytes:
        """Return the available bytes of the body, waiting for the first; b"" at its end.

        A body without length or chunks ends with the connection.

        Raises:
            BrokenOff: The connection ended before the body did.
            NotHttp: A chunk is invalid.
            OSError: The connection failed, or the deadline has passed.
        """
        while not self._pieces and not self._done:
            if not self._fed():
                if self._sized:
                    raise BrokenOff("one that ended inside its body")
                self._done = True
        body = b"".join(self._pieces)
        self._pieces.clear()
        return body

    @property
    def keeps(self) -> bool:
        """Whether the response is complete and the connection may be used again."""
        return self._done and self._kept

    def _fed(self) -> bool:
        """Receive available bytes and feed the parser; return False at the connection's end.

        A defect, or too many bytes of head or framing, raises NotHttp at the next call; an
        exception inside a callback of the parser, such as an interruption, is raised at once.
        """
        if self._broken:
            raise NotHttp(self._broken)
        data = self._sock.recv(PIECE)
        if not data:
            return False
        self._read += len(data)
        around = sys.exception()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            cause = error.__context__  # an interruption
            raise (error if cause in (None, around) else cause) from None
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._kept = False  # bytes after a whole response belong to no request
            self._broken = self._broken or f"a defective one ({error})"
        if self._read > MOST_HEAD:
            part = "around its body" if self.status else "in its head"
            self._broken = self._broken or f"one with more than {MOST_HEAD} bytes {part}"
        return True

    # -- callbacks of the parser -----------------------------------------------------------

    def on_message_begin(self) -> None:
        """Start a response without fields; after a complete one the connection is not kept."""
        if self._done:
            self._kept = False
        self._fields.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a field of the head, decoded.

        Those of a trailer are ignored, over 100 are a defect.
        """
        if len(self._fields) == MOST_HEADERS and not self.status:
            self._broken = self._broken or f"one with more than {MOST_HEADERS} header fields"
        elif not self.status:
            self._fields.append((name.decode("latin-1"), value.strip(b" \t").decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Store status, headers and framing of a final response; ignore an interim one.

        A status below 100 is a defect.
        """
        status = self._parser.get_status_code()
        if status < HTTPStatus.CONTINUE:
            self._broken = f"one with the status {status}"
        interim = status < HTTPStatus.OK and status != HTTPStatus.SWITCHING_PROTOCOLS
        if self._done or self._broken or interim:
            return
        self.status, self.headers = status, tuple(self._fields)
        self._read = 0
        self._kept = self._parser.should_keep_alive()
        coding = self.header("transfer-encoding")
        length = self.header("content-length")
        self._sized = length is not None if coding is None else "chunked" in coding.lower()

    def on_body(self, body: bytes) -> None:
        """Add bytes of the body, already dechunked; those after its end are dropped."""
        self._read = 0
        if not self._done:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Mark the response as complete; an interim one does not count."""
        self._done = bool(self.status)
