"""The suite's end of the stdio shim: one connection is one session of JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proxy_conformance.upstream.listener import Listener

if TYPE_CHECKING:
    import asyncio

    from mcp_proxy_conformance.upstream.script import Script
    from mcp_proxy_conformance.wire.transcript import Direction, Transcript

LIST_CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'


def shim(port: int) -> list[str]:
    """A command line that speaks on stdio for a loopback port, light to start, free of imports."""
    program = Path(__file__).with_name("stdio.py")
    return [sys.executable, "-I", "-S", str(program), "--connect", f"127.0.0.1:{port}"]


class LineServer:
    """Answers lines by a script, and tells every session that shook hands of changed tools."""

    def __init__(self, name: str, script: Script) -> None:
        self._name = name
        self._script = script
        self._transcript: Transcript | None = None
        self._listener = Listener(self._serve)
        self._sessions: set[asyncio.StreamWriter] = set()

    @property
    def port(self) -> int:
        """The loopback port that the shim connects to."""
        return self._listener.port

    async def open(self, transcript: Transcript) -> None:
        """Listen, on loopback whatever the other transports do."""
        self._transcript = transcript
        await self._listener.open("127.0.0.1")

    async def close(self) -> None:
        """End every session, and with it its shim."""
        await self._listener.close()

    def announce(self) -> None:
        """Say that the tools have changed; called on the loop."""
        for writer in self._sessions:
            if not writer.is_closing():
                self._write(writer, LIST_CHANGED, "stdio list_changed")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                if line.strip():
                    self._answer(line.rstrip(b"\r\n"), writer)
                await writer.drain()
        finally:
            self._sessions.discard(writer)

    def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        answer = self._script.answer(line)
        self._record("received", line, f"stdio {answer.method}".rstrip())
        if answer.method == "notifications/initialized":
            self._sessions.add(writer)
        if answer.body:
            self._write(writer, answer.body, "stdio")

    def _write(self, writer: asyncio.StreamWriter, raw: bytes, note: str) -> None:
        self._record("sent", raw, note)
        writer.write(raw + b"\n")

    def _record(self, direction: Direction, raw: bytes, note: str) -> None:
        if self._transcript is not None:
            self._transcript.record(
                edge="upstream", direction=direction, peer=self._name, raw=raw, note=note
            )
