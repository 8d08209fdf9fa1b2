"""The official SDK, `mcp`, used plainly: `async with Client(...)` and `list_tools()`, one by one.

Exercised: `Client` over `streamable_http_client` with an HTTP client of the caller's, which is how
the SDK takes headers, or over `StdioServerParameters`; `list_tools()` once.

Decided here: the loop over the servers, since `Client` knows one; a server's timeout is handed to
the HTTP client and to `read_timeout_seconds`; attempts and backoff are not handed on, the SDK has
no setting for them; further pages of tools are not asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def one(server: Mapping[str, Any], _asked: Mapping[str, Any]) -> Sequence[str]:
    """One server with a client of its own."""
    seconds = server.get("timeout_s")
    if "command" in server:
        own = {key: server[key] for key in ("command", "args", "env") if server.get(key)}
        return await listed(Client(StdioServerParameters(**own), read_timeout_seconds=seconds))
    limit = {} if seconds is None else {"timeout": seconds}
    async with httpx2.AsyncClient(headers=server.get("headers"), **limit) as http:
        transport = streamable_http_client(server.get("url", ""), http_client=http)
        return await listed(Client(transport, read_timeout_seconds=seconds))


async def listed(client: Client) -> Sequence[str]:
    """The names of the tools on the first page."""
    async with client:
        return [tool.name for tool in (await client.list_tools()).tools]
