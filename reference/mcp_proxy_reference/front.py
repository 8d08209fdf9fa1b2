"""The HTTP front: an ASGI application that owns every byte of its answers."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_reference import operator_api, protocol
from mcp_proxy_reference.facts import ADMINISTRATOR, Agent, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.protocol import Caller, RpcError
from mcp_proxy_reference.store import StoreError

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

ENDPOINTS = {"/mcp", "/mcp/call"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
MAX_BODY = 8 << 20
MAX_SESSIONS = 10_000
HTTP_STATUS = {
    protocol.PARSE: 400,
    protocol.INVALID: 400,
    protocol.PARAMS: 400,
    protocol.MISMATCH: 400,
    protocol.UNSUPPORTED: 400,
    protocol.NO_METHOD: 404,
}
log = logging.getLogger("mcp_proxy_reference")
Reply = tuple[int, dict[str, str], bytes]


class HttpError(Exception):
    """A request that HTTP already refuses."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class Front:
    """Routes requests; keeps the sessions of the revisions that have them."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sessions: dict[str, None] = {}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] != "http":
            return
        try:
            status, headers, body = await self._reply(scope, receive)
        except HttpError as error:
            status, headers, body = _json(error.status, {"error": str(error)})
            headers |= error.headers
        except asyncio.CancelledError:
            return  # the proxy ends, and the connection with it
        except Exception:
            log.exception("a request failed")
            status, headers, body = _json(500, {"error": "Internal error"})
        head = [(name.encode(), value.encode()) for name, value in headers.items()]
        head.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async def _reply(self, scope: Mapping[str, Any], receive: Receive) -> Reply:
        method, path = scope["method"], scope["path"]
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        origin = headers.get("origin")
        if origin is not None and _host(origin) not in LOOPBACK:
            raise HttpError(403, "This origin is not allowed.")
        if path == "/readyz":
            return _json(200, {"ready": True})
        self._gateway.follow()
        if path in ENDPOINTS:
            return await self._mcp(path, method, headers, receive)
        if path.startswith(operator_api.PREFIX):
            key = self._gateway.config.api_key
            if not key or not secrets.compare_digest(
                headers.get("x-api-key", "").encode(), key.encode()
            ):
                return _json(401, operator_api.failed("Invalid or missing API key"))
            raw_path = scope["raw_path"].decode("latin-1")
            body = await _body(receive)
            return _json(*await operator_api.handle(self._gateway, method, raw_path, body))
        raise HttpError(404, "Not found.")

    async def _mcp(
        self, endpoint: str, method: str, headers: dict[str, str], receive: Receive
    ) -> Reply:
        agent = self._agent(headers)
        if method == "DELETE":
            self._check_session(headers)
            del self._sessions[headers["mcp-session-id"]]
            return 200, {}, b""
        if method != "POST":
            raise HttpError(405, "Method not allowed.", {"allow": "POST, DELETE"})
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(415, "The content type must be application/json.")
        message = None
        try:
            message = protocol.parse(await _body(receive))
            return await self._message(agent, endpoint, headers, message)
        except RpcError as error:
            code = error.error["code"]
            return _json(HTTP_STATUS[code], protocol.failure(error, message))

    async def _message(
        self, agent: Agent, endpoint: str, headers: dict[str, str], message: Json
    ) -> Reply:
        revision = headers.get("mcp-protocol-version")
        stateless = revision is not None and revision not in protocol.HANDSHAKE
        reply_headers: dict[str, str] = {}
        if stateless and protocol.is_request(message):
            protocol.check_envelope(message, headers)
        elif stateless:
            protocol.check_revision(revision)
        elif message.get("method") == "initialize":
            reply_headers["mcp-session-id"] = self._open_session()
        else:
            self._check_session(headers)
        if not protocol.is_request(message):
            return 202, {}, b""

        caller = Caller(agent=agent, endpoint=endpoint, stateless=stateless)
        answer = await protocol.respond(self._gateway, caller, message)
        status = HTTP_STATUS.get(answer.get("error", {}).get("code"), 200) if stateless else 200
        if status == 200 and self._streams(headers):  # noqa: PLR2004
            body = b"event: message\ndata: " + protocol.encode(answer) + b"\n\n"
            return 200, reply_headers | {"content-type": "text/event-stream"}, body
        reply_headers["content-type"] = "application/json"
        return status, reply_headers, protocol.encode(answer)

    def _streams(self, headers: dict[str, str]) -> bool:
        accepted = headers.get("accept", "")
        if "text/event-stream" not in accepted:
            return False
        return self._gateway.policy.answers == "sse" or "application/json" not in accepted

    def _agent(self, headers: dict[str, str]) -> Agent:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if not scheme:
            return ADMINISTRATOR
        if token == self._gateway.config.api_key and token:
            return ADMINISTRATOR
        try:
            agent = self._gateway.store.agent(token) if scheme.lower() == "bearer" else None
        except StoreError:
            raise HttpError(503, "Agent tokens cannot be checked at the moment.") from None
        if agent is None:
            raise HttpError(401, "Agent token invalid: token not found")
        return agent

    def _open_session(self) -> str:
        if len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        session = f"mcp-session-{secrets.token_hex(16)}"
        self._sessions[session] = None
        return session

    def _check_session(self, headers: dict[str, str]) -> None:
        if headers.get("mcp-session-id") not in self._sessions:
            raise HttpError(404, "Invalid session ID")


def _json(status: int, document: Json) -> Reply:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return status, {"content-type": "application/json"}, body.encode("utf-8", "replace")


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


async def _body(receive: Receive) -> bytes:
    body, more = bytearray(), True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise HttpError(400, "The request ended early.")
        body += event.get("body", b"")
        if len(body) > MAX_BODY:
            raise HttpError(413, "The request is too long.")
        more = event.get("more_body", False)
    return bytes(body)
