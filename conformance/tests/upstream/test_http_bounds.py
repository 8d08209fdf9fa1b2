"""Bounds of the suite's HTTP listener: beyond them it closes the connection without an answer.

They are for a head, a body, a chunk, and all unfinished bodies together.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from mcp_proxy_conformance.upstream.http import (
    MOST_BODIES,
    MOST_BODY,
    MOST_HEAD,
    HttpRequest,
    Listener,
    read_request,
    render_response,
)

HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def _sized(length: int) -> bytes:
    """Return the head of a POST that announces a body of that length."""
    return HEAD + b"Content-Length: %d\r\n\r\n" % length


@contextlib.asynccontextmanager
async def _serving() -> AsyncIterator[tuple[int, list[HttpRequest]]]:
    """Yield the port of a listener that answers 200, and the list of requests it has read.

    The listener is closed at the end.
    """
    requests: list[HttpRequest] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read the requests of a connection, keep each in `requests`, and answer it with 200."""
        while True:
            requests.append(await read_request(reader))
            writer.write(render_response(200, b"", ()))

    listener = Listener(serve)
    await listener.open("127.0.0.1")
    try:
        yield listener.port, requests
    finally:
        await listener.close()


async def _answer(port: int, sent: bytes) -> bytes:
    """Return the first line of the answer to these bytes, or b"" if the connection is closed.

    TimeoutError after 20 s.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        return await asyncio.wait_for(reader.readline(), 20)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        (_sized(3) + b"abc", b"abc"),
        (_sized(MOST_BODY) + bytes(MOST_BODY), bytes(MOST_BODY)),
        (_sized(MOST_BODY + 1), None),
        (_sized(-1), None),
        (CHUNKED + b"1\r\na\r\n2;x=y\r\nbc\r\n0\r\nTrailer: t\r\n\r\n", b"abc"),
        (CHUNKED + b"FFFFFFFFFFFFFFFF\r\n{", None),
        (CHUNKED + b"-1\r\n", None),
        (HEAD + b"X: " + b"h" * MOST_HEAD, None),
    ],
    ids=["short", "long", "too long", "less than none", "chunks", "a huge chunk",
         "a chunk of less than none", "a long head"],
)  # fmt: skip
def test_a_request_is_read_unless_it_is_too_long(sent: bytes, taken: bytes | None) -> None:
    """A request within the bounds is answered with 200.

    On any other, the connection is closed without an answer.
    """

    async def trial() -> None:
        """Send the bytes, and compare the answer and the requests that were read."""
        async with _serving() as (port, requests):
            answer = await _answer(port, sent)
        assert [request.body for request in requests] == ([] if taken is None else [taken])
        assert answer == (b"" if taken is None else b"HTTP/1.1 200 OK\r\n")

    asyncio.run(trial())


def test_bodies_that_never_end_are_refused_together_and_leave_room() -> None:
    """While unfinished bodies fill the bound of all bodies, a further request is refused.

    Once their connections are closed, one is served again.
    """

    async def trial() -> None:
        """Fill the bound with unfinished bodies, be refused, close them, and be served."""
        async with _serving() as (port, requests):
            held = [
                await asyncio.open_connection("127.0.0.1", port)
                for _ in range(MOST_BODIES // MOST_BODY)
            ]
            for _, writer in held:
                writer.write(_sized(MOST_BODY))
            await asyncio.sleep(0.2)
            assert await _answer(port, _sized(1) + b"a") == b""
            for _, writer in held:
                writer.close()
            await asyncio.sleep(0.2)
            assert await _answer(port, _sized(1) + b"a") == b"HTTP/1.1 200 OK\r\n"
            assert [request.body for request in requests] == [b"a"]

    asyncio.run(trial())
