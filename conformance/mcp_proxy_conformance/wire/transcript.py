"""Transcript of the messages in front of the target and behind it, in the order they were seen."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
import weakref
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import IO, NamedTuple

from mcp_proxy_conformance.verdict.cited import CitedMessage, Direction, Edge, Headers

LARGE, CITED_MOST = 64 << 10, 20_000
"""Bodies of more than LARGE bytes are kept on disk, equal ones once; CITED_MOST bytes are cited."""


FROM_CLIENT, MOST_OF_ACT = ("client", "sent"), 8


class Spool:
    """Stores large bodies in one unnamed temporary file, made for the first one."""

    def __init__(self) -> None:
        """Begin without a file."""
        self._lock = threading.Lock()
        self._file: IO[bytes] | None = None
        self._kept: dict[bytes, Spooled] = {}

    def keep(self, raw: bytes) -> Spooled:
        """Store a body, or find an equal one, and return its place."""
        digest = hashlib.sha256(raw).digest()
        with self._lock:
            if digest not in self._kept:
                self._file = self._file or self._opened()
                offset = self._file.seek(0, os.SEEK_END)
                self._file.write(raw)
                self._kept[digest] = Spooled(self, offset, len(raw))
            return self._kept[digest]

    def _opened(self) -> IO[bytes]:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed with its last reference
        weakref.finalize(self, file.close)
        return file

    def read(self, offset: int, length: int) -> bytes:
        """Return the stored bytes at a place that `keep` returned."""
        with self._lock:
            assert self._file is not None
            self._file.seek(offset)
            return self._file.read(length)


class Spooled(NamedTuple):
    """The place of a large body in its spool."""

    spool: Spool
    offset: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message that crossed an edge of the target, as the suite saw it.

    Attributes:
        id: Its place in the transcript, from 1.
        edge: `client` in front of the target, `upstream` behind it.
        direction: `sent` or `received` by the suite.
        at: Seconds since the transcript began.
        peer: The endpoint's URL, or the name of the upstream server.
        body: The exact bytes of the body, or their place in the spool.
        note: Further information for a reader, such as `POST /mcp 200 application/json`.
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
        """The exact bytes of the body, read back from the spool if it is large."""
        if isinstance(self.body, bytes):
            return self.body
        return self.body.spool.read(self.body.offset, self.body.length)

    def cited(self) -> CitedMessage:
        """Return the message for a report: its first 20,000 bytes as text, the rest counted."""
        raw = self.raw
        return CitedMessage(
            edge=self.edge,
            direction=self.direction,
            at=self.at,
            peer=self.peer,
            note=self.note,
            headers=self.headers,
            body=raw[:CITED_MOST].decode("utf-8", "backslashreplace"),
            cut=max(0, len(raw) - CITED_MOST),
        )


def last_exchange(messages: Iterable[Message], edges: Collection[Edge]) -> tuple[str, ...]:
    """Return the ids of the last request in front of the target and of what came after it.

    At most eight, of messages on those edges; without a request they are those of the last ones.
    """
    seen = [message for message in messages if message.edge in edges]
    sent = [at for at, each in enumerate(seen) if (each.edge, each.direction) == FROM_CLIENT]
    act = seen[sent[-1] if sent else 0 :]
    return tuple(str(message.id) for message in (*act[:1], *act[1:][1 - MOST_OF_ACT :]))


class Transcript:
    """An append-only record of messages that any thread may write to."""

    def __init__(self) -> None:
        """Begin empty; times count from now."""
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
        """Append one message, with its id from 1 and its time, and return it.

        A body over 64 KiB goes to the spool.
        """
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
        """Return the id of the latest message, 0 without one, to pass to `since`."""
        with self._lock:
            return len(self._messages)

    def since(self, mark: int) -> tuple[Message, ...]:
        """Return the messages after `mark`, oldest first; `since(0)` returns all."""
        with self._lock:
            return tuple(self._messages[mark:])

    def get(self, message_id: int) -> Message:
        """Return the message with that id.

        Raises:
            LookupError: No message has that id.
        """
        with self._lock:
            if not 1 <= message_id <= len(self._messages):
                raise LookupError(f"the transcript contains no message {message_id}")
            return self._messages[message_id - 1]
