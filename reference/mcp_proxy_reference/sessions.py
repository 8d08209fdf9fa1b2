"""Sessions with upstream MCP servers, over streamable HTTP or a child process's JSON lines."""

import asyncio
import contextlib
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable

import httpx2

from mcp_proxy_reference.loader import REVISION, Connection, Json, Signal, by_error, by_status

MAX_BYTES = 16 << 20
MOST_TEXT = 1 << 16
"""Bytes of an error\'s body that are read for what it says."""
CHANGED = "notifications/tools/list_changed"


class RpcSession:
    """Base of sessions: numbers requests, limits their time, and checks the answers."""

    def __init__(self, connection: Connection) -> None:
        """Keep the connection; nothing is sent yet, and request numbers begin at 1."""
        self._connection = connection
        self._sent = 0

    async def request(self, method: str, params: Json) -> Json:
        """Send a request and return its result.

        Signal for no answer in time, an error answer, or one that is malformed or has another id.
        """
        self._sent += 1
        message = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        try:
            async with asyncio.timeout(self._connection.allows(method)):
                answer = await self._exchange(message)
        except TimeoutError:
            raise Signal("timeout") from None
        if answer.get("id") != message["id"]:
            raise Signal("malformed")
        if isinstance(error := answer.get("error"), dict):
            raise Signal("rpc_error", detail=str(error.get("message", ""))[:500])
        result = answer.get("result")
        if not isinstance(result, dict):
            raise Signal("malformed")
        return result

    async def notify(self, method: str) -> None:
        """Send a notification, without a time limit; raises Signal if it is refused."""
        await self._exchange({"jsonrpc": "2.0", "method": method})

    async def close(self) -> None:
        """End the session; a subclass says how."""
        raise NotImplementedError

    async def _exchange(self, message: Json) -> Json:
        """Send a message and return its answer, {} for a notification; a subclass says how."""
        raise NotImplementedError


class HttpSession(RpcSession):
    """Session over HTTP with its own client, so that cookies never cross between servers."""

    def __init__(self, connection: Connection) -> None:
        """Make the HTTP client and its standing headers, which override the connection's.

        Nothing is sent yet; environment proxies are ignored.
        """
        super().__init__(connection)
        self._url = connection.url or ""
        self._headers = {
            **connection.headers,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
        }
        secure = self._url.startswith("https:")
        self._http = httpx2.AsyncClient(verify=secure, trust_env=False, timeout=None)

    async def request(self, method: str, params: Json) -> Json:
        """Send a request and return its result; note the revision that `initialize` agrees.

        Later requests have it as a header.
        """
        result = await super().request(method, params)
        if method == "initialize":
            revision = result.get("protocolVersion")
            self._headers["mcp-protocol-version"] = str(revision or REVISION)
        return result

    async def close(self) -> None:
        """Close the HTTP client; the server is sent nothing."""
        await self._http.aclose()

    async def _exchange(self, message: Json) -> Json:
        """Post a message and return its answer, {} for a notification.

        The first session id that is handed out is kept; raises Signal.
        """
        content, headers = json.dumps(message), self._headers
        try:
            post = self._http.stream("POST", self._url, content=content, headers=headers)
            async with post as answer:
                if session := answer.headers.get("mcp-session-id"):
                    self._headers.setdefault("mcp-session-id", session)
                is_request = "method" in message and "id" in message
                return await _read(answer, self._hear, answered=is_request)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise by_error(error) from None

    async def _hear(self, message: Json) -> None:
        """Answer a request of the server by a message of its own; other messages are ignored."""
        if (reply := _reply(message)) is not None:
            await self._exchange(reply)


def _reply(message: Json) -> Json | None:
    """Return the answer to a request of the server; None if the message is not a request.

    Other requests than `ping` get an error.
    """
    method, request_id = message.get("method"), message.get("id")
    if method is None or request_id is None:
        return None
    known = {"result": {}} if method == "ping" else {
        "error": {"code": -32601, "message": "Method not found"}
    }  # fmt: skip
    return {"jsonrpc": "2.0", "id": request_id, **known}


