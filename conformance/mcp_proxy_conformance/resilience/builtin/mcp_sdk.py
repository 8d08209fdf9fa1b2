"""Script of the builtin loader `mcp-sdk`: one server's tools, by the official SDK used plainly.

Exercised: `Client` over `streamable_http_client` with the caller's own HTTP client, through which
the SDK accepts headers, or over `StdioServerParameters`; `list_tools()` once.

Decided here: the loop over the servers, since `Client` handles one; a server's timeout is passed to
the HTTP client and to `read_timeout_seconds`; attempts and backoff are not passed, since the SDK
has no setting for them; further pages of tools are not requested.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


async def one(server: Mapping[str, Any], _request: Mapping[str, Any]) -> Sequence[str]:
    """Load one server, over stdio or HTTP, with a client of its own.

    Return the names of the tools on its first page. An exception of the library is raised.
    """
    seconds = server.get("timeout_s")
    if "command" in server:
        own = {key: server[key] for key in ("command", "args", "env") if server.get(key)}
        return await listed(Client(StdioServerParameters(**own), read_timeout_seconds=seconds))
    limit = {} if seconds is None else {"timeout": seconds}
    async with httpx2.AsyncClient(headers=server.get("headers"), **limit) as http:
        transport = streamable_http_client(server.get("url", ""), http_client=http)
        return await listed(Client(transport, read_timeout_seconds=seconds))


async def listed(client: Client) -> Sequence[str]:
    """Connect the client; return the names of the tools on its first page, then disconnect."""
    async with client:
        return [tool.name for tool in (await client.list_tools()).tools]
