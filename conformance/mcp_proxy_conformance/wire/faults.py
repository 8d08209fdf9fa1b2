"""Exceptions for a request without a valid answer: a breach of the protocol, or no answer."""

from __future__ import annotations

import json
from typing import Literal

Kind = Literal["http", "json", "envelope", "id", "stream", "size", "session", "handshake", "result"]
Phase = Literal["connect", "send", "wait", "read"]
EXCERPT = 200
_PHASES = {
    "connect": "connecting",
    "send": "sending the request",
    "wait": "waiting for the answer",
    "read": "reading the answer",
}


class ProtocolFault(Exception):
    """The target's answer breaks the protocol: the target is to blame.

    Attributes:
        kind: The layer that was broken.
        expected: The expected answer, in a few words.
        seen: The observed answer, in a few words.
        excerpt: The first 200 bytes of it.
        status: The HTTP status, where there was one.
        location: The target of a redirect.
        retry_after: The `Retry-After` header of an HTTP refusal.
    """

    def __init__(
        self,
        kind: Kind,
        expected: str,
        seen: str,
        raw: bytes = b"",
        *,
        status: int | None = None,
        location: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        """Keep the facts and the first 200 bytes of `raw`, and make the message of them."""
        self.kind = kind
        self.expected = expected
        self.seen = seen
        self.excerpt = raw[:EXCERPT]
        self.status = status
        self.location = location
        self.retry_after = retry_after
        text = self.excerpt.decode("utf-8", "backslashreplace")
        quoted = f": {json.dumps(text, ensure_ascii=False)}" if raw else ""
        super().__init__(f"expected {expected}, but the target sent {seen}{quoted}")


class SessionLost(ProtocolFault):
    """The target no longer knows a session that it issued (HTTP 404)."""


class Unreachable(Exception):
    """No answer arrived: refused, reset, closed or too late; blames the network or a dead target.

    Attributes:
        phase: The phase that the exchange had reached.
        reason: The operating system's message, or `no answer in time`.
        seconds: The time until the failure.
    """

    def __init__(self, peer: str, phase: Phase, reason: str, seconds: float) -> None:
        """Keep the facts, and make the message of them."""
        self.peer = peer
        self.phase = phase
        self.reason = reason
        self.seconds = seconds
        super().__init__(f"{peer}: {reason} while {_PHASES[phase]}, after {seconds:.2f} s")
