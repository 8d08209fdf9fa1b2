"""The stdio front: JSON-RPC lines on standard input, answers on standard output."""

from __future__ import annotations

import asyncio
import sys

from mcp_proxy_reference import protocol
from mcp_proxy_reference.facts import ADMINISTRATOR, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.protocol import Caller, RpcError

MAX_LINE = 8 << 20


async def serve(gateway: Gateway) -> None:
    """Answer lines until standard input ends; requests are carried out side by side."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    running: set[asyncio.Task[None]] = set()
    try:
        while line := await _line(lines):
            if line.strip():
                task = asyncio.create_task(_answer(gateway, line))
                running.add(task)
                task.add_done_callback(running.discard)
        await asyncio.gather(*running)
    finally:
        for task in running:
            task.cancel()


async def _line(lines: asyncio.StreamReader) -> bytes:
    try:
        return await lines.readline()
    except ValueError:  # longer than the limit; what follows of it is answered as malformed
        return b"?\n"


async def _answer(gateway: Gateway, line: bytes) -> None:
    gateway.follow()
    try:
        message = protocol.parse(line)
    except RpcError as error:
        _write(protocol.failure(error))
        return
    if not protocol.is_request(message):
        return
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    stateless = isinstance(meta, dict) and f"{protocol.META}protocolVersion" in meta
    try:
        if stateless:
            protocol.check_envelope(message, None)
    except RpcError as error:
        _write(protocol.failure(error, message))
        return
    caller = Caller(agent=ADMINISTRATOR, endpoint="stdio", stateless=stateless)
    _write(await protocol.respond(gateway, caller, message))


def _write(answer: Json) -> None:
    sys.stdout.buffer.write(protocol.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
