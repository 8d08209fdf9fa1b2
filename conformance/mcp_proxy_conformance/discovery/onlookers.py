"""Who else looks at a target than its administrator at the first endpoint."""

from __future__ import annotations

from mcp_proxy_conformance.discovery.agents import everywhere
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import elsewhere


def onlookers(bench: Bench, tool: str = "") -> dict[str, Bench]:
    """The views from the other endpoints that offer discovery, and of agents of every server.

    By a name for reports; `tool`: the endpoints that offer that one of the target's own tools.
    """
    found = {f"at {endpoint}": bench.at(endpoint) for endpoint in elsewhere(bench, tool)}
    return found | {f"as agent {view.agent}": view for view in everywhere(bench)}