async def _read(
    answer: httpx2.Response, hear: Callable[[Json], Awaitable[None]], *, answered: bool
) -> Json:
    """Read a response up to its JSON-RPC answer and return it; {} if none is due (`answered`).

    Other messages of a stream are given to `hear`. Signal for an error status, a stream that ends
    first, no JSON, or over 16 MB.
    """
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    streamed = kind == "text/event-stream" and answer.is_success and answered
    body, size, after_return = b"", 0, False
    async for received in answer.aiter_bytes():
        chunk = received
        size += len(chunk)
        if size > MAX_BYTES:
            raise Signal("malformed", answer.status_code)
        if streamed:  # lines end with CR LF, LF or CR, which may come in two pieces
            chunk = chunk[after_return and chunk.startswith(b"\n") :]
            after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        body += chunk
        if streamed and b"\n" in chunk:
            *events, body = body.split(b"\n\n")
            for event in events:
                data = [line[5:] for line in event.split(b"\n") if line.startswith(b"data:")]
                message = _message(b"\n".join(data))
                if message and "method" not in message:
                    return message
                await hear(message)
    if not answer.is_success:
        raise by_status(answer.status_code, body[:MOST_TEXT].lower())
    if not answered:
        return {}
    if streamed:
        raise Signal("reset")  # the stream ended and nobody answered
    if kind != "application/json":
        raise Signal("malformed", answer.status_code)
    return _message(body)


def _message(raw: bytes) -> Json:
    """Return a JSON object; Signal `malformed` if `raw` is not JSON.

    Empty bytes become {}; any other JSON value becomes an object that answers no request.
    """
    try:
        message = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise Signal("malformed") from None
    return message if isinstance(message, dict) else {"malformed": True}


def _retrieve(answer: asyncio.Future[Json]) -> None:
    """Retrieve a future's exception unless it is cancelled, so that asyncio does not report it."""
    if not answer.cancelled():
        answer.exception()


class StdioSession(RpcSession):
    """Session over a child's JSON lines; calls `changed` when it announces changed tools."""

    def __init__(
        self, connection: Connection, process: Process, changed: Callable[[], None]
    ) -> None:
        """Begin to read the process's output, in a task."""
        super().__init__(connection)
        self._process = process
        self._changed = changed
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._ended: Signal | None = None
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Stop reading, kill the process group and wait for the process's end."""
        self._reader.cancel()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.wait([self._reader])
        await self._process.wait()

    async def _exchange(self, message: Json) -> Json:
        """Write a message and return {}; for a request, wait for its answer and return that."""
        if "id" not in message or "method" not in message:
            await self._write(message)
            return {}
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_retrieve)  # the process may end before the answer is waited for
        self._waiting[message["id"]] = answer
        try:
            await self._write(message)
            return await answer
        finally:
            del self._waiting[message["id"]]

    async def _write(self, message: Json) -> None:
        """Write a message as one line; if the process has ended, raise the Signal of its end."""
        if self._ended is not None:
            raise self._ended
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(json.dumps(message).encode() + b"\n")
            await pipe.drain()
        except (ConnectionError, RuntimeError):
            if asyncio.current_task() is not self._reader:
                await asyncio.wait([self._reader], timeout=1)  # it knows how the process ended
            raise self._ended or Signal("reset") from None

    async def _read(self) -> None:
        """Receive lines until the output ends or is malformed; then fail waiting requests.

        Their Signal is `reset` or `malformed`.
        """
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
        """Handle one message: changed tools, a request to this client, or an awaited answer."""
        if message.get("method") == CHANGED:
            self._changed()
        elif (reply := _reply(message)) is not None:
            await self._write(reply)
        elif (answer := self._waiting.get(message.get("id") or 0)) and not answer.done():
            answer.set_result(message)


async def connect(connection: Connection, changed: Callable[[], None] = lambda: None) -> RpcSession:
    """Return a new session, which has sent nothing; a command is started in its own process group.

    Its environment lacks the proxy's API key. Signal `command` if it cannot be started.
    """
    if connection.url:
        return HttpSession(connection)
    environment = {key: value for key, value in os.environ.items() if key != "MCPPROXY_API_KEY"}
    try:
        process = await asyncio.create_subprocess_exec(
            str(connection.command),
            *connection.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=environment | dict(connection.env),
            limit=MAX_BYTES,
            start_new_session=True,
        )
    except (OSError, ValueError):
        raise Signal("command") from None
    return StdioSession(connection, process, changed)
