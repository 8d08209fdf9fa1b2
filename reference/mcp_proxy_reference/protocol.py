"""JSON-RPC and MCP, both eras: revisions with a handshake, and the stateless one after them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_proxy_reference import surface
from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.gateway import Gateway

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
SERVER = {"name": "mcp-proxy-reference", "version": "0.1.0"}
PARSE, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
MISMATCH, UNSUPPORTED = -32020, -32022

log = logging.getLogger("mcp_proxy_reference")


class RpcError(Exception):
    """A JSON-RPC error: code, one sentence, and data or None."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sent a message, to which endpoint, and in which era."""

    agent: Agent
    endpoint: str
    stateless: bool = False


def parse(body: bytes) -> Json:
    """One JSON-RPC message; batches are not part of this proxy."""
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
    """Whether an answer is owed."""
    return "id" in message and "method" in message


async def respond(gateway: Gateway, caller: Caller, message: Json) -> Json:
    """The JSON-RPC answer to a request; whatever goes wrong, an answer without inner details."""
    answer: Json = {"jsonrpc": "2.0", "id": message.get("id")}
    try:
        return answer | {"result": await _result(gateway, caller, message)}
    except RpcError as error:
        return answer | {"error": error.error}
    except Exception:
        log.exception("a request failed")
        return answer | {"error": RpcError(INTERNAL, "Internal error").error}


def failure(error: RpcError, message: Json | None = None) -> Json:
    """The JSON-RPC answer for an error met before the request was carried out."""
    return {"jsonrpc": "2.0", "id": message and message.get("id"), "error": error.error}


def encode(answer: Json) -> bytes:
    """The bytes of an answer; half a surrogate pair becomes a question mark."""
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


async def _result(gateway: Gateway, caller: Caller, message: Json) -> Json:
    method, params = message["method"], message.get("params") or {}
    if not isinstance(params, dict):
        raise RpcError(PARAMS, "params must be an object.")
    if caller.stateless:
        return await _stateless(gateway, caller, method, params)
    if method == "initialize":
        wanted = params.get("protocolVersion")
        revision = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
        return {"protocolVersion": revision, "capabilities": _capable(), "serverInfo": SERVER}
    return {} if method == "ping" else await _tools(gateway, caller, method, params)


async def _stateless(gateway: Gateway, caller: Caller, method: str, params: Json) -> Json:
    if method == "server/discover":
        result: Json = {"supportedVersions": [STATELESS], "capabilities": _capable()}
    else:
        result = await _tools(gateway, caller, method, params)
    if method != "tools/call":
        result |= {"ttlMs": 0, "cacheScope": "private"}
    meta = {**(result.get("_meta") or {}), f"{META}serverInfo": SERVER}
    return {**result, "resultType": "complete", "_meta": meta}


async def _tools(gateway: Gateway, caller: Caller, method: str, params: Json) -> Json:
    if method == "tools/list":
        return {"tools": surface.published(gateway.policy, caller.endpoint)}
    if method != "tools/call":
        raise RpcError(NO_METHOD, "Method not found")
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or name not in surface.NAMES:
        raise RpcError(PARAMS, "Unknown tool")
    if not isinstance(arguments, (dict, type(None))):
        raise RpcError(PARAMS, "arguments must be an object.")
    return await surface.call(gateway, caller.agent, name, arguments or {})


def _capable() -> Json:
    return {"tools": {"listChanged": False}}


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def check_envelope(message: Json, headers: Mapping[str, str] | None) -> None:
    """Check what a stateless request must carry, in body and, if there are any, in headers.

    Raises:
        RpcError: the first requirement that is not met.
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
        expected = {"mcp-protocol-version": revision, "mcp-method": message.get("method")}
        if message.get("method") == "tools/call":
            expected["mcp-name"] = params.get("name")
        for name, value in expected.items():
            if value is not None and headers.get(name) != value:
                raise RpcError(MISMATCH, f"The {name} header does not match the request.")
    check_revision(revision)


def check_revision(revision: object) -> None:
    """Check that the revision asked for is the stateless one."""
    if revision != STATELESS:
        data = {"supported": [STATELESS], "requested": revision}
        raise RpcError(UNSUPPORTED, "Unsupported protocol version", data)
