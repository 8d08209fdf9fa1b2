"""Protocol revisions: the known ones, headers and `_meta` of stateless requests, error codes."""

from __future__ import annotations

import base64
import re
from typing import Any

from mcp_proxy_conformance.wire import jsonrpc, spans

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISIONS = ("2026-07-28",)
LATEST_HANDSHAKE = HANDSHAKE_REVISIONS[-1]
LATEST_STATELESS = STATELESS_REVISIONS[-1]

META = "io.modelcontextprotocol/"
META_VERSION = META + "protocolVersion"
META_CLIENT = META + "clientInfo"
META_SERVER = META + "serverInfo"
META_CAPABILITIES = META + "clientCapabilities"

UNSUPPORTED_REVISION = -32022
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602

_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_NAME_OF = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


CLIENT_INFO = {"name": "mcp-proxy-conformance", "version": "1"}
"""What every client of the suite sends as `clientInfo`."""


def with_meta(params: bytes | None) -> bytes:
    """Return the params with the stateless revision's `_meta` before their own members.

    None becomes an object. Params that are not an object, or that have a `_meta`, stay unchanged:
    the caller intends it.
    """
    if params is None:
        params = b"{}"
    try:
        node = spans.parse(params)
    except spans.Malformed:
        return params
    if node.kind != "object" or node.get("_meta") is not None:
        return params
    meta = {
        META_VERSION: LATEST_STATELESS,
        META_CLIENT: CLIENT_INFO,
        META_CAPABILITIES: {},
    }
    rest = params[node.start + 1 :]
    return b'{"_meta":' + jsonrpc.dumps(meta) + (b"," if node.members else b"") + rest


def stateless_headers(method: str, params: bytes | None) -> list[tuple[str, str]]:
    """Return the MCP headers of a request of the stateless revision.

    They are version, method and, if its params name one, the tool, prompt or resource.
    """
    headers = [("MCP-Protocol-Version", LATEST_STATELESS), ("Mcp-Method", header_value(method))]
    name = _routed_name(method, params)
    return headers if name is None else [*headers, ("Mcp-Name", header_value(name))]


def _routed_name(method: str, params: bytes | None) -> str | None:
    """Return the tool, prompt or URI that a request names in its params; None if there is none.

    Only calls of tools, gets of prompts and reads of resources name one.
    """
    key = _NAME_OF.get(method)
    if key is None or params is None:
        return None
    try:
        node = spans.parse(params).get(key)
    except spans.Malformed:
        return None
    value: Any = None if node is None else node.value()
    return value if isinstance(value, str) else None


def header_value(text: str) -> str:
    """Return the text as a header value: unchanged if it is plain ASCII, else wrapped in base64.

    A text that looks wrapped already is wrapped again.
    """
    if _PLAIN.fullmatch(text) and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="
