"""Places that offer the discovery tool (endpoints, revisions, stdio), and what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery import offered
from mcp_proxy_conformance.discovery.arming import Armed
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import STATELESS, offered_anywhere, places
from mcp_proxy_conformance.discovery.targets.kinds import target_of
from mcp_proxy_conformance.discovery.targets.proxy_description import ProxyDescription
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.wire.faults import Unreachable
from mcp_proxy_conformance.wire.transcript import Transcript


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Yield a bench on the reference without servers; it ends after the test."""
    target = target_of(ProxyDescription(kind="reference"))
    started = Started(target, World(id="none", servers=()), tmp_path)
    try:
        yield Bench(started, Armed(states={}))
    finally:
        started.close()
        target.close()


def test_the_bench_sees_the_discovery_tool_on_every_transport(bench: Bench) -> None:
    """`offered_anywhere` finds the reference's discovery tool, which names the flag, at each place.

    They are both endpoints, each in both eras, and stdio, whose program has its own state.
    """
    tools = offered_anywhere(bench)
    states = sorted(path.parent.name for path in bench.started.folder.rglob("proxy.db"))

    flagged = {place for place, tool in tools.items() if FLAG in tool["description"]}
    endpoints = {"/mcp", "/mcp/call"}
    assert flagged == {*endpoints, *(endpoint + STATELESS for endpoint in endpoints), "stdio"}
    assert states == ["data", "stdio-data"]


def test_a_further_endpoint_is_asked_in_both_eras(bench: Bench) -> None:
    """`places` has the reference's second endpoint twice: as it is, and in the stateless revision.

    Of a bench that is in that revision already, it has the endpoint once.
    """
    usual, stateless = places(bench), places(bench.over("stateless"))

    at = "at /mcp/call"
    assert {name: view.wire for name, view in usual.items()} == {
        at: "auto",
        at + STATELESS: "stateless",
    }
    assert {view.endpoint for view in usual.values()} == {"/mcp/call"}
    assert {name: view.wire for name, view in stateless.items()} == {at + STATELESS: "stateless"}


def test_entries_are_kept_until_the_target_changes(bench: Bench) -> None:
    """`offered_anywhere` asks once, and again only after an operator action or with `anew`."""
    started, asked = bench.started, []

    first = offered_anywhere(bench)
    for anew, acts in ((False, False), (True, False), (False, True)):
        before = started.transcript.mark()
        if acts:
            started.moved(None)
        assert offered_anywhere(bench, anew=anew) == first
        asked.append(started.transcript.mark() > before)

    assert asked == [False, True, True]


def test_entries_without_those_of_a_failed_place_are_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stateless place that fails once is asked again the next time."""
    tool = {"name": "retrieve_tools"}
    faults = [Unreachable("http://127.0.0.1:1/mcp", "connect", "refused", 0.0)]

    def opened(fault: list[Unreachable]) -> nullcontext[SimpleNamespace]:
        """Return a client that lists the tool; raise the fault in the list, if any is left."""
        if fault:
            raise fault.pop()
        return nullcontext(SimpleNamespace(tools=lambda: [tool]))

    monkeypatch.setattr(
        offered,
        "conversations",
        lambda *_: {
            "/mcp": partial(opened, []),
            f"/mcp{STATELESS}": partial(opened, faults),
        },
    )
    bench = cast("Bench", SimpleNamespace(
        agent=None,
        wire="auto",
        started=SimpleNamespace(answers={}, transcript=Transcript()),
        surface=SimpleNamespace(discovery_tool=tool["name"]),
        require=lambda *_: None,
    ))  # fmt: skip

    assert [[*offered_anywhere(bench)] for _ in range(2)] == [
        ["/mcp"],
        ["/mcp", f"/mcp{STATELESS}"],
    ]
