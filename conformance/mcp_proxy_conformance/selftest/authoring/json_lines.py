"""Line numbers of a JSON document by places in its data, and JSON pointers to the places."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.wire.spans import Node


def pointer(place: Sequence[str | int]) -> str:
    """Return the JSON pointer (RFC 6901) of a place, its keys and indices from the root on."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)


class JsonLines:
    """Line numbers of a parsed JSON document."""

    def __init__(self, root: Node) -> None:
        """Keep the document's root node; lines are looked up on demand."""
        self._root = root

    def line(self, place: Sequence[str | int]) -> int:
        """Return the line of the value at that place, or of its nearest ancestor that exists."""
        node = self._root
        for key in place:
            if (below := node.get(key)) is None:
                break
            node = below
        return line_at(node.source, node.start)


def line_at(raw: bytes, offset: int) -> int:
    """Return the line number, from 1, of a byte offset in `raw`."""
    return raw.count(b"\n", 0, offset) + 1
