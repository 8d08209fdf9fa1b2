"""A small MCP tool proxy whose locked tools agents can discover: the reference."""

from mcp_proxy_reference.config import ConfigError
from mcp_proxy_reference.policy import Policy
from mcp_proxy_reference.proxy import Proxy

__all__ = ["ConfigError", "Policy", "Proxy"]
