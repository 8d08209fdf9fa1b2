"""Script of builtin loaders `pydantic-ai`, `pydantic-ai-each`: tools by `MCPToolset`s.

Exercised: for `every`, an `MCPToolset` a server with its id as prefix, as `load_mcp_toolsets` makes
them, in one `CombinedToolset` as an `Agent` makes it, entered and queried for its tools, without a
model call. For `one`, `async with MCPToolset(...)` and `list_tools()`.

Decided here: a server's timeout is passed to both settings that the library has for it,
`init_timeout` and `read_timeout`. Attempts and backoff are not passed: the library has no
setting for them. A tool's server is known by its toolset's prefix, which is removed again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import RunContext
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import CombinedToolset
from pydantic_ai.usage import RunUsage


async def every(request: Mapping[str, Any]) -> Mapping[str, Sequence[str] | Exception]:
    """Load all servers as one agent's toolsets; return the names of its tools by server id.

    Prefixes are removed. An exception of the library is returned in the place of every server's
    names, not raised.
    """
    tools_by_server: dict[str, list[str]] = {
        server["server_id"]: [] for server in request["servers"]
    }
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    try:
        own = [toolset(server).prefixed(server["server_id"]) for server in request["servers"]]
        async with CombinedToolset(own) as combined:
            tools = await combined.get_tools(context)
    except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
        return dict.fromkeys(tools_by_server, error)
    for name, tool in tools.items():
        owner = tool.toolset.prefix
        tools_by_server[owner].append(name.removeprefix(f"{owner}_"))
    return tools_by_server


async def one(server: Mapping[str, Any], _request: Mapping[str, Any]) -> Sequence[str]:
    """Load one server as a toolset on its own; return the names of its tools.

    An exception of the library is raised.
    """
    async with toolset(server) as entered:
        return [tool.name for tool in await entered.list_tools()]


def toolset(server: Mapping[str, Any]) -> Any:
    """Return a server of the request as a toolset of the library, over stdio or HTTP."""
    seconds = server.get("timeout_s")
    settings: dict[str, Any] = {"id": server["server_id"]}
    if seconds is not None:
        settings |= {"init_timeout": seconds, "read_timeout": seconds}
    if "command" in server:
        env, args = server.get("env"), list(server.get("args") or [])
        return MCPToolset(StdioTransport(server["command"], args, env=env), **settings)
    return MCPToolset(server.get("url"), headers=server.get("headers"), **settings)
