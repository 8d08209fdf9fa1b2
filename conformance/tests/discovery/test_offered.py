"""Places at which the reference offers its discovery tool: endpoints, revisions and stdio."""

from __future__ import annotations

from pathlib import Path

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.arming import Armed
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import STATELESS, offered_anywhere
from mcp_proxy_conformance.targets.description import Description
from mcp_proxy_conformance.targets.kinds import target_of
from mcp_proxy_conformance.targets.started import Started


def test_the_bench_sees_the_discovery_tool_on_every_transport(tmp_path: Path) -> None:
    """`offered_anywhere` finds the reference's discovery tool, which names the flag, at each place.

    They are both endpoints, each in both eras, and stdio, whose program has its own state.
    """
    target = target_of(Description(kind="reference"))
    started = Started(target, World(id="none", servers=()), tmp_path)
    try:
        tools = offered_anywhere(Bench(started, Armed(states={})))
        states = sorted(path.parent.name for path in started.folder.rglob("proxy.db"))
    finally:
        started.close()
        target.close()

    flagged = {place for place, tool in tools.items() if FLAG in tool["description"]}
    endpoints = {"/mcp", "/mcp/call"}
    assert flagged == {*endpoints, *(endpoint + STATELESS for endpoint in endpoints), "stdio"}
    assert states == ["data", "stdio-data"]
