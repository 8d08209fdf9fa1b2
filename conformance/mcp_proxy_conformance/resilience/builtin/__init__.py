"""Built-in loaders of many MCP servers, each in a virtual environment of its own."""

from mcp_proxy_conformance.resilience.builtin.environments import NotInstalled, command, version
from mcp_proxy_conformance.resilience.builtin.loaders import (
    Builtin,
    UnknownBuiltin,
    builtin,
    builtins,
)

__all__ = [
    "Builtin",
    "NotInstalled",
    "UnknownBuiltin",
    "builtin",
    "builtins",
    "command",
    "version",
]
