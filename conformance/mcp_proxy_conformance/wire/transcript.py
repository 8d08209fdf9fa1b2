"""What crossed the wire, on both edges, in the order in which the suite saw it."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from typing import IO, NamedTuple

from mcp_proxy_conformance.verdict.cited import Cited, Direction, Edge, Headers

LARGE, CITED_MOST = 64 << 10, 20_000
"""Bodies of more bytes are kept on disk, equal ones once; so many bytes of one are cited."""


class Spool:
    """Large bodies in a nameless file, made when the first one comes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._kept: dict[bytes, Spooled] = {}

    def keep(self, raw: bytes) -> Spooled:
        """Keep a body, once for all that equal it."""
        digest = hashlib.sha256(raw).digest()
        with self._lock:
            if digest not in self._kept:
                self._file = self._file or self._opened()
                offset = self._file.seek(0, os.SEEK_END)
                self._file.write(raw)
                self._kept[digest] = Spooled(self, offset, len(raw))
            return self._kept[digest]

    def _opened(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed when nobody reads it any more
        weakref.finalize(self, file.close)
        return file

    def read(self, offset: int, length: int) -> bytes:
        """Bytes that were kept."""
        with self._lock:
            assert self._file is not None
            self._file.seek(offset)
            return self._file.read(length)


class Spooled(NamedTuple):
    """Where a large body is kept."""

    spool: Spool
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, seen from the suite.

    Attributes:
        id: Its place in the transcript, from 1.
        edge: `client` in front of the target, `upstream` behind it.
        direction: `sent` or `received` by the suite.
        at: Seconds since the transcript began.
        peer: The endpoint's URL, or the name of the upstream server.
        body: The exact bytes of the body, or where they are kept.
        note: What a reader needs besides, such as `POST /mcp 200 application/json`.
        headers: The HTTP headers as they were sent; empty where there are none.
    """

    id: int
    edge: Edge
    direction: Direction
    at: float
    peer: str
    body: bytes | Spooled
    note: str
    headers: Headers

    @property
    def raw(self) -> bytes:
        """The exact bytes of the body."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.spool.read(self.body.offset, self.body.length)

    def cited(self) -> Cited:
        """What a report says of it."""
        raw = self.raw
        return Cited(
            edge=self.edge,
            direction=self.direction,
            at=self.at,
            peer=self.peer,
            note=self.note,
            headers=self.headers,
            body=raw[:CITED_MOST].decode("utf-8", "backslashreplace"),
            cut=max(0, len(raw) - CITED_MOST),
        )


class Transcript:
    """An append-only record that any thread may write to."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._messages: list[Message] = []
        self._spool = Spool()

    def record(
        self,
        *,
        edge: Edge,
        direction: Direction,
        peer: str,
        raw: bytes,
        note: str,
        headers: Headers = (),
    ) -> Message:
        """Append one message; its time and id are given here."""
        with self._lock:
            message = Message(
                id=len(self._messages) + 1,
                edge=edge,
                direction=direction,
                at=time.monotonic() - self._began,
                peer=peer,
                body=raw if len(raw) <= LARGE else self._spool.keep(raw),
                note=note,
                headers=headers,
            )
            self._messages.append(message)
        return message

    def mark(self) -> int:
        """The id of the latest message: what `since` takes to give only later ones."""
        with self._lock:
            return len(self._messages)

    def since(self, mark: int) -> tuple[Message, ...]:
        """The messages after `mark`, oldest first; `since(0)` gives all."""
        with self._lock:
            return tuple(self._messages[mark:])

    def get(self, message_id: int) -> Message:
        """The message of that id.

        Raises:
            LookupError: No message has it.
        """
        with self._lock:
            if not 1 <= message_id <= len(self._messages):
                raise LookupError(f"the transcript holds no message {message_id}")
            return self._messages[message_id - 1]
