"""The server listing and the view of one server, with counts of tools by reason."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.gateway import Gateway, Records
from mcp_proxy_reference.policy import ArgumentError


def upstream_servers(gateway: Gateway, agent: Agent, arguments: Mapping[str, object]) -> Json:
    """List the servers the agent may know of, or get one of them.

    Raises:
        ArgumentError: the operation or the server does not exist.
    """
    scope = gateway.policy.scope
    servers = [
        server for name, server in gateway.config.servers.items() if scope(agent, name, "listing")
    ]
    records = gateway.records()
    operation = arguments.get("operation", "list")
    if operation == "list":
        entries = [_entry(gateway, server, records) for server in servers]
        return {"servers": entries, "total": len(entries)}
    if operation != "get":
        raise ArgumentError("operation must be list or get.")
    for server in servers:
        if server.name == arguments.get("name"):
            return {"server": _entry(gateway, server, records)}
    raise ArgumentError("name must be the name of a server.")


def state(gateway: Gateway, server: Server) -> str:
    """One word on the connection: disabled, connecting, ready or error."""
    if not server.enabled:
        return "disabled"
    upstream = gateway.upstreams.get(server.name)
    if upstream is None or upstream.outcome is None:
        return "connecting"
    return "ready" if upstream.outcome.status == "available" else "error"


def transport(server: Server) -> str:
    """The protocol by which the server is reached."""
    return server.protocol or ("streamable-http" if server.url else "stdio")


def _entry(gateway: Gateway, server: Server, records: Records | None) -> Json:
    upstream = gateway.upstreams.get(server.name)
    outcome = upstream.outcome if upstream else None
    entry: Json = {
        "name": server.name,
        "protocol": transport(server),
        "url": server.url or "",
        "enabled": server.enabled,
        "quarantined": server.quarantined,
        "connection_status": {
            "state": state(gateway, server),
            "status": outcome.status if outcome else None,
            "attempts": outcome.attempts if outcome else 0,
            "error": outcome.error if outcome else None,
        },
    }
    policy = gateway.policy
    known = [gateway.facts(tool, records) for tool in gateway.tools(server.name).values()]
    tallied = [
        (facts, None if policy.may_call(facts, "listing") else policy.classify(facts))
        for facts in known
    ]
    if (counts := policy.counts(tallied)) is not None:
        entry["tools"] = counts
    return entry
