"""An answer that repeats its request repeats the flag too: that is no difference of the feature."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.discovery.surface import FLAG
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node, Span


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
    return spans.cut(text, [_flag(one) for one in _objects(document) if _repeats(one, arguments)])


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


def _flag(node: Node) -> Span:
    place = next(i for i, one in enumerate(node.members) if one.key == FLAG)
    own = node.members[place]
    if place + 1 < len(node.members):
        return Span(own.key_span.start, node.members[place + 1].key_span.start)
    before = node.members[place - 1].value.end if place else own.key_span.start
    return Span(before, own.value.end)
