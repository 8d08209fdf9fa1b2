"""Bodies in a transcript: large ones are kept on disk, read back exactly, equal ones once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from mcp_proxy_conformance.wire.transcript import LARGE, Message, Transcript


def recorded(transcript: Transcript, raw: bytes) -> Message:
    """Record a message as received by the client, with that body; return the recorded Message."""
    return transcript.record(edge="client", direction="received", peer="p", raw=raw, note="")


def test_a_large_body_is_kept_to_the_byte() -> None:
    """Eight bodies above LARGE are read back to the byte, in two orders, from four threads."""
    transcript = Transcript()
    bodies = [bytes([number]) * (LARGE + number) for number in range(8)]

    messages = [recorded(transcript, body) for body in bodies]
    with ThreadPoolExecutor(4) as crew:
        again = list(crew.map(lambda message: message.raw, [*messages, *reversed(messages)]))

    assert again == [*bodies, *reversed(bodies)]


def test_equal_bodies_are_kept_once() -> None:
    """Two equal bodies above LARGE have one `body`, a place on disk; a small body stays bytes."""
    transcript = Transcript()

    first, other = (recorded(transcript, b"x" * (LARGE + 1)) for _ in range(2))
    small = recorded(transcript, b"x")

    assert first.body == other.body
    assert not isinstance(first.body, bytes)
    assert small.body == b"x"
