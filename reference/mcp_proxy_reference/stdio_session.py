"""One child process that speaks MCP as JSON lines on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Callable

from mcp_proxy_reference.http_session import MAX_BYTES, result_of
from mcp_proxy_reference.loader import Connection, Json, Signal

CHANGED = "notifications/tools/list_changed"


class StdioSession:
    """Writes requests, reads answers as they come, tells when the server's list has changed."""

    def __init__(
        self, connection: Connection, process: Process, changed: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._process = process
        self._changed = changed
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._sent = 0
        self._ended: Signal | None = None
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, connection: Connection, changed: Callable[[], None]) -> StdioSession:
        """Start the command in a process group of its own, so that its children end with it."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                str(connection.command),
                *connection.args,
                stdin=pipe,
                stdout=pipe,
                stderr=asyncio.subprocess.DEVNULL,
                env={**_environment(), **connection.env},
                limit=MAX_BYTES,
                start_new_session=True,
            )
        except (OSError, ValueError):
            raise Signal("command") from None
        return cls(connection, process, changed)

    async def request(self, method: str, params: Json) -> Json:
        """The result of one JSON-RPC call."""
        self._sent += 1
        request_id = self._sent
        answer = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            await self._write({"id": request_id, "method": method, "params": params})
            async with asyncio.timeout(self._connection.allows(method)):
                return result_of(await answer, request_id)
        except TimeoutError:
            raise Signal("timeout") from None
        finally:
            del self._waiting[request_id]

    async def notify(self, method: str) -> None:
        """Send one notification."""
        await self._write({"method": method})

    async def close(self) -> None:
        """Kill the process with its children and wait for its end."""
        self._reader.cancel()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._reader

    async def _write(self, message: Json) -> None:
        if self._ended is not None:
            raise self._ended
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await pipe.drain()
        except (ConnectionError, RuntimeError):
            if asyncio.current_task() is not self._reader:
                await asyncio.wait([self._reader], timeout=1)  # it knows how the process ended
            raise self._ended or Signal("reset") from None

    async def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        ended = Signal("reset")
        try:
            while line := await pipe.readline():
                await self._receive(json.loads(line))
        except (ValueError, RecursionError, AttributeError):
            ended = Signal("malformed")
        except (OSError, Signal):
            pass
        self._ended = ended
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ended)

    async def _receive(self, message: Json) -> None:
        method, request_id = message.get("method"), message.get("id")
        if method == CHANGED:
            self._changed()
        elif method == "ping":
            await self._write({"id": request_id, "result": {}})
        elif method is not None and request_id is not None:
            error = {"code": -32601, "message": "Method not found"}
            await self._write({"id": request_id, "error": error})
        elif (answer := self._waiting.get(request_id or 0)) and not answer.done():
            answer.set_result(message)


def _environment() -> dict[str, str]:
    """This process's environment without the operator's key."""
    return {key: value for key, value in os.environ.items() if key != "MCPPROXY_API_KEY"}
