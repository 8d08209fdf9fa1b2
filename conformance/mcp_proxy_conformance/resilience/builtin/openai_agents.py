"""Script of the builtin loader `openai-agents`: all servers' tools, by its `MCPServerManager`.

Exercised: `async with MCPServerManager(servers) as manager`, with its defaults (one server after
another, failed ones dropped and kept in `manager.errors`), then `server.list_tools()` of each of
`manager.active_servers`.

Decided here: a server's timeout is passed to each setting that the library has for it, `timeout`
and `sse_read_timeout` of the transport and `client_session_timeout_seconds`; the manager has one
`connect_timeout_seconds` for all, which gets the longest. Attempts and backoff go to
`max_retry_attempts` (a count of repeats) and `retry_backoff_seconds_base`, with which the library
repeats a listing, never a connection. The manager does not list, so a listing that raises is caught
here and is that server's failure.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agents.mcp import MCPServerManager, MCPServerStdio, MCPServerStreamableHttp


async def every(request: Mapping[str, Any]) -> Mapping[str, Sequence[str] | BaseException]:
    """Load all servers under one manager; return, by server id, its tools' names or its exception.

    An invalid description of one server is the exception of them all; none is raised.
    """
    try:
        servers = [server_of(server, request) for server in request["servers"]]
    except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
        return dict.fromkeys((server["server_id"] for server in request["servers"]), error)
    longest = max((server.get("timeout_s") or 0.0 for server in request["servers"]), default=0.0)
    limit = {"connect_timeout_seconds": longest} if longest else {}
    results: dict[str, Sequence[str] | BaseException] = {}
    async with MCPServerManager(servers, **limit) as manager:
        results |= {server.name: error for server, error in manager.errors.items()}
        for server in manager.active_servers:
            try:
                results[server.name] = [tool.name for tool in await server.list_tools()]
            except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer
                results[server.name] = error
    return results


def server_of(server: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
    """Return a server of the request in the library's form: stdio or HTTP, timeouts, repeats."""
    seconds = server.get("timeout_s")
    settings: dict[str, Any] = {
        "name": server["server_id"],
        "max_retry_attempts": request.get("max_attempts", 1) - 1,
        "retry_backoff_seconds_base": request.get("base_backoff_s", 1.0),
    }
    if seconds is not None:
        settings["client_session_timeout_seconds"] = seconds
    if "command" in server:
        params = {key: server[key] for key in ("command", "args", "env") if server.get(key)}
        return MCPServerStdio(params, **settings)
    params = {key: server[key] for key in ("url", "headers") if key in server}
    if seconds is not None:
        params |= {"timeout": seconds, "sse_read_timeout": seconds}
    return MCPServerStreamableHttp(params, **settings)
