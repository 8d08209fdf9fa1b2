"""Package of fault servers: servers that fail by script, attempt by attempt, to test loaders."""

from mcp_proxy_conformance.upstream.faults.behaviour import Behaviour
from mcp_proxy_conformance.upstream.faults.script import BadScript, ServerScript, read_scripts
from mcp_proxy_conformance.upstream.faults.server_log import Seen
from mcp_proxy_conformance.upstream.faults.servers import FaultServers

__all__ = ["BadScript", "Behaviour", "FaultServers", "Seen", "ServerScript", "read_scripts"]
