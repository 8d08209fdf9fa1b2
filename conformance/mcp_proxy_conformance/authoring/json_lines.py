"""Line numbers of a JSON document by places in its data, and JSON pointers to the places."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proxy_conformance.catalogue.case_file import PLACEHOLDER, Place
from mcp_proxy_conformance.wire.spans import Node


def pointer(place: Sequence[str | int]) -> str:
    """Return the JSON pointer (RFC 6901) of a place, its keys and indices from the root on."""
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)


class JsonLines:
    """Line numbers of a parsed JSON document, or of one case in a file of several."""

    def __init__(self, root: Node, case: Place = ()) -> None:
        """Keep the document's root node, and the place of the case; lines are looked up on demand.

        `case` is `("cases", 3)`, of a table's row `("cases", 3, "rows", 0)`.
        """
        self.root, self._case = root, case

    def line(self, place: Place) -> int:
        """Return the line of the value at that place, or of its nearest ancestor that exists."""
        node = self.root
        for key in self.in_file(place):
            if (below := node.get(key)) is None:
                break
            node = below
        return line_at(node.source, node.start)

    def in_file(self, place: Place) -> Place:
        """Return the place in the file of a place in its case.

        That is the case's own member, or the shared one; the row, if a table's row made it.
        """
        entry, row = self._case[:2], self._case[2:]
        above = (entry, ("shared",), ()) if place and entry else (entry,)
        start = next((up for up in above if self.root.at((*up, *place[:1])) is not None), entry)
        node = self.root.at((*start, *place))
        if row and (not place or node is None or PLACEHOLDER.search(node.raw)):
            return self._case
        return (*start, *place)


def line_at(raw: bytes, offset: int) -> int:
    """Return the line number, from 1, of a byte offset in `raw`."""
    return raw.count(b"\n", 0, offset) + 1
