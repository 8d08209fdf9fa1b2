"""Line numbers of a JSON document, by places in its data."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.wire.spans import Node


def pointer(place: Sequence[str | int]) -> str:
    """Return the JSON pointer of a place (RFC 6901)."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)


class JsonLines:
    """The lines of a JSON document, from its nodes."""

    def __init__(self, root: Node) -> None:
        """Nothing is looked up yet."""
        self._root = root

    def line(self, place: Sequence[str | int]) -> int:
        """Return the line of the JSON document on which the value, or what holds it, begins."""
        node = self._root
        for key in place:
            if (below := node.get(key)) is None:
                break
            node = below
        return line_at(node.source, node.start)


def line_at(raw: bytes, offset: int) -> int:
    """Return the line of a byte; the first is 1."""
    return raw.count(b"\n", 0, offset) + 1
