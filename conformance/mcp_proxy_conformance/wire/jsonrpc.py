"""JSON-RPC messages: written compactly, read to the byte as envelopes, their size bounded."""

from __future__ import annotations

import itertools
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_proxy_conformance.catalogue.bounded import nests_deeper
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.faults import ProtocolFault

MOST_VALUES = 1_000_000
"""The most values in one message, counted by separators: a larger message is not read."""
OF_BYTE, OF_VALUE = 2, 100
"""Approximate bytes of memory for a byte and for a value of a parsed message."""
KEPT, FEW = 3, 10_000
"""Levels of an envelope that are kept: its members, those of a result, and the items of a list;
plus the members of these in a message with at most `FEW` values."""

_ids = itertools.count(secrets.randbelow(1 << 30) + 1)


def fresh_id() -> int:
    """Return a new request id, random at first and then one more than the last.

    No id is used twice in a process: answers to equal ids could come from a cache.
    """
    return next(_ids)


_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


def dumps(value: Any) -> bytes:
    """Encode compact JSON in UTF-8; in ASCII escapes if a lone surrogate forbids plain UTF-8."""
    try:
        return _COMPACT.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def quoted(value: Any) -> str:
    """Return a value as compact JSON text, for a sentence."""
    return dumps(value).decode()


def decoded(raw: bytes) -> Any:
    """Return the JSON value that somebody sent; None if it is not JSON, or nested too deeply."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return None if may_be_deep(raw) and nests_deeper(value, spans.MAX_DEPTH) else value


def may_be_deep(raw: bytes) -> bool:
    """Whether bytes have enough brackets to be nested too deeply."""
    return raw.count(b"{") + raw.count(b"[") > spans.MAX_DEPTH


def message_of(raw: bytes) -> dict[str, Any]:
    """Return the message that somebody sent; {} if `decoded` is not an object."""
    return object_of(decoded(raw))


def object_of(value: Any) -> dict[str, Any]:
    """Return a value that somebody sent if it is an object; else {}."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """Return a value that somebody sent if it is a list; else []."""
    return value if isinstance(value, list) else []


def result_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of an answer; {} if it is an error, or not an object."""
    return object_of(answer.get("result"))


_KINDS = (
    (bool, "a boolean"), (int | float, "a number"), (str, "a string"), (list, "an array"),
    (dict, "an object"),
)  # fmt: skip


def kind_of(value: Any) -> str:
    """Return the JSON type of a value with its article, such as `an array`; None is `null`."""
    return next((word for kind, word in _KINDS if isinstance(value, kind)), "null")


def request(method: str, params: bytes | None, request_id: int | None) -> bytes:
    """Encode a request from a method and any encoded params; a notification if the id is None."""
    members = [b'"jsonrpc":"2.0"']
    if request_id is not None:
        members.append(b'"id":%d' % request_id)
    members.append(b'"method":' + dumps(method))
    if params is not None:
        members.append(b'"params":' + params)
    return b"{" + b",".join(members) + b"}"


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Envelope:
    """One JSON-RPC message from the target: an answer, a request or a notification.

    Attributes:
        raw: Its exact bytes.
        id: The id, None if absent or null.
        method: Its method, if it is a request or a notification.
        error: The error object, if it is a refusal.
        node: The `result` member with its span in `raw`, if it is an answer.
    """

    raw: bytes
    id: int | str | None
    method: str | None = None
    error: dict[str, Any] | None = None
    node: spans.Node | None = field(default=None, repr=False, compare=False)

    @property
    def result(self) -> bytes | None:
        """The exact bytes of `result`, if it is an answer; None otherwise."""
        return None if self.node is None else self.node.raw


def parse(raw: bytes) -> Envelope:
    """Parse one JSON-RPC message into an Envelope.

    Raises:
        ProtocolFault: Not one JSON-RPC 2.0 message, one with a top-level member twice, or with more
            than a million values.
    """
    if (count := values(raw)) > MOST_VALUES:
        raise ProtocolFault("size", f"at most {MOST_VALUES} values in one message", "more", raw)
    try:
        node = spans.parse(raw, keep=KEPT + (count <= FEW))
    except spans.Malformed as error:
        raise ProtocolFault("json", "a JSON document", f"another text ({error})", raw) from None
    if node.kind != "object":
        raise _fault("a JSON-RPC message", f"a JSON {node.kind}", raw)
    if twice := node.duplicates():
        raise _fault("each member once", f"{quoted(twice[0])} more than once", raw)
    members = {member.key: member.value for member in node.members}
    if "jsonrpc" not in members or members["jsonrpc"].value() != "2.0":
        raise _fault('the member "jsonrpc" with "2.0"', "a message without it", raw)
    return _envelope(raw, members)


def values(raw: bytes) -> int:
    """Return an upper bound on the values in JSON, by counting commas and opening brackets.

    Those inside its strings count too.
    """
    return 1 + sum(raw.count(mark) for mark in (b",", b"{", b"["))


def weight(raw: bytes) -> int:
    """Return the approximate bytes of memory that a message takes once it is parsed."""
    return OF_BYTE * len(raw) + OF_VALUE * values(raw)


def _envelope(raw: bytes, members: dict[str, spans.Node]) -> Envelope:
    """Return the Envelope of a message's members: a request or notification, an error, or a result.

    ProtocolFault if they contradict each other, or if the result is not an object.
    """
    message_id = _id(raw, members.get("id"))
    if method := members.get("method"):
        if method.kind != "string" or "result" in members or "error" in members:
            raise _fault("a request or an answer", "something between them", raw)
        return Envelope(raw=raw, id=message_id, method=method.value())
    if ("result" in members) == ("error" in members):
        both = "both" if "result" in members else "neither"
        raise _fault('either "result" or "error"', both, raw)
    if refusal := members.get("error"):
        return Envelope(raw=raw, id=message_id, error=_error(raw, refusal))
    if members["result"].kind != "object":
        raise _fault('an object as "result"', f"a JSON {members['result'].kind}", raw)
    return Envelope(raw=raw, id=message_id, node=members["result"])


def _id(raw: bytes, node: spans.Node | None) -> int | str | None:
    """Return the id, None if absent or null; ProtocolFault unless it is a string or an integer."""
    value = None if node is None else node.value()
    if isinstance(value, bool) or not isinstance(value, int | str | None):
        raise _fault('a string or an integer as "id"', json.dumps(value), raw)
    return value


def _error(raw: bytes, node: spans.Node) -> dict[str, Any]:
    """Return the error object; ProtocolFault without an integer `code` and a string `message`."""
    code, message = node.get("code"), node.get("message")
    if code is None or message is None or not isinstance(code.value(), int):
        raise _fault('an error with "code" and "message"', "one without them", raw)
    if message.kind != "string":
        raise _fault('a string as the error\'s "message"', f"a JSON {message.kind}", raw)
    value: dict[str, Any] = node.value()
    return value


def _fault(expected: str, observed: str, raw: bytes) -> ProtocolFault:
    """Return the ProtocolFault about an envelope, for the caller to raise."""
    return ProtocolFault("envelope", expected, observed, raw)
