"""The three forms of a request, absent, false and true, as the exact bytes that answer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.calibration import (
    FALSE,
    Difference,
    Exact,
    absent_against_false,
)
from mcp_proxy_conformance.discovery.echo import without_flag

OPTED_IN = "with the flag"


def asked(bench: Bench, request: Mapping[str, Any], form: str, *, apart: bool = False) -> Exact:
    """The exact answer to one request in that form; `apart` in a session of its own."""
    arguments = {bench.surface.query: request["query"]}
    arguments |= {bench.surface.limit: request["limit"]} if "limit" in request else {}
    arguments |= {FLAG: False} if form == FALSE else {}
    arguments |= {FLAG: True} if form == OPTED_IN else {}
    client = bench.started.client(bench.agent, bench.endpoint)
    if not apart:
        reply = client.call_tool(bench.surface.discovery_tool, arguments)
    else:
        with client.sibling() as own:
            reply = own.call_tool(bench.surface.discovery_tool, arguments)
    told = Exact.of(reply)
    parts = {name: without_flag(part, arguments) for name, part in told.parts()}
    return Exact(result=parts["result"], text=parts["text"])


def unequal(
    bench: Bench, requests: Iterable[Mapping[str, Any]], *, apart: bool = False
) -> dict[str, tuple[Difference, ...]]:
    """The requests whose answers differ between absent and false, and where.

    Each is asked with the flag first: what that may leave behind shows in both forms or in none.
    """
    requests = list(requests)
    for request in requests:
        asked(bench, request, OPTED_IN)
    compared = {
        str(dict(request)): absent_against_false(
            lambda form, request=request: asked(bench, request, form, apart=apart),  # type: ignore[misc]
            bench.cut,
        )
        for request in requests
    }
    return {request: found for request, found in compared.items() if found}
