"""JSON-RPC messages kept as bytes: method, id and token for routing, members as exact JSON text."""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MOST_BYTES = 16 << 20
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
PARSE, INVALID, LOST = -32700, -32600, -32001


class BadMessage(ValueError):
    """The bytes are not one JSON object."""


class Message(NamedTuple):
    """One message: its bytes, with blanks for line ends, and what routes it.

    `id` and `token` (of its progress) are JSON texts, so that 1 and "1" differ; None without one.
    `params` are for reading only: numbers in them may have lost digits.
    """

    line: bytes
    method: str | None
    id: str | None
    token: str | None
    params: Mapping[str, Any]

    @property
    def is_request(self) -> bool:
        """Whether the message asks for an answer: it has a method and an id."""
        return self.method is not None and self.id is not None

    @property
    def subscription(self) -> str:
        """The id of the subscription that a notification belongs to, as JSON; null for none."""
        meta = self.params.get("_meta")
        return json.dumps(meta.get(SUBSCRIPTION) if isinstance(meta, dict) else None)

    def members(self, *path: str) -> dict[str, str]:
        """Return the members of the object at a path, as JSON texts; {} if there is no object."""
        text = self.line.decode("utf-8", "surrogatepass")
        for name in path:
            text = members_of(text).get(name, "")
        return members_of(text)


def read(data: bytes) -> Message:
    """Read a message; raises BadMessage unless the bytes are one JSON object.

    Line ends can only stand between the tokens of JSON, so blanks take their place.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise BadMessage("The body is not JSON.") from None
    if not isinstance(document, dict):
        raise BadMessage("The body is not one JSON-RPC message.")
    method, line = document.get("method"), data.translate(_BLANKS)
    params = document.get("params")
    inside = params if isinstance(params, dict) else {}
    if method == "notifications/progress":
        token = inside.get("progressToken")
    else:
        meta = inside.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
    return Message(
        line,
        method if isinstance(method, str) else None,
        _text(document.get("id")),
        _text(token),
        inside,
    )


def members_of(text: str) -> dict[str, str]:
    """Return the members of a JSON object, each as it is written; {} for any other JSON value."""
    members: dict[str, str] = {}
    at = _after(text, 0)
    if text[at : at + 1] != "{":
        return members
    at = _after(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _after(text, _after(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        members[name] = text[at:end]
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at
    return members


def items_of(text: str) -> list[str]:
    """Return the items of a JSON list, each as it is written; [] for any other JSON value."""
    items: list[str] = []
    at = _after(text, 0)
    if text[at : at + 1] != "[":
        return items
    at = _after(text, at + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        items.append(text[at:end])
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at
    return items


def text_of(members: Mapping[str, str]) -> str:
    """Return a JSON object of these members, whose values are JSON texts."""
    return "{" + ",".join(f"{json.dumps(name)}:{text}" for name, text in members.items()) + "}"


def of(members: Mapping[str, str]) -> Message:
    """Return the message of these members beside `jsonrpc`, whose values are JSON texts."""
    return read(text_of({"jsonrpc": '"2.0"', **members}).encode("utf-8", "surrogatepass"))


def failure(own_id: str | None, code: int, text: str, data: Any = None) -> bytes:
    """Return the relay's own JSON-RPC error, with that code, as the answer to a request.

    `own_id` is the request's id as JSON text; None becomes null. Without `data` it has none.
    """
    error = {"code": code, "message": text} | ({} if data is None else {"data": data})
    answer = {"jsonrpc": "2.0", "id": None, "error": error}
    return json.dumps(answer).replace('"id": null', f'"id": {own_id or "null"}', 1).encode()


def header(text: str) -> str:
    """Return a text as a header's value: as it is if that is plain ASCII, else in base64."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


_DECODER, _SPACE = json.JSONDecoder(), re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_BLANKS = bytes.maketrans(b"\r\n", b"  ")


def _after(text: str, at: int) -> int:
    """Return the index of the first character from `at` on that is not white space."""
    blanks = _SPACE.match(text, at)
    return at if blanks is None else blanks.end()


def _text(value: Any) -> str | None:
    """Return an id or a token as JSON; None for null."""
    return None if value is None else json.dumps(value)
