"""JSON-RPC messages as bytes, and what routes them: read, and never changed."""

import json
from typing import Any, NamedTuple

MOST_BYTES = 16 << 20
PARSE, INVALID, LOST = -32700, -32600, -32001


class BadMessage(ValueError):
    """The bytes are not one JSON object."""


class Message(NamedTuple):
    """One message: its bytes, with blanks for line ends, and what routes it.

    `id` and `token` (of its progress) are JSON texts, so that 1 and "1" differ; None without one.
    """

    line: bytes
    method: str | None
    id: str | None
    token: str | None

    @property
    def is_request(self) -> bool:
        """Whether the message asks for an answer: it has a method and an id."""
        return self.method is not None and self.id is not None


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
    )


def failure(own_id: str | None, code: int, text: str) -> bytes:
    """Return the relay's own JSON-RPC error, with that code, as the answer to a request.

    `own_id` is the request's id as JSON text; None becomes null.
    """
    answer = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
    return json.dumps(answer).replace('"id": null', f'"id": {own_id or "null"}', 1).encode()


_BLANKS = bytes.maketrans(b"\r\n", b"  ")


def _text(value: Any) -> str | None:
    """Return an id or a token as JSON; None for null."""
    return None if value is None else json.dumps(value)
