"""Answers to JSON-RPC requests of MCP, in revisions with a handshake and in the stateless one."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.tools import NAMES, Tools, published

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
SERVER = {"name": "mcp-proxy-reference", "version": "1.0.0"}
CAPABLE = {"tools": {"listChanged": False}}
PARSE, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
MISMATCH, UNSUPPORTED = -32020, -32022

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
log = logging.getLogger("mcp_proxy_reference")


class RpcError(Exception):
    """A JSON-RPC error: code, one sentence, and data if there are any."""

    def __init__(self, code: int, message: str, **data: object) -> None:
        """Keep code, message and data in `error`, the error object of an answer."""
        super().__init__(message)
        self.error: Json = {"code": code, "message": message} | ({"data": data} if data else {})


def parse(body: bytes) -> Json:
    """Parse one JSON-RPC message.

    RpcError if it is invalid JSON, a batch, or has an odd id or method.
    """
    try:
        message = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise RpcError(PARSE, "Parse error") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID, "The body must be one JSON-RPC 2.0 message.")
    identity = message.get("id")
    if isinstance(identity, bool) or not isinstance(identity, (str, int, float, type(None))):
        raise RpcError(INVALID, "The id must be a string or a number.")
    if not isinstance(message.get("method", ""), str):
        raise RpcError(INVALID, "The method must be a string.")
    return message


def is_request(message: Json) -> bool:
    """Whether the message is a request, not a notification or an answer."""
    return "id" in message and "method" in message


def encode(answer: Json) -> bytes:
    """Encode an answer as compact JSON; a lone surrogate becomes a question mark."""
    return _ENCODER.encode(answer).encode("utf-8", "replace")


def failure(error: RpcError, message: Json | None = None) -> Json:
    """Return the JSON-RPC answer that reports an error, with the id of `message` or null."""
    return {"jsonrpc": "2.0", "id": message and message.get("id"), "error": error.error}


class Protocol:
    """Answers requests of either era with the proxy's own tools."""

    def __init__(self, tools: Tools) -> None:
        """Answer requests with these tools, kept as `tools`."""
        self.tools = tools

    async def respond(
        self,
        agent: Agent,
        endpoint: str,
        message: Json,
        *,
        stateless: bool,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """Return the JSON-RPC answer to a request; any failure becomes an error answer.

        A stateless one is checked first: its `_meta`, and the headers unless they are None.
        """
        try:
            if stateless:
                _check_envelope(message, headers)
            session = headers.get("mcp-session-id", "") if headers else ""
            return await self.answer(agent, endpoint, session, message, stateless=stateless)
        except RpcError as error:
            return failure(error, message)
        except Exception:
            log.exception("a request failed")
            return failure(RpcError(INTERNAL, "Internal error"), message)

    async def answer(
        self, agent: Agent, endpoint: str, session: str, message: Json, *, stateless: bool
    ) -> Json:
        """Return the answer to a valid request; a hook that also gets the session's id.

        Raises RpcError for an unknown method, tool or parameter.
        """
        del session
        result = await self._result(agent, endpoint, message, stateless=stateless)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    async def _result(self, agent: Agent, endpoint: str, message: Json, *, stateless: bool) -> Json:
        """Return the result of a request by its method; RpcError if unknown or malformed.

        The methods are tools/call and tools/list, initialize and ping or, stateless,
        server/discover. In the stateless revision the result also gets its type and `_meta`, and
        cache hints unless it is that of a call.
        """
        method, params = message["method"], message.get("params") or {}
        if not isinstance(params, dict):
            raise RpcError(PARAMS, "params must be an object.")
        if method == "tools/call":
            name, arguments = params.get("name"), params.get("arguments")
            if not isinstance(name, str) or name not in NAMES:
                raise RpcError(PARAMS, "Unknown tool")
            if not isinstance(arguments, (dict, type(None))):
                raise RpcError(PARAMS, "arguments must be an object.")
            result = await self.tools.call(agent, name, arguments or {})
        elif method == "tools/list":
            gateway = self.tools.gateway
            limit = gateway.config.settings.tools_limit
            result = {"tools": published(gateway.policy, endpoint, limit)}
        elif stateless and method == "server/discover":
            result = {"supportedVersions": [STATELESS], "capabilities": CAPABLE}
        elif not stateless and method == "initialize":
            wanted = params.get("protocolVersion")
            revision = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
            result = {"protocolVersion": revision, "capabilities": CAPABLE, "serverInfo": SERVER}
        elif not stateless and method == "ping":
            result = {}
        else:
            raise RpcError(NO_METHOD, "Method not found")
        if not stateless:
            return result
        if method != "tools/call":
            result |= {"ttlMs": 0, "cacheScope": "private"}
        meta = {**(result.get("_meta") or {}), f"{META}serverInfo": SERVER}
        return {**result, "resultType": "complete", "_meta": meta}


def check_revision(revision: object) -> None:
    """Raise RpcError unless this is the stateless revision."""
    if revision != STATELESS:
        message = "Unsupported protocol version"
        raise RpcError(UNSUPPORTED, message, supported=[STATELESS], requested=revision)


def _check_envelope(message: Json, headers: Mapping[str, str] | None) -> None:
    """Raise RpcError unless a stateless request has its `_meta`, and headers to match.

    Headers are not checked if they are None.
    """
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(params, dict) or not isinstance(meta, dict):
        raise RpcError(PARAMS, "params._meta must be an object.")
    for key in ("protocolVersion", "clientCapabilities"):
        if META + key not in meta:
            raise RpcError(PARAMS, f"params._meta lacks {META}{key}.")
    revision = meta[f"{META}protocolVersion"]
    if headers is not None:
        expected = {"mcp-protocol-version": revision, "mcp-method": message["method"]}
        if message["method"] == "tools/call":
            expected["mcp-name"] = params.get("name")
        for name, value in expected.items():
            if value is not None and headers.get(name) != value:
                raise RpcError(MISMATCH, f"The {name} header does not match the request.")
    check_revision(revision)


def _refuse(constant: str) -> Any:
    """Raise ValueError for NaN and Infinity, which JSON does not have."""
    raise ValueError(constant)
