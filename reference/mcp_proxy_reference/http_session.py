"""One streamable HTTP connection to an upstream MCP server."""

from __future__ import annotations

import asyncio
import json

import httpx2

from mcp_proxy_reference.loader import REVISION, Connection, Json, Signal, by_error, by_status

MAX_BYTES = 16 << 20


class HttpSession:
    """Posts JSON-RPC with a client of its own, so that cookies never cross between servers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._session: dict[str, str] = {}
        self._sent = 0
        self._http = httpx2.AsyncClient(
            verify=(connection.url or "").startswith("https:"),
            trust_env=False,
            timeout=None,
        )

    async def request(self, method: str, params: Json) -> Json:
        """The result of one JSON-RPC call, taken from a JSON or an SSE answer."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params}
        try:
            async with asyncio.timeout(self._connection.allows(method)):
                result = await self._post(message)
        except TimeoutError:
            raise Signal("timeout") from None
        if method == "initialize":
            revision = result.get("protocolVersion")
            self._session["mcp-protocol-version"] = str(revision or REVISION)
        return result

    async def notify(self, method: str) -> None:
        """Send one notification."""
        await self._post({"method": method})

    async def close(self) -> None:
        """End the connection."""
        await self._http.aclose()

    async def _post(self, message: Json) -> Json:
        head = {
            **self._connection.headers,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            **self._session,
        }
        content = json.dumps({"jsonrpc": "2.0", **message})
        url = str(self._connection.url)
        try:
            async with self._http.stream("POST", url, content=content, headers=head) as answer:
                if session := answer.headers.get("mcp-session-id"):
                    self._session.setdefault("mcp-session-id", session)
                return await _read(answer, message.get("id"))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise by_error(error) from None


async def _read(answer: httpx2.Response, request_id: int | None) -> Json:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    streamed = kind == "text/event-stream" and answer.is_success and request_id is not None
    body, size = bytearray(), 0
    async for chunk in answer.aiter_bytes():
        body += chunk
        size += len(chunk)
        if size > MAX_BYTES:
            raise Signal("malformed", answer.status_code)
        if streamed and b"\n" in chunk:
            *events, rest = bytes(body).replace(b"\r\n", b"\n").split(b"\n\n")
            body = bytearray(rest)
            for event in events:
                if (message := _message(_data(event))) and "method" not in message:
                    return result_of(message, request_id)
    if not answer.is_success:
        raise by_status(answer.status_code, bytes(body[:4096]).lower())
    if request_id is None:
        return {}
    if streamed:
        raise Signal("reset")  # the stream ended and nobody answered
    if kind != "application/json":
        raise Signal("malformed", answer.status_code)
    return result_of(_message(bytes(body)), request_id)


def _data(event: bytes) -> bytes:
    lines = (line for line in event.split(b"\n") if line.startswith(b"data:"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines)


def _message(raw: bytes) -> Json:
    if not raw:
        return {}
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        raise Signal("malformed") from None
    return message if isinstance(message, dict) else {"malformed": True}


def result_of(message: Json, request_id: int | None) -> Json:
    """The result inside a JSON-RPC answer to `request_id`."""
    if message.get("id") != request_id:
        raise Signal("malformed")
    if isinstance(error := message.get("error"), dict):
        raise Signal("rpc_error", detail=str(error.get("message", ""))[:500])
    result = message.get("result")
    if not isinstance(result, dict):
        raise Signal("malformed")
    return result
