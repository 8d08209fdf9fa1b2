"""The offers of the discovery tool: its own entry in tools/list of each endpoint."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.conversation import Conversation


def offered(bench: Bench, tool: str = "") -> dict[str, dict[str, Any]]:
    """Return the tool's entry by path of each declared endpoint with it; inconclusive without any.

    `tool`: another of the target's own tools, instead of discovery.
    """
    name, entries = tool or bench.surface.discovery_tool, {}
    for endpoint in bench.surface.endpoints:
        with suppress(Inconclusive):
            client = bench.started.client(bench.agent, endpoint)
            entries[endpoint] = _entry(client, name)
    bench.require(entries, f"no declared endpoint offers {name}")
    return entries


def elsewhere(bench: Bench, tool: str = "") -> list[str]:
    """Return the endpoints other than the first that offer this built-in tool, or discovery."""
    place = ("endpoints", bench.agent, tool)
    endpoints = bench.started.answers.get(place)
    if endpoints is None:
        first = {"", bench.surface.endpoints[0], urlsplit(bench.started.access.url).path}
        endpoints = [endpoint for endpoint in offered(bench, tool) if endpoint not in first]
        bench.started.answers[place] = endpoints
    return list(endpoints)


def offered_anywhere(bench: Bench) -> dict[str, dict[str, Any]]:
    """Return `offered`, and under `stdio` the entry over that transport where it is served."""
    entries = offered(bench)
    if bench.agent is None and bench.started.access.stdio is not None:
        with bench.started.stdio() as client, suppress(Inconclusive):
            entries["stdio"] = _entry(client, bench.surface.discovery_tool)
    return entries


def _entry(client: Conversation, name: str) -> dict[str, Any]:
    for tool in client.tools():
        if tool.get("name") == name:
            return tool
    raise Inconclusive(f"the tool {name!r} is not offered", cause="not_offered")
