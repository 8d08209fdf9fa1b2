"""One HTTP response as it comes over a connection: its head, then its body piece by piece."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import httptools

if TYPE_CHECKING:
    from mcp_proxy_conformance.wire.deadline import DeadlineSocket

MOST_HEADERS, MOST_HEAD = 100, 64 << 10
"""Fields, and bytes, of one head; what is longer is not read."""
PIECE = 64 << 10


class NotHttp(Exception):
    """What came is no HTTP/1 response, or only a part of one; the message says how."""


class Closed(ConnectionResetError):
    """The connection was closed before a byte of an answer."""


class Response:
    """Reads one final response; interim ones before it are passed over.

    Attributes:
        status: The HTTP status.
        headers: The fields of the head, as sent; those of a trailer are not among them.
    """

    def __init__(self, sock: DeadlineSocket) -> None:
        """Read the head.

        Raises:
            Closed: The connection ended before a byte came.
            NotHttp: What came is no head, or too long.
            OSError: The connection failed, or the deadline has passed.
        """
        self.status = 0
        self.headers: tuple[tuple[str, str], ...] = ()
        self._sock = sock
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_data_after_close=True,
            lenient_optional_cr_before_lf=True,
        )
        self._fields: list[tuple[str, str]] = []
        self._pieces: list[bytes] = []
        self._kept = self._sized = self._done = False
        self._read = 0
        while not self.status:
            if not self._fed():
                raise NotHttp("it ended inside the head") if self._read else Closed
            if not self.status and self._read > MOST_HEAD:
                raise NotHttp(f"its head has more than {MOST_HEAD} bytes")

    def header(self, name: str) -> str | None:
        """The first field of that name in lower case."""
        return next((value for field, value in self.headers if field.lower() == name), None)

    def piece(self) -> bytes:
        """The next bytes of the body, as they come; none at its end.

        Raises:
            NotHttp: The connection ended before the body did, or what came is no chunk.
            OSError: As above.
        """
        while not self._pieces and not self._done:
            if not self._fed():
                if self._sized:
                    raise NotHttp("the end of the connection inside its body")
                self._done = True
        found = b"".join(self._pieces)
        self._pieces.clear()
        return found

    @property
    def keeps(self) -> bool:
        """Whether the response is over and the connection may be used again."""
        return self._done and self._kept

    def _fed(self) -> bool:
        """Take what there is; whether the connection goes on."""
        data = self._sock.recv(PIECE)
        self._read += len(data)
        if data:
            try:
                self._parser.feed_data(data)
            except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
                cause = error.__context__ or error
                if not isinstance(cause, Exception):
                    raise cause from None  # an interruption
                self._kept = False  # what follows a whole response is nobody's answer
                if not self._done:
                    raise NotHttp(str(cause)) from None
        return bool(data)

    # -- what the parser calls -------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A response begins; a second one was not asked for."""
        if self._done:
            self._kept = False
        self._fields.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head, or of a trailer."""
        if not self.status:
            self._fields.append((name.decode("latin-1"), value.decode("latin-1").strip()))
            if len(self._fields) > MOST_HEADERS:
                raise NotHttp(f"its head has more than {MOST_HEADERS} fields")

    def on_headers_complete(self) -> None:
        """A head is whole: of the final response, or of an interim one."""
        status = self._parser.get_status_code()
        if self._done or status == HTTPStatus.CONTINUE:
            return
        self.status, self.headers = status, tuple(self._fields)
        self._kept = self._parser.should_keep_alive()
        chunked = "chunked" in (self.header("transfer-encoding") or "").lower()
        self._sized = chunked or self.header("content-length") is not None

    def on_body(self, body: bytes) -> None:
        """Bytes of the body, chunking undone."""
        if not self._done:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        """A response is over."""
        self._done = bool(self.status)
