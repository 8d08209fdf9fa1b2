"""Forms of one request (flag absent, false or true): exact answers, and how they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.calibration import (
    FALSE,
    ByteDifference,
    Exact,
    absent_against_false,
)
from mcp_proxy_conformance.discovery.requests import ABSENT, exchanged, in_words
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node


def without_flag(text: bytes, arguments: Mapping[str, Any]) -> bytes:
    """Remove the flag, in a JSON text, from every object that repeats exactly these arguments.

    An answer that echoes its request has then the same bytes with the flag and without it. A
    text that is not JSON is unchanged.
    """
    if FLAG.encode() not in text:
        return text
    try:
        document = spans.parse(text)
    except Malformed:
        return text
    echoes = [node for node in _objects(document) if _repeats(node, arguments)]
    return spans.cut(text, [span for node in echoes for span in node.with_comma(FLAG)])


def _objects(node: Node) -> Iterator[Node]:
    """Yield every object in a JSON tree, outer ones before those inside."""
    if node.kind == "object":
        yield node
    for inner in (*node.items, *(member.value for member in node.members)):
        yield from _objects(inner)


def _repeats(node: Node, arguments: Mapping[str, Any]) -> bool:
    """Whether the object equals the arguments, as JSON; False if they do not include the flag."""
    if FLAG not in arguments or {member.key for member in node.members} != arguments.keys():
        return False
    return json.dumps(node.value(), sort_keys=True) == json.dumps(dict(arguments), sort_keys=True)


OPTED_IN = "with the flag"


def exact_answer(
    bench: Bench, request: Mapping[str, Any], form: str, *, apart: bool = False
) -> Exact:
    """Send a request with the flag in that form; return the exact answer without the flag's echoes.

    `form` is ABSENT, FALSE or OPTED_IN; `apart` sends it in a session of its own, over HTTP
    only.
    """
    arguments = {bench.surface.query: request["query"]}
    arguments |= {bench.surface.limit: request["limit"]} if "limit" in request else {}
    arguments |= {FLAG: False} if form == FALSE else {}
    arguments |= {FLAG: True} if form == OPTED_IN else {}
    reply = exchanged(
        bench.started, bench.surface.discovery_tool, arguments,
        {**request, "include_disabled": arguments.get(FLAG, ABSENT)}, agent=bench.agent,
        endpoint=bench.endpoint, wire=bench.wire, apart=apart,
    )  # fmt: skip
    exact = Exact.of(reply)
    parts = {name: without_flag(part, arguments) for name, part in exact.parts()}
    return Exact(result=parts["result"], text=parts["text"])


def unequal(
    bench: Bench, requests: Iterable[Mapping[str, Any]], *, apart: bool = False
) -> dict[str, tuple[ByteDifference, ...]]:
    """Send each request with the flag absent and false; return what differs, by request in words.

    Requests with equal answers are left out. Each is first sent with the flag true, so that any
    effect of that is on both forms. `apart`: each call has its own session. Inconclusive if answers
    without the flag differ in more than single values.
    """
    requests = list(requests)
    for request in requests:
        exact_answer(bench, request, OPTED_IN)
    compared = {
        in_words(request, include_disabled=False): absent_against_false(
            lambda form, request=request: exact_answer(bench, request, form, apart=apart),  # type: ignore[misc]
            bench.cut,
        )
        for request in requests
    }
    return {request: differences for request, differences in compared.items() if differences}
