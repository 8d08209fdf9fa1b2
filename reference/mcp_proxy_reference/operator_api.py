"""Operator API, REST under /api/v1: servers, tools, approvals, agent tokens."""

from typing import Annotated
from urllib.parse import unquote

import msgspec

from mcp_proxy_reference import tools
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
Answer = tuple[int, Json]


class HttpError(Exception):
    """A rejected request: HTTP status and one sentence."""

    def __init__(self, status: int, message: str) -> None:
        """Keep the status; the message is the text of the exception."""
        super().__init__(message)
        self.status = status


class Lock(msgspec.Struct):
    """Body of a request to set or remove the user's lock on a tool."""

    enabled: bool


class Approval(msgspec.Struct):
    """Body of a request to approve tools as they are now."""

    tools: list[str] = []
    approve_all: bool = False


class Token(msgspec.Struct):
    """Body of a request for an agent token; `expires_in` is a number and a unit (s, m, h, d)."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    allowed_servers: frozenset[str] = frozenset({"*"})
    permissions: frozenset[str] = frozenset({"read"})
    expires_in: Annotated[str, msgspec.Meta(pattern=r"\A[0-9]+[smhd]\Z")] = "720h"


def failed(message: str) -> Json:
    """Return the JSON body of an answer that reports a failure, with `message` as its `error`."""
    return {"success": False, "error": message}


async def handle(gateway: Gateway, method: str, path: str, body: bytes) -> Answer:
    """Carry out a request and return status and body; `path` is still percent-encoded.

    Raises HttpError: 400 for an unusable body, 503 for the store, 500 for the config file.
    """
    parts = [unquote(part) for part in path.removeprefix(PREFIX).split("/")]
    try:
        return await _route(gateway, [method, *parts], body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise HttpError(400, f"The body cannot be used: {error}.") from None
    except StoreError:
        raise HttpError(503, "The approvals store cannot be used.") from None
    except OSError as error:
        raise HttpError(500, f"The configuration cannot be written: {error.strerror}.") from None


async def _route(gateway: Gateway, request: list[str], body: bytes) -> Answer:
    """Carry out a request, given as its method and the parts of its path.

    HttpError 404 if unknown, 409 if it contradicts the configuration, 502 if a refresh fails.
    """
    match request:
        case ["GET", "discovery", "opt-ins"]:
            return 200, {"count": gateway.opt_ins}
        case ["GET", "servers"]:
            servers = gateway.config.servers.values()
            return _done(servers=[_server(gateway, server) for server in servers])
        case ["POST", "tokens"]:
            return _issue(gateway, msgspec.json.decode(body, type=Token))
        case ["GET" | "POST", "servers", name, *_] if name not in gateway.config.servers:
            raise HttpError(404, f"There is no server {name}.")
        case ["GET", "servers", name, "tools"]:
            listed = _tools(gateway, name)
            return _done(server_name=name, tools=listed, count=len(listed))
        case ["POST", "servers", name, "tools", "approve"]:
            return _approve(gateway, name, msgspec.json.decode(body, type=Approval))
        case ["POST", "servers", name, "tools", tool, "enabled"]:
            enabled = msgspec.json.decode(body, type=Lock).enabled
            offered = _tool(gateway, name, tool)
            if enabled and gateway.config.servers[name].denies(tool):
                raise HttpError(409, "The tool is denied by the configuration.")
            gateway.store.lock(offered, locked=not enabled)
            return _done(enabled=enabled, server_name=name, tool_name=tool)
        case ["POST", "servers", name, "discover-tools"]:
            if name not in gateway.upstreams:
                raise HttpError(409, "The server is turned off.")
            outcome = await gateway.refresh(name)
            if outcome.status != "available":
                raise HttpError(502, str(outcome.error))
            return _done(server_name=name, tools=len(outcome.tools))
        case ["POST", "servers", name, action] if action in SWITCHES:
            key, value = SWITCHES[action]
            gateway.switch(name, **{key: value})
            return _done(server_name=name, **{key: value})
    raise HttpError(404, "Not found.")


def _done(status: int = 200, **data: object) -> Answer:
    """Return the answer of a successful request, with `data` as its content."""
    return status, {"success": True, "data": data}


def _server(gateway: Gateway, server: Server) -> Json:
    """Return the operator's entry of a server: configuration, connection and tool count."""
    entry = tools.state(gateway, server)
    state = entry.pop("connection_status")["state"]
    return entry | {
        "id": server.name,
        "connected": state == "ready",
        "connecting": state == "connecting",
        "status": state,
        "tool_count": len(gateway.tools(server.name)),
    }


def _tools(gateway: Gateway, server: str) -> list[Json]:
    """Return the entries of a server's tools with their locks.

    StoreError if the store is unreadable.
    """
    gateway.store.records()  # an unreadable store is reported to the operator
    return [
        {
            "name": facts.tool.name,
            "server_name": server,
            "description": facts.tool.description,
            "schema": facts.tool.schema,
            "approval_status": facts.approval,
            "disabled": facts.disabled_by_user,
            "config_denied": facts.denied,
            "hash": facts.tool.digest,
        }
        for facts in gateway.known()[server]
    ]


def _tool(gateway: Gateway, server: str, name: str) -> Tool:
    """Return a server's tool of that name; HttpError 404 without one."""
    if (tool := gateway.tools(server).get(name)) is None:
        raise HttpError(404, f"There is no tool {name} on the server {server}.")
    return tool


def _approve(gateway: Gateway, server: str, request: Approval) -> Answer:
    """Approve the named tools, or all; answer how many of them were not approved before.

    HttpError 404 for an unknown one, before any is approved.
    """
    names = set(gateway.tools(server) if request.approve_all else request.tools)
    for name in names:
        _tool(gateway, server, name)
    gateway.store.records()
    known = [facts for facts in gateway.known()[server] if facts.tool.name in names]
    waiting = [facts.tool for facts in known if facts.approval != "approved"]
    gateway.store.approve(waiting)
    gateway.records()
    return _done(approved=len(waiting), server_name=server)


def _issue(gateway: Gateway, request: Token) -> Answer:
    """Create an agent token and return the answer (201) with it.

    HttpError 409 if the name is taken. The server `*` stands for all servers.
    """
    servers = None if "*" in request.allowed_servers else request.allowed_servers
    agent = Agent(name=request.name, servers=servers, permissions=request.permissions)
    lifetime = int(request.expires_in[:-1]) * SECONDS[request.expires_in[-1]]
    token = gateway.store.issue(agent, lifetime)
    if token is None:
        raise HttpError(409, "The name is taken.")
    return _done(201, name=request.name, token=token)
