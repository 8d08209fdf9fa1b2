"""HTTP front: the ASGI application for MCP with its sessions, readiness and the operator API."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from mcp_proxy_reference import operator_api, protocol
from mcp_proxy_reference.facts import ADMINISTRATOR, Agent, Json
from mcp_proxy_reference.operator_api import HttpError
from mcp_proxy_reference.protocol import Protocol
from mcp_proxy_reference.store import StoreError

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Reply = tuple[int, dict[str, str], bytes]

ENDPOINTS = {"/mcp", "/mcp/call"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
MAX_BODY = 8 << 20
MAX_SESSIONS = 10_000
STATUS = {protocol.NO_METHOD: 404, protocol.INTERNAL: 200}
log = logging.getLogger("mcp_proxy_reference")


class Request(NamedTuple):
    """An HTTP request whose body has not been read yet."""

    method: str
    path: str
    raw_path: str
    headers: Mapping[str, str]
    receive: Receive

    async def body(self) -> bytes:
        """Return the whole body.

        HttpError 413 if it is longer than MAX_BODY, 400 if it ends early.
        """
        body, more = b"", True
        while more:
            event = await self.receive()
            if event["type"] == "http.disconnect":
                raise HttpError(400, "The request ended early.")
            body += event.get("body", b"")
            if len(body) > MAX_BODY:
                raise HttpError(413, "The request is too long.")
            more = event.get("more_body", False)
        return body


class Front:
    """ASGI application that routes requests and keeps the sessions of revisions that have them."""

    def __init__(self, own: Protocol, answers: Literal["json", "sse"] = "json") -> None:
        """Answer by this protocol; `answers` is the form that is preferred if both are accepted."""
        self._protocol = own
        self._answers = answers
        self._gateway = own.tools.gateway
        self._sessions: dict[str, None] = {}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request of ASGI.

        An HttpError becomes its status, any other failure HTTP 500. Nothing is sent if it is
        cancelled, as when the proxy ends.
        """
        pairs = (
            (name.decode("latin-1"), text.decode("latin-1")) for name, text in scope["headers"]
        )
        raw_path = scope["raw_path"].decode("latin-1")
        try:
            request = Request(scope["method"], scope["path"], raw_path, dict(pairs), receive)
            status, headers, body = await self._reply(request)
        except HttpError as error:
            status, headers, body = _json(error.status, operator_api.failed(str(error)))
        except asyncio.CancelledError:
            return  # the proxy ends, and the connection with it
        except Exception:
            log.exception("a request failed")
            status, headers, body = _json(500, operator_api.failed("Internal error"))
        headers["content-length"] = str(len(body))
        head = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async def _reply(self, request: Request) -> Reply:
        """Route a request to readiness, MCP or the operator API, which needs the API key.

        HttpError for an Origin that is not loopback (403), an unknown path (404) or a wrong key
        (401). A changed config file is taken over first.
        """
        path = request.path
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
        key, sent_key = self._gateway.config.settings.api_key, request.headers.get("x-api-key", "")
        if not key or not secrets.compare_digest(sent_key.encode(), key.encode()):
            raise HttpError(401, "Invalid or missing API key")
        body = await request.body()
        return _json(
            *await operator_api.handle(self._gateway, request.method, request.raw_path, body)
        )

    async def _mcp(self, request: Request) -> Reply:
        """Answer a request at an MCP endpoint: a message (POST) or a session's end (DELETE).

        The reply to another method has status 405, that to an invalid message 400. HttpError 401 or
        503 for the agent, 404 for the session, 415 for another content type than JSON.
        """
        agent, headers = self._agent(request), request.headers
        if request.method == "DELETE":
            self.check_session(request)
            self._sessions.pop(headers.get("mcp-session-id", ""), None)
            return 200, {}, b""
        if request.method != "POST":
            refusal = operator_api.failed("Method not allowed.")
            return _json(405, refusal, {"allow": "POST, DELETE"})
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(415, "The content type must be application/json.")
        message = None
        try:
            message = protocol.parse(await request.body())
            return await self._message(agent, request, message)
        except protocol.RpcError as error:
            return _json(400, protocol.failure(error, message))

    async def _message(self, agent: Agent, request: Request, message: Json) -> Reply:
        """Answer a JSON-RPC message: 202 to a notification, else JSON or an event stream.

        `initialize` opens a session, which all later messages of its revisions must name: HttpError
        404 without. An error of the stateless revision has an error status.
        """
        revision = request.headers.get("mcp-protocol-version")
        stateless = revision is not None and revision not in protocol.HANDSHAKE
        opened: dict[str, str] = {}
        if not stateless and message.get("method") == "initialize":
            opened = self.open_session()
        elif not stateless:
            self.check_session(request)
        if not protocol.is_request(message):
            if stateless:
                protocol.check_revision(revision)
            return 202, opened, b""

        answer = await self._protocol.respond(
            agent,
            request.path,
            message,
            stateless=stateless,
            headers=request.headers,
        )
        if stateless and "error" in answer:
            return _json(STATUS.get(answer["error"]["code"], 400), answer)
        accepted = request.headers.get("accept", "")
        preferred = self._answers == "sse" or "application/json" not in accepted
        if preferred and "text/event-stream" in accepted:
            body = b"event: message\ndata: " + protocol.encode(answer) + b"\n\n"
            return 200, opened | {"content-type": "text/event-stream"}, body
        return _json(200, answer, opened)

    def _agent(self, request: Request) -> Agent:
        """Return the agent that holds the bearer token; HttpError 401 if nobody does.

        Without an Authorization header, and with the API key as token, it is the administrator.
        HttpError 503 if the store cannot be read.
        """
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

    def open_session(self) -> dict[str, str]:
        """Open a session and return the header with its id.

        At the limit of sessions, the oldest is dropped.
        """
        if len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        session = f"mcp-session-{secrets.token_hex(16)}"
        self._sessions[session] = None
        return {"mcp-session-id": session}

    def check_session(self, request: Request) -> None:
        """Raise HttpError 404 unless the request's session is known."""
        if request.headers.get("mcp-session-id") not in self._sessions:
            raise HttpError(404, "Invalid session ID")


def _json(status: int, document: Json, headers: Mapping[str, str] = {}) -> Reply:
    """Return a reply with that status, a JSON body, and `headers` beside the content type."""
    return status, {"content-type": "application/json", **headers}, protocol.encode(document)


def _host(origin: str) -> str | None:
    """Return the host in an Origin header; None if it has none or is not a URL."""
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None
