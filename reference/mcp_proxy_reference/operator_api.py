"""The operator's REST interface under /api/v1."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from urllib.parse import unquote

from mcp_proxy_reference import listing
from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Agent, Json, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.store import StoreError

PREFIX = "/api/v1/"
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SWITCHES = {
    "enable": ("enabled", True),
    "disable": ("enabled", False),
    "quarantine": ("quarantined", True),
    "unquarantine": ("quarantined", False),
}
Answer = tuple[int, "Json"]


class Refusal(Exception):
    """A request that is not carried out: HTTP status and one sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def failed(message: str) -> Json:
    """The body of an answer that reports an error."""
    return {"success": False, "error": message}


async def handle(gateway: Gateway, method: str, path: str, body: bytes) -> Answer:
    """Carry out one request; `path` is still percent-encoded, names may hold any character."""
    parts = [unquote(part) for part in path.removeprefix(PREFIX).split("/")]
    try:
        return await _route(gateway, method, parts, body)
    except Refusal as refusal:
        return refusal.status, failed(str(refusal))
    except StoreError:
        return 503, failed("The approvals store cannot be used.")
    except OSError as error:
        return 500, failed(f"The configuration cannot be written: {error.strerror}.")


async def _route(gateway: Gateway, method: str, parts: Sequence[str], body: bytes) -> Answer:
    match [method, *parts]:
        case ["GET", "discovery", "opt-ins"]:
            return 200, {"count": gateway.opt_ins}
        case ["GET", "servers"]:
            return _done(
                {"servers": [_server(gateway, s) for s in gateway.config.servers.values()]}
            )
        case ["POST", "tokens"]:
            return _issue(gateway, _object(body))
        case ["GET" | "POST", "servers", name, *_] if name not in gateway.config.servers:
            raise Refusal(404, f"There is no server {name}.")
        case ["GET", "servers", name, "tools"]:
            return _tools(gateway, name)
        case ["POST", "servers", name, "tools", "approve"]:
            return _approve(gateway, name, _object(body))
        case ["POST", "servers", name, "tools", tool, "enabled"]:
            return _lock(gateway, _tool(gateway, name, tool), _object(body))
        case ["POST", "servers", name, "discover-tools"]:
            return await _discover(gateway, name)
        case ["POST", "servers", name, action] if action in SWITCHES:
            key, value = SWITCHES[action]
            gateway.switch(name, **{key: value})
            return _done({"server_name": name, key: value})
    raise Refusal(404, "Not found.")


def _done(data: Json, status: int = 200) -> Answer:
    return status, {"success": True, "data": data}


def _server(gateway: Gateway, server: Server) -> Json:
    state = listing.state(gateway, server)
    return {
        "id": server.name,
        "name": server.name,
        "url": server.url or "",
        "protocol": listing.transport(server),
        "enabled": server.enabled,
        "quarantined": server.quarantined,
        "connected": state == "ready",
        "connecting": state == "connecting",
        "status": state,
        "tool_count": len(gateway.tools(server.name)),
    }


def _tools(gateway: Gateway, server: str) -> Answer:
    records = gateway.store.records()
    tools = []
    for tool in gateway.tools(server).values():
        facts = gateway.facts(tool, records)
        tools.append(
            {
                "name": tool.name,
                "server_name": server,
                "description": tool.description,
                "schema": tool.schema,
                "approval_status": facts.approval,
                "disabled": facts.disabled_by_user,
                "config_denied": facts.denied,
                "hash": tool.digest,
            }
        )
    return _done({"server_name": server, "tools": tools, "count": len(tools)})


def _lock(gateway: Gateway, tool: Tool, request: Json) -> Answer:
    enabled = request.get("enabled")
    if not isinstance(enabled, bool):
        raise Refusal(400, "enabled must be true or false.")
    if enabled and gateway.config.servers[tool.server].denies(tool.name):
        raise Refusal(409, "The tool is denied by the configuration.")
    gateway.store.lock(tool, locked=not enabled)
    return _done({"enabled": enabled, "server_name": tool.server, "tool_name": tool.name})


def _approve(gateway: Gateway, server: str, request: Json) -> Answer:
    names = request.get("tools", [])
    if request.get("approve_all") is True:
        names = list(gateway.tools(server))
    if not isinstance(names, list):
        raise Refusal(400, "tools must be a list of names.")
    tools = [_tool(gateway, server, name) for name in names]
    records = gateway.store.records()
    waiting = [tool for tool in tools if gateway.facts(tool, records).approval != "approved"]
    gateway.store.approve(waiting)
    gateway.reindex()
    return _done({"approved": len(waiting), "server_name": server})


async def _discover(gateway: Gateway, server: str) -> Answer:
    if server not in gateway.upstreams:
        raise Refusal(409, "The server is turned off.")
    outcome = await gateway.refresh(server)
    if outcome.status != "available":
        raise Refusal(502, str(outcome.error))
    return _done({"server_name": server, "tools": len(outcome.tools)})


def _issue(gateway: Gateway, request: Json) -> Answer:
    name, servers = request.get("name"), request.get("allowed_servers", ["*"])
    permissions = request.get("permissions", ["read"])
    lifetime = re.fullmatch(r"(\d+)([smhd])", str(request.get("expires_in", "720h")))
    if not isinstance(name, str) or not name or lifetime is None:
        raise Refusal(400, "name must be a name and expires_in a duration such as 1h.")
    if not _strings(servers) or not _strings(permissions):
        raise Refusal(400, "allowed_servers and permissions must be lists of strings.")
    agent = Agent(
        name=name,
        servers=None if "*" in servers else frozenset(servers),
        permissions=frozenset(permissions),
    )
    try:
        token = gateway.store.issue(agent, int(lifetime[1]) * SECONDS[lifetime[2]])
    except ValueError:
        raise Refusal(409, "The name is taken.") from None
    return _done({"name": name, "token": token}, 201)


def _tool(gateway: Gateway, server: str, name: object) -> Tool:
    tool = gateway.tools(server).get(name) if isinstance(name, str) else None
    if tool is None:
        raise Refusal(404, f"There is no tool {name} on the server {server}.")
    return tool


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _object(body: bytes) -> Json:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Refusal(400, "The body must be a JSON object.")
    return document
