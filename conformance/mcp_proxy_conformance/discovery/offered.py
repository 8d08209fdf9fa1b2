"""Where the discovery tool is offered: its own entry in tools/list of each endpoint."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.conversation import Conversation


def offered(bench: Bench, tool: str = "") -> dict[str, dict[str, Any]]:
    """The entry by the path of each declared endpoint that holds it; inconclusive without any.

    `tool`: the entry of that one of the target's own tools instead.
    """
    name, found = tool or bench.surface.discovery_tool, {}
    for endpoint in bench.surface.endpoints:
        with suppress(Inconclusive):
            client = bench.started.client(bench.agent, endpoint)
            found[endpoint] = _entry(client, name)
    bench.require(found, f"no declared endpoint offers {name}")
    return found


def elsewhere(bench: Bench, tool: str = "") -> list[str]:
    """The endpoints beside the first that offer a tool of the target's own, or discovery."""
    place = ("endpoints", bench.agent, tool)
    found = bench.started.answers.get(place)
    if found is None:
        first = {"", bench.surface.endpoints[0], urlsplit(bench.started.access.url).path}
        found = [one for one in offered(bench, tool) if one not in first]
        bench.started.answers[place] = found
    return list(found)


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
    raise Inconclusive(f"no tool {name!r} is offered", cause="not_offered")
