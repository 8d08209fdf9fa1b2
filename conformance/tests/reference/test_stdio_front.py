"""The reference's front over standard streams: its lines, whatever their length."""

from __future__ import annotations

import asyncio

import pytest

from mcp_proxy_reference import stdio_front

REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
LIMIT, CHUNK = 1000, 300


async def lines_of(text: bytes) -> list[bytes]:
    """Return the lines that the stdio front reads of a text that comes in chunks of 300 bytes.

    Its limit of a line is 1,000 bytes here.
    """
    stream = asyncio.StreamReader(limit=LIMIT)

    async def feed() -> None:
        """Feed the text to the stream in chunks, then its end."""
        for at in range(0, len(text), CHUNK):
            stream.feed_data(text[at : at + CHUNK])
            await asyncio.sleep(0)
        stream.feed_eof()

    feeding = asyncio.create_task(feed())
    lines = []
    while line := await stdio_front._line(stream):
        lines.append(line)
    await feeding
    return lines


@pytest.mark.parametrize("blanks", [LIMIT, LIMIT + CHUNK, 5 * LIMIT + 1])
def test_the_end_of_an_overlong_line_is_no_line(blanks: int) -> None:
    """A line beyond the limit is read as one invalid line, `?`, and the next one as it is."""
    text = b" " * blanks + REQUEST + b"\n" + REQUEST + b"\n" + REQUEST

    assert asyncio.run(lines_of(text)) == [b"?\n", REQUEST + b"\n", REQUEST]
