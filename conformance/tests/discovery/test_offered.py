"""Places at which the reference offers its discovery tool: endpoints, revisions and stdio."""

from __future__ import annotations

from pathlib import Path

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.arming import Armed
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import STATELESS, offered_anywhere, places
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


def test_a_further_endpoint_is_asked_in_both_eras(tmp_path: Path) -> None:
    """`places` has the reference's second endpoint twice: as it is, and in the stateless revision.

    Of a bench that is in that revision already, it has the endpoint once.
    """
    target = target_of(Description(kind="reference"))
    started = Started(target, World(id="none", servers=()), tmp_path)
    try:
        bench = Bench(started, Armed(states={}))
        usual, stateless = places(bench), places(bench.over("stateless"))
    finally:
        started.close()
        target.close()

    at = "at /mcp/call"
    assert {name: view.wire for name, view in usual.items()} == {
        at: "auto",
        at + STATELESS: "stateless",
    }
    assert {view.endpoint for view in usual.values()} == {"/mcp/call"}
    assert {name: view.wire for name, view in stateless.items()} == {at: "stateless"}
