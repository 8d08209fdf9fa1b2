"""Package of the scripted MCP servers behind a target; its names are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_proxy_conformance.upstream.hub import Upstreams
    from mcp_proxy_conformance.upstream.server import UpstreamServer
    from mcp_proxy_conformance.upstream.tools import UpstreamTool

__all__ = ["UpstreamServer", "UpstreamTool", "Upstreams"]

_HOMES = {"UpstreamServer": "server", "UpstreamTool": "tools", "Upstreams": "hub"}


def __getattr__(name: str) -> Any:
    """Return a name of `__all__`, imported on first use; AttributeError for any other name.

    The child process that plays a stdio server imports this package and needs none of them.
    """
    if name not in _HOMES:
        raise AttributeError(name)
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
