"""Package of the suite's MCP client, exact to the byte and independent of the checks."""

from mcp_proxy_conformance.wire.client import Client, Wire
from mcp_proxy_conformance.wire.faults import ProtocolFault, SessionLost, Unreachable
from mcp_proxy_conformance.wire.http import HttpResponse
from mcp_proxy_conformance.wire.jsonrpc import Envelope
from mcp_proxy_conformance.wire.reply import Reply, ToolReply
from mcp_proxy_conformance.wire.spans import Malformed, Span
from mcp_proxy_conformance.wire.stdio import StdioClient

__all__ = [
    "Client",
    "Envelope",
    "HttpResponse",
    "Malformed",
    "ProtocolFault",
    "Reply",
    "SessionLost",
    "Span",
    "StdioClient",
    "ToolReply",
    "Unreachable",
    "Wire",
]
