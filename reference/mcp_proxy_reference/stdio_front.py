"""Stdio front: JSON-RPC requests on standard input, answers on standard output."""

import asyncio
import contextlib
import sys

from mcp_proxy_reference import protocol
from mcp_proxy_reference.facts import ADMINISTRATOR
from mcp_proxy_reference.protocol import Protocol

MAX_LINE = 8 << 20


async def serve(own: Protocol) -> None:
    """Answer lines until standard input ends, several at a time, as the administrator.

    Blank lines are skipped.
    """
    lines = asyncio.StreamReader(limit=MAX_LINE)
    pipe = asyncio.get_running_loop().connect_read_pipe
    await pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with asyncio.TaskGroup() as running:
        while line := await _line(lines):
            if line.strip():
                running.create_task(_answer(own, line))


async def _line(lines: asyncio.StreamReader) -> bytes:
    r"""Return the next line; b"" at the end of input, and an invalid b"?\n" for one over 8 MB."""
    is_long = False
    while True:
        try:
            line = await lines.readuntil()
        except asyncio.IncompleteReadError as end:
            line = end.partial
        except asyncio.LimitOverrunError as over:
            is_long = True
            await lines.readexactly(over.consumed)
            continue
        return b"?\n" if is_long else line


async def _answer(own: Protocol, line: bytes) -> None:
    """Answer one line on standard output; a notification gets no answer.

    A changed configuration is taken over first.
    """
    own.tools.gateway.follow()
    try:
        message = protocol.parse(line)
        if not protocol.is_request(message):
            return
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        stateless = isinstance(meta, dict) and f"{protocol.META}protocolVersion" in meta
        answer = await own.respond(ADMINISTRATOR, "stdio", message, stateless=stateless)
    except protocol.RpcError as error:
        answer = protocol.failure(error)
    with contextlib.suppress(BrokenPipeError):  # nobody reads; the end of input ends the proxy
        sys.stdout.buffer.write(protocol.encode(answer) + b"\n")
        sys.stdout.buffer.flush()
