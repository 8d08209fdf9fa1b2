"""Counting of a loader's attempts to connect to a server, by its opening JSON-RPC requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.wire import revisions

OPENINGS = ("initialize", "server/discover")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The parts of a JSON-RPC message that determine its attempt and its answer.

    `paged`: it asks for a page by a cursor; `progress` is its token for notifications of progress.
    """

    method: str = ""
    id: int | str | None = None
    revision: str | None = None
    paged: bool = False
    progress: int | str | None = None


def read_call(raw: bytes, revision: str | None) -> Call:
    """Return the JSON-RPC call in a body, with its revision; an empty one if it is not a call.

    `revision` is that of the HTTP header: one in `_meta` replaces it; the one that `initialize`
    asks for is added after a space.
    """
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return Call()
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return Call()
    raw_params, call_id = message.get("params"), message.get("id")
    params: dict[str, Any] = raw_params if isinstance(raw_params, dict) else {}
    meta = params.get("_meta")
    if isinstance(meta, dict) and revisions.META_VERSION in meta:
        revision = str(meta[revisions.META_VERSION])
    if message["method"] == "initialize":
        revision = f"{revision or ''} {params.get('protocolVersion')}"
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return Call(
        method=message["method"],
        id=call_id if isinstance(call_id, int | str) else None,
        revision=revision,
        paged=params.get("cursor") is not None,
        progress=token if isinstance(token, int | str) else None,
    )


class AttemptCount:
    """Counts the attempts at one server.

    An attempt begins with an opening request: `initialize`, `server/discover`, or the first page of
    `tools/list` if that was the very first request. A loader may probe for the protocol's era with
    several openings before it continues; each has another method or another revision, and together
    they are one attempt. The same opening again begins the next attempt, and so does every opening
    after any other request.
    """

    def __init__(self) -> None:
        """Begin with no attempt."""
        self.count = 0
        self._tried: set[tuple[str, str | None]] = set()
        self._begins_with_lists = False
        self._is_past_opening = False

    def connected(self) -> int:
        """Count a connection without a request as an attempt; return that attempt's number."""
        self.count += 1
        return self.count

    def count_call(self, call: Call) -> bool:
        """Count a call; return whether it belongs to the opening requests of an attempt.

        An opening begins an attempt if it is the first, repeats one of the attempt's, or comes
        after any other request.
        """
        if not self._opens(call):
            self._is_past_opening = self._is_past_opening or self.count > 0
            return False
        sign = (call.method, call.revision)
        if self.count == 0 or self._is_past_opening or sign in self._tried:
            self.count += 1
            self._tried.clear()
            self._is_past_opening = False
            self._begins_with_lists = True
        self._begins_with_lists &= call.method == "tools/list"
        self._tried.add(sign)
        return True

    def _opens(self, call: Call) -> bool:
        """Whether a call can open an attempt: `initialize`, `server/discover` or a tools/list.

        A tools/list only for its first page, and if no opening of another method came before.
        """
        if call.method == "tools/list":
            return not call.paged and (self.count == 0 or self._begins_with_lists)
        return call.method in OPENINGS
