"""Built-in loaders of many MCP servers, each in a virtual environment of its own."""

from mcp_proxy_conformance.resilience.builtin.loaders import (
    Builtin,
    UnknownBuiltin,
    builtin,
    builtins,
    command,
)

__all__ = [
    "Builtin",
    "UnknownBuiltin",
    "builtin",
    "builtins",
    "command",
]
