"""Script of builtin loaders `langchain`, `langchain-each`: tools by `MultiServerMCPClient`.

Exercised: `MultiServerMCPClient(connections).get_tools()`, which its documentation shows for many
servers (`every`), and `get_tools(server_name=...)` (`one`).

Decided here: a server's timeout is passed to each setting that the library has for it, `timeout`
and `sse_read_timeout` of the transport and `read_timeout_seconds` of the session; without one the
library's defaults apply. Attempts and backoff are not passed: the library has no setting for them.
Since one list of tools comes back for all servers, `every` turns on `tool_name_prefix` and takes
the prefix off again; if two ids match, the longer one is used.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient


async def every(request: Mapping[str, Any]) -> Mapping[str, Sequence[str] | Exception]:
    """Load all servers in one call; return the names of its tools, without prefix, by server id.

    An exception of the library is returned in the place of every server's names, not raised.
    """
    connections = {server["server_id"]: connection(server) for server in request["servers"]}
    try:
        tools = await MultiServerMCPClient(connections, tool_name_prefix=True).get_tools()
    except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
        return dict.fromkeys(connections, error)
    tools_by_server: dict[str, list[str]] = {server_id: [] for server_id in connections}
    for tool in tools:
        owner = max((name for name in tools_by_server if tool.name.startswith(f"{name}_")), key=len)
        tools_by_server[owner].append(tool.name.removeprefix(f"{owner}_"))
    return tools_by_server


async def one(server: Mapping[str, Any], _request: Mapping[str, Any]) -> Sequence[str]:
    """Load one server in a call of its own; return the names of its tools.

    An exception of the library is raised.
    """
    client = MultiServerMCPClient({server["server_id"]: connection(server)})
    return [tool.name for tool in await client.get_tools(server_name=server["server_id"])]


def connection(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return a server of the request in the library's form, for stdio or HTTP.

    Its timeout goes to every setting for it.
    """
    seconds = server.get("timeout_s")
    made: dict[str, Any] = {}
    if seconds is not None:
        made["session_kwargs"] = {"read_timeout_seconds": timedelta(seconds=seconds)}
    if "command" in server:
        own = {"command": server["command"], "args": server.get("args") or []}
        return made | own | {"transport": "stdio", "env": server.get("env")}
    made |= {key: server[key] for key in ("url", "headers") if key in server}
    if seconds is not None:
        made |= {"timeout": seconds, "sse_read_timeout": seconds}
    return made | {"transport": server.get("transport") or "streamable_http"}
