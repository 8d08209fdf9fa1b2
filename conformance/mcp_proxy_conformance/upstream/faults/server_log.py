"""Log of a fault server: each request without body, and each connection without a request."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from mcp_proxy_conformance.upstream.faults.attempts import Call
from mcp_proxy_conformance.upstream.http import HttpRequest

_Text = TypeVar("_Text", str, str | None)

MOST = 500
"""Entries that are kept for one server: the first ones, since they show how a loader began."""
LONGEST = 1000
"""Characters that are kept of any text from a peer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request, or one connection that was handled before any request.

    Attributes:
        at: The time of reading it, on the monotonic clock, in seconds.
        connection: The connection's number, from 1, one count for all servers of a load.
        server: The server's id.
        attempt: The attempt that it belongs to, from 1; 0 if it belongs to none.
        verb: The HTTP method, `stdio` for a line of a process; empty for a connection.
        path: The request's target; empty for a connection or a line.
        method: The JSON-RPC method, if the body holds one.
        id: The JSON-RPC id, if any.
        paged: Whether it asks for a page by a cursor.
        played: The word of the script that was played.
        status: The HTTP status of the answer, if one was begun.
        authorization: That header as received.
        cookie: That header as received.
        session: The header `Mcp-Session-Id` as received.
    """

    at: float
    connection: int
    server: str
    attempt: int
    verb: str = ""
    path: str = ""
    method: str = ""
    id: int | str | None = None
    paged: bool = False
    played: str = "healthy"
    status: int | None = None
    authorization: str | None = None
    cookie: str | None = None
    session: str | None = None

    def __str__(self) -> str:
        """The request and its answer in a few words."""
        asked = f"{self.verb} {self.method}".strip() or "a connection"
        answer = "" if self.status is None else f" -> {self.status}"
        return f"attempt {self.attempt}, {asked}{answer} ({self.played})"


class ServerLog:
    """The log of one server; written on the servers' thread, read on any thread.

    `answering` is the number of requests that got a wrong answer which has not ended yet,
    `latest` the monotonic time of the latest entry or, without any, of the beginning.
    """

    def __init__(self, server: str) -> None:
        """Begin empty; `server` is the id in every entry."""
        self._server = server
        self._lock = threading.Lock()
        self._entries: list[Seen] = []
        self._dropped = 0
        self.answering = 0
        self.latest = time.monotonic()

    def connected(self, connection: int, *, attempt: int, played: str) -> None:
        """Log a connection that no request will follow.

        `connection` and `attempt` count from 1; `played` is the word of the script.
        """
        self._add(
            Seen(
                at=time.monotonic(),
                connection=connection,
                server=self._server,
                attempt=attempt,
                played=played,
            )
        )

    def requested(
        self,
        request: HttpRequest,
        connection: int,
        *,
        call: Call,
        attempt: int,
        played: str,
        status: int | None,
    ) -> None:
        """Log a request, its texts cut at 1000 characters, and its reply's behaviour and status.

        `attempt` is 0 if it belongs to none; `played` is the word of the script.
        """
        self._add(
            Seen(
                at=time.monotonic(),
                connection=connection,
                server=self._server,
                attempt=attempt,
                verb=_short(request.method),
                path=_short(request.path),
                method=_short(call.method),
                paged=call.paged,
                id=call.id if isinstance(call.id, int) else _short(call.id),
                played=played,
                status=status,
                authorization=_short(request.header("authorization")),
                cookie=_short(request.header("cookie")),
                session=_short(request.header("mcp-session-id")),
            )
        )

    @contextmanager
    def answers(self) -> Iterator[None]:
        """Count a request as one whose wrong answer has not ended, within the block."""
        self.answering += 1
        try:
            yield
        finally:
            self.answering -= 1

    def entries(self) -> tuple[Seen, ...]:
        """Return the kept entries, the first 500, oldest first."""
        with self._lock:
            return tuple(self._entries)

    @property
    def dropped(self) -> int:
        """The number of entries that were not kept because there were 500 already."""
        with self._lock:
            return self._dropped

    def _add(self, entry: Seen) -> None:
        """Keep an entry, or count it as dropped once 500 entries are kept."""
        self.latest = entry.at
        with self._lock:
            if len(self._entries) < MOST:
                self._entries.append(entry)
            else:
                self._dropped += 1


def _short(text: _Text) -> _Text:
    """Return the first 1000 characters of a text; None stays None."""
    return text[:LONGEST] if isinstance(text, str) else text
