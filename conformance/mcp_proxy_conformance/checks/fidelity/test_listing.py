"""Listed tools: all of them, each once, callable, over all pages, and with what they say."""

from __future__ import annotations

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.fidelity.bench import RelayBench
from mcp_proxy_conformance.fidelity.stages import RELAYED
from mcp_proxy_conformance.fidelity.tools import callable_tools, listed_tools


@requirement("RLY.tools.complete.listed", "RLY.tools.complete.once")
@on(RELAYED)
def test_every_tool_of_the_upstream_is_listed_once(bench: RelayBench) -> None:
    """The relay lists each tool of the upstream once, but for those that it declares to filter."""
    listed_tools(bench).conclude()


@requirement("RLY.tools.complete.callable")
@on(RELAYED)
def test_every_listed_tool_can_be_called(bench: RelayBench) -> None:
    """A call by the listed name reaches the upstream's tool, once, and is answered."""
    callable_tools(bench).conclude()
