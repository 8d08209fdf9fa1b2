"""Journal of a scripted server: every message that arrived, with its session and its headers."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.wire.jsonrpc import message_of, object_of, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proxy_conformance.verdict.cited import Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One message that reached the server: its exact bytes, and where it came from.

    `session` is the id that the server issued, or the number of a stdio connection; empty before
    one is issued. `line` is the request line of HTTP, empty over stdio. `taken` is False for a
    message that the server refused over HTTP, such as for its session.
    """

    session: str
    method: str
    raw: bytes
    headers: Headers = ()
    line: str = ""
    taken: bool = True

    @property
    def message(self) -> dict[str, Any]:
        """The message as Python data; {} if it cannot be read, or is not an object."""
        return message_of(self.raw)

    @property
    def id(self) -> str:
        """Its id as JSON text, which ids of all types have; "" without one, or with null."""
        own = self.message.get("id")
        return "" if own is None else quoted(own)

    def params(self) -> dict[str, Any]:
        """Return the params as Python data; empty if there are none, or they are not an object."""
        return object_of(self.message.get("params"))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a call; empty if there are none, or they are not an object."""
        return object_of(self.params().get("arguments"))

    def meta(self) -> dict[str, Any]:
        """Return the `_meta` of a request; empty if it has none, or it is not an object."""
        return object_of(self.params().get("_meta"))


class Journal:
    """An append-only list of arrivals, which any thread may read."""

    def __init__(self) -> None:
        """Begin empty."""
        self._lock = threading.Lock()
        self._arrivals: list[Arrival] = []

    def add(self, arrival: Arrival) -> None:
        """Append one arrival."""
        with self._lock:
            self._arrivals.append(arrival)

    def mark(self) -> int:
        """Return the number of arrivals so far, to pass to `since`."""
        with self._lock:
            return len(self._arrivals)

    def since(self, mark: int = 0, method: str | None = None) -> Sequence[Arrival]:
        """Return the arrivals after `mark`, of one method or of all, oldest first."""
        with self._lock:
            later = self._arrivals[mark:]
        return [arrival for arrival in later if method in (None, arrival.method)]

    def calls(self, mark: int = 0, tool: str | None = None) -> Sequence[Arrival]:
        """Return the `tools/call` arrivals after `mark` of a tool, or of all, oldest first.

        Calls that the server refused over HTTP, such as for their session, are left out.
        """
        called = self.since(mark, "tools/call")
        taken = [each for each in called if each.taken]
        return [each for each in taken if tool in (None, each.params().get("name"))]
