"""The proxy's own tools: how they are published and how they are called."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_proxy_reference.calls import call_tool, text_result
from mcp_proxy_reference.discovery import retrieve_tools
from mcp_proxy_reference.facts import Agent, Json
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.listing import upstream_servers
from mcp_proxy_reference.policy import MAX_LIMIT, ArgumentError, Policy

CALLS = {
    "call_tool_read": "Call a tool that reads.",
    "call_tool_write": "Call a tool that writes.",
    "call_tool_destructive": "Call a tool that destroys or overwrites.",
}
DISCOVERY = "Find tools of all upstream servers by what they do."
NAMES = {"retrieve_tools", "upstream_servers", *CALLS}


def published(policy: Policy, endpoint: str) -> list[Json]:
    """The tools as tools/list shows them at an endpoint."""
    search: Json = {
        "query": {"type": "string", "description": "What the tool should do, or its name."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 15},
    }
    if policy.flag_schema is not None:
        search["include_disabled"] = dict(policy.flag_schema)
    call: Json = {
        "name": {"type": "string", "description": "The tool's name as found: server:tool."},
        "args_json": {"type": "string", "description": "The arguments, a JSON object as text."},
    }
    servers: Json = {
        "operation": {"type": "string", "enum": ["list", "get"]},
        "name": {"type": "string", "description": "The server to get."},
    }
    found = f"{DISCOVERY} {policy.description(endpoint)}".strip()
    return [
        _published("retrieve_tools", found, search, "query"),
        *(_published(name, text, call, "name") for name, text in CALLS.items()),
        _published("upstream_servers", "List the upstream servers.", servers, "operation"),
    ]


async def call(gateway: Gateway, agent: Agent, name: str, arguments: Mapping[str, object]) -> Json:
    """The result of one of the proxy's own tools; `name` is one of `NAMES`."""
    render = gateway.policy.render
    try:
        if name in CALLS:
            return await call_tool(gateway, agent, name, arguments)
        tool = retrieve_tools if name == "retrieve_tools" else upstream_servers
        return text_result(render(tool(gateway, agent, arguments)))
    except ArgumentError as error:
        return text_result(str(error), is_error=True)


def _published(name: str, description: str, properties: Json, required: str) -> Json:
    schema = {"type": "object", "properties": properties, "required": [required]}
    return {"name": name, "description": description, "inputSchema": schema}
