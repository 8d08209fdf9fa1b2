"""Constants of the revisions, refusal of requests of 2026-07-28, and a reader of HTTP answers."""

import base64
import binascii
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple

from mcp_relay_reference import message
from mcp_relay_reference.message import Message
from mcp_relay_reference.remote import Reply

HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = "2026-07-28"
META = "io.modelcontextprotocol/"
VERSION, CAPABILITIES = META + "protocolVersion", META + "clientCapabilities"
LEVEL = META + "logLevel"
NO_METHOD, BAD_PARAMS, INTERNAL = -32601, -32602, -32603
MISMATCH, UNSUPPORTED = -32020, -32022
STATUS = {NO_METHOD: 404, message.LOST: 502}
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
GONE = {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
OFFERED = ("tools", "resources", "prompts", "completions", "logging")
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Refusal(NamedTuple):
    """A refusal of a request of 2026-07-28: HTTP status, JSON-RPC code, text, and any data."""

    status: int
    code: int
    text: str
    data: Any = None


def is_stateless(headers: Mapping[str, str], sent: Message) -> bool:
    """Whether a message is of the era without handshake.

    It is if its `_meta` states a version, or if its version header, if any, is not one with a
    handshake.
    """
    named = headers.get("mcp-protocol-version", HANDSHAKE[0])
    return VERSION in stated(sent) or named not in HANDSHAKE


def refusal(headers: Mapping[str, str], sent: Message) -> Refusal | None:
    """Return why a request of 2026-07-28 is refused; None if it is not.

    It is for `_meta` without version or capabilities, headers that differ from the body, another
    version, or a method that 2026-07-28 does not have.
    """
    own, params = stated(sent), sent.params
    version = own.get(VERSION)
    if not isinstance(version, str) or not isinstance(own.get(CAPABILITIES), dict):
        return Refusal(400, BAD_PARAMS, "Each request states its version and capabilities.")
    named = params.get(NAMES.get(sent.method or "", ""))
    for header, value in (("mcp-method", sent.method), ("mcp-name", named)):
        if isinstance(value, str) and _decoded(headers.get(header, "")) != value:
            return Refusal(400, MISMATCH, f"The header {header} does not fit the body.")
    if headers.get("mcp-protocol-version") != version:
        return Refusal(400, MISMATCH, "The header mcp-protocol-version does not fit the body.")
    if version != STATELESS:
        data = {"supported": [STATELESS, *HANDSHAKE], "requested": version}
        return Refusal(400, UNSUPPORTED, "This protocol version is not supported.", data)
    if sent.method in GONE:
        return Refusal(404, NO_METHOD, f"There is no such method in {STATELESS}.")
    return None


def status_of(answer: Message) -> int:
    """Return the HTTP status of an answer that comes as one JSON object.

    It is 404 for an unknown method, 502 for a lost upstream, and 200 otherwise.
    """
    return STATUS.get(json.loads(answer.members("error").get("code", "0")), 200)


async def messages(reply: Reply) -> AsyncGenerator[Message]:
    """Yield the messages of an HTTP answer, one JSON object or a stream of events, as they come.

    Events without data are skipped; BadMessage for one that is not a JSON object.
    """
    if "text/event-stream" not in reply.headers.get("content-type", ""):
        if whole := b"".join([part async for part in reply.body]):
            yield message.read(whole)
        return
    waiting = b""
    async for part in reply.body:
        waiting = (waiting + part).replace(b"\r\n", b"\n")
        while b"\n\n" in waiting:
            block, waiting = waiting.split(b"\n\n", 1)
            lines = [line[5:].strip() for line in block.split(b"\n") if line.startswith(b"data:")]
            if any(lines):
                yield message.read(b"\n".join(lines))


def stated(sent: Message) -> Mapping[str, Any]:
    """Return the `_meta` of a message's params; empty without one."""
    meta = sent.params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _decoded(value: str) -> str:
    """Return what a header's value stands for, in base64 or as it is; "" if it is malformed."""
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
