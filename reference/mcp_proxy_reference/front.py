"""The HTTP front: an ASGI application for MCP, readiness and the operator's interface."""

import asyncio
import logging
import secrets
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mcp_proxy_reference import operator_api, protocol
from mcp_proxy_reference.facts import ADMINISTRATOR, Agent, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.operator_api import HttpError
from mcp_proxy_reference.store import StoreError

ENDPOINTS = {"/mcp", "/mcp/call"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
MAX_BODY = 8 << 20
MAX_SESSIONS = 10_000
STATUS = {protocol.NO_METHOD: 404, protocol.INTERNAL: 200}
log = logging.getLogger("mcp_proxy_reference")


class Front:
    """Routes requests; keeps the sessions of the revisions that have them."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sessions: dict[str, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        try:
            response = await self._response(Request(scope, receive))
        except HttpError as error:
            response = _json(error.status, operator_api.failed(str(error)))
        except (asyncio.CancelledError, ClientDisconnect):
            return  # the proxy ends, and the connection with it
        except Exception:
            log.exception("a request failed")
            response = _json(500, operator_api.failed("Internal error"))
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        path = request.scope["path"]
        origin = request.headers.get("origin")
        if origin is not None and _host(origin) not in LOOPBACK:
            raise HttpError(403, "This origin is not allowed.")
        if path == "/readyz":
            return _json(200, {"ready": True})
        self._gateway.follow()
        if path in ENDPOINTS:
            return await self._mcp(request)
        if not path.startswith(operator_api.PREFIX):
            raise HttpError(404, "Not found.")
        key, given = self._gateway.config.settings.api_key, request.headers.get("x-api-key", "")
        if not key or not secrets.compare_digest(given.encode(), key.encode()):
            raise HttpError(401, "Invalid or missing API key")
        raw_path = request.scope["raw_path"].decode("latin-1")
        body = await _body(request)
        return _json(*await operator_api.handle(self._gateway, request.method, raw_path, body))

    async def _mcp(self, request: Request) -> Response:
        agent, headers = self._agent(request), request.headers
        if request.method == "DELETE":
            self._check_session(request)
            del self._sessions[headers["mcp-session-id"]]
            return Response()
        if request.method != "POST":
            response = _json(405, operator_api.failed("Method not allowed."))
            response.headers["allow"] = "POST, DELETE"
            return response
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(415, "The content type must be application/json.")
        message = None
        try:
            message = protocol.parse(await _body(request))
            return await self._message(agent, request, message)
        except protocol.RpcError as error:
            return _json(400, protocol.failure(error, message))

    async def _message(self, agent: Agent, request: Request, message: Json) -> Response:
        revision = request.headers.get("mcp-protocol-version")
        stateless = revision is not None and revision not in protocol.HANDSHAKE
        opened = {}
        if not stateless and message.get("method") == "initialize":
            opened["mcp-session-id"] = self._open_session()
        elif not stateless:
            self._check_session(request)
        if not protocol.is_request(message):
            if stateless:
                protocol.check_revision(revision)
            return Response(status_code=202, headers=opened)

        answer = await protocol.respond(
            self._gateway,
            agent,
            request.scope["path"],
            message,
            stateless=stateless,
            headers=request.headers,
        )
        if stateless and "error" in answer:
            return _json(STATUS.get(answer["error"]["code"], 400), answer)
        accepted = request.headers.get("accept", "")
        preferred = self._gateway.policy.answers == "sse" or "application/json" not in accepted
        if preferred and "text/event-stream" in accepted:
            body = b"event: message\ndata: " + protocol.encode(answer) + b"\n\n"
            opened["content-type"] = "text/event-stream"
            return Response(body, headers=opened)
        return _json(200, answer, opened)

    def _agent(self, request: Request) -> Agent:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme or (token and token == self._gateway.config.settings.api_key):
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

    def _check_session(self, request: Request) -> None:
        if request.headers.get("mcp-session-id") not in self._sessions:
            raise HttpError(404, "Invalid session ID")


def _json(status: int, document: Json, headers: dict[str, str] | None = None) -> Response:
    return Response(protocol.encode(document), status, headers, media_type="application/json")


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


async def _body(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY:
            raise HttpError(413, "The request is too long.")
    return body
