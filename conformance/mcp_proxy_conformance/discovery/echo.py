"""An answer that repeats its request repeats the flag too: that is no difference of the feature."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node


def without_flag(text: bytes, arguments: Mapping[str, Any]) -> bytes:
    """The text without the flag wherever it repeats these arguments, all of them and no more.

    The flag goes with one comma beside it; what is no JSON document is left as it is.
    """
    if FLAG.encode() not in text:
        return text
    try:
        document = spans.parse(text)
    except Malformed:
        return text
    told = [one for one in _objects(document) if _repeats(one, arguments)]
    return spans.cut(text, [span for one in told for span in one.with_comma(FLAG)])


def _objects(node: Node) -> Iterator[Node]:
    if node.kind == "object":
        yield node
    for inner in (*node.items, *(one.value for one in node.members)):
        yield from _objects(inner)


def _repeats(node: Node, arguments: Mapping[str, Any]) -> bool:
    """Whether the object is the arguments, the flag among them, with nothing left out."""
    if FLAG not in arguments or {one.key for one in node.members} != arguments.keys():
        return False
    return json.dumps(node.value(), sort_keys=True) == json.dumps(dict(arguments), sort_keys=True)
