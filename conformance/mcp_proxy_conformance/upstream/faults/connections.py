"""Playback of scripted replies and whole connections: bytes sent, connections ended as scripted."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

from mcp_proxy_conformance.upstream.faults import behaviour as do
from mcp_proxy_conformance.upstream.faults.replies import ScriptedReply
from mcp_proxy_conformance.upstream.http import render_response

GREETING = b"220 mail.example ESMTP ready\r\n"
GARBAGE = b"Starting up...\n{not json\n\x1b[31mready\x1b[0m\n"
PLAIN = b"This port speaks plain HTTP.\n"
_AT_ONCE = struct.pack("ii", 1, 0)
_CHUNK = 1 << 16
_DRIP_S = 0.05


async def send(
    reply: ScriptedReply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Wait, send a reply, end the connection as it says; return whether the connection is kept.

    Silence and drip last until the peer has closed it; after False the caller closes it.
    """
    if reply.wait_s:
        await asyncio.sleep(reply.wait_s)
    for number, piece in enumerate(reply.pieces):
        if number == 1:
            await reply.answered.wait()
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(reply.pause_s)
    if reply.end == "silence":
        await _until_gone(reader)
    elif reply.end == "drip":
        await _drip(reply.crumb, reader, writer)
    elif reply.end == "rst":
        reset(writer)
    return reply.end == "keep"


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End a process: send FIN and wait until it closes, as a close beside unread bytes resets."""
    with contextlib.suppress(OSError):  # it is gone already
        writer.write_eof()
    await _until_gone(reader)


def reset(writer: asyncio.StreamWriter) -> None:
    """Reset the connection (RST); only bytes that were drained have reached the peer."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    writer.transport.abort()


async def play_whole(
    whole: do.Whole, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Play a behaviour that concerns the whole connection and answers no MCP request.

    A banner or garbage is sent at once and kept open until the peer closes; plain HTTP answers 400
    to the first bytes; others end at once.
    """
    match whole:
        case do.Banner():
            writer.write(GREETING)
            await _until_gone(reader)
        case do.StdioGarbage():
            writer.write(GARBAGE)
            await _until_gone(reader)
        case do.PlainForTls():
            await reader.read(_CHUNK)
            writer.write(render_response(400, PLAIN, (("Connection", "close"),)))
        case _:  # StdioExits
            await hang_up(reader, writer)
            return
    await writer.drain()


async def _drip(crumb: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Write the crumb every 50 ms until the peer has closed the connection."""
    while True:
        writer.write(crumb)
        await writer.drain()
        with contextlib.suppress(TimeoutError):
            if not await asyncio.wait_for(reader.read(_CHUNK), _DRIP_S):
                return


async def _until_gone(reader: asyncio.StreamReader) -> None:
    """Read and discard bytes until the peer has closed the connection."""
    while await reader.read(_CHUNK):
        pass
