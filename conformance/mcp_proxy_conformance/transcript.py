"""What crossed the wire, on both edges, in the order in which the suite saw it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Literal

Edge = Literal["client", "upstream"]
Direction = Literal["sent", "received"]
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message, seen from the suite.

    Attributes:
        id: Its place in the transcript, from 1.
        edge: `client` in front of the target, `upstream` behind it.
        direction: `sent` or `received` by the suite.
        at: Seconds since the transcript began.
        peer: The endpoint's URL, or the name of the upstream server.
        raw: The exact bytes of the body.
        note: What a reader needs besides, such as `POST /mcp 200 application/json`.
        headers: The HTTP headers as they were sent; empty where there are none.
    """

    id: int
    edge: Edge
    direction: Direction
    at: float
    peer: str
    raw: bytes
    note: str
    headers: Headers


class Transcript:
    """An append-only record that any thread may write to."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._messages: list[Message] = []

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
                raw=raw,
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
