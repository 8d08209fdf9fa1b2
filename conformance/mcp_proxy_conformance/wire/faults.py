"""Why there is no answer: the target's nonsense, or the network's silence."""

from __future__ import annotations

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
    """The target answered something that the protocol does not allow: the target's fault.

    Attributes:
        kind: Which layer was broken.
        expected: What was due, in a few words.
        seen: What came instead.
        excerpt: The first 200 bytes of it.
        status: The HTTP status, where there was one.
        location: Where a redirect led.
        retry_after: When to ask again, as a refusal of HTTP told it.
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
        self.kind = kind
        self.expected = expected
        self.seen = seen
        self.excerpt = raw[:EXCERPT]
        self.status = status
        self.location = location
        self.retry_after = retry_after
        quoted = f": {self.excerpt!r}" if raw else ""
        super().__init__(f"expected {expected}, but the target sent {seen}{quoted}")


class SessionLost(ProtocolFault):
    """The target no longer knows the session it gave out (HTTP 404)."""


class Unreachable(Exception):
    """No answer came: refused, reset, closed or too late. The network's fault, or a dead target's.

    Attributes:
        phase: How far the exchange had come.
        reason: What the operating system said, or `no answer in time`.
        seconds: How long it took to fail.
    """

    def __init__(self, peer: str, phase: Phase, reason: str, seconds: float) -> None:
        self.peer = peer
        self.phase = phase
        self.reason = reason
        self.seconds = seconds
        super().__init__(f"{peer}: {reason} while {_PHASES[phase]}, after {seconds:.2f} s")
