"""The discovery tool's own entry in tools/list, wherever the target offers it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.verdict import Inconclusive
from mcp_proxy_conformance.wire.conversation import Conversation


def offered(bench: Bench) -> dict[str, dict[str, Any]]:
    """The entry by the path of each declared endpoint that holds it; inconclusive without any."""
    found = {}
    for endpoint in bench.surface.endpoints:
        with suppress(Inconclusive):
            client = bench.started.client(bench.agent, endpoint)
            found[endpoint] = _entry(client, bench.surface.discovery_tool)
    bench.require(found, "no declared endpoint offers the discovery tool")
    return found


def offered_anywhere(bench: Bench) -> dict[str, dict[str, Any]]:
    """The same, and under `stdio` the entry over that transport where the target serves it."""
    found = offered(bench)
    if bench.agent is None and bench.started.access.stdio is not None:
        with bench.started.stdio() as client, suppress(Inconclusive):
            found["stdio"] = _entry(client, bench.surface.discovery_tool)
    return found


def _entry(client: Conversation, name: str) -> dict[str, Any]:
    for tool in client.tools():
        if tool.get("name") == name:
            return tool
    raise Inconclusive(f"no tool {name!r} is offered")
