"""Public API for your own checks. Only these names are stable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_proxy_conformance.catalogue.requirement import MixedLevels, UnknownClause, requirement
from mcp_proxy_conformance.catalogue.specification import imported
from mcp_proxy_conformance.catalogue.stage import BadStage, on, stage
from mcp_proxy_conformance.catalogue.world import (
    CONFIG,
    USER,
    LockKind,
    Server,
    Step,
    Tool,
    ToolKey,
    ToolState,
    World,
    key,
    server,
    tool,
    world,
)
from mcp_proxy_conformance.verdict.result import Breach, Inconclusive, NotApplicable
from mcp_proxy_conformance.wire.reply import Reply, ToolReply

if TYPE_CHECKING:
    from mcp_proxy_conformance.discovery.answer import Answer, Entry, Listing, ServerEntry
    from mcp_proxy_conformance.discovery.bench import ABSENT, Bench, Called
    from mcp_proxy_conformance.discovery.golden import Golden

HERE = "mcp_proxy_conformance.discovery"
OF_DISCOVERY = {
    **dict.fromkeys(("Answer", "Entry", "Listing", "ServerEntry"), f"{HERE}.answer"),
    **dict.fromkeys(("ABSENT", "Bench", "Called"), f"{HERE}.bench"),
    "Golden": f"{HERE}.golden",
}
"""The modules of the names for checks of proxies, which are imported when they are asked for."""

__all__ = [
    "ABSENT",
    "CONFIG",
    "USER",
    "Answer",
    "BadStage",
    "Bench",
    "Breach",
    "Called",
    "Entry",
    "Golden",
    "Inconclusive",
    "Listing",
    "LockKind",
    "MixedLevels",
    "NotApplicable",
    "Reply",
    "Server",
    "ServerEntry",
    "Step",
    "Tool",
    "ToolKey",
    "ToolReply",
    "ToolState",
    "UnknownClause",
    "World",
    "key",
    "on",
    "requirement",
    "server",
    "stage",
    "tool",
    "world",
]


if not TYPE_CHECKING:  # else mypy would take every name for one of these

    def __getattr__(name: str) -> Any:
        """Return a name for checks of proxies, which other checks do without."""
        if name not in OF_DISCOVERY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return imported(f"{OF_DISCOVERY[name]}:{name}")
