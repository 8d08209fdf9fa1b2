"""The shim, a stdio process that speaks for a scripted server, and the official client on it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp.client import Client as StockClient
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.wire.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

TOOLS = [UpstreamTool(name=f"tool_{i}") for i in range(3)]


@pytest.fixture
def forge() -> Iterator[UpstreamServer]:
    """Yield a started server `forge` of three tools in pages of at most two."""
    with Upstreams(Transcript()) as upstreams:
        yield upstreams.add(UpstreamServer("forge", TOOLS, page_size=2))


class Shim:
    """The process of a stdio server, with which tests exchange lines."""

    def __init__(self, command: list[str]) -> None:
        """Start the command with pipes and an empty environment."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
        )

    def say(self, message: dict[str, Any]) -> None:
        """Send one JSON-RPC message as a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Wait for the next line of its output, without a limit, and return it as JSON."""
        assert self.process.stdout is not None
        heard: dict[str, Any] = json.loads(self.process.stdout.readline())
        return heard

    def end(self) -> tuple[int, bytes]:
        """Close its input and wait up to 5 s; return (exit code, error output)."""
        _, complaints = self.process.communicate(timeout=5)
        return self.process.returncode, complaints


def test_the_shim_speaks_for_the_server(forge: UpstreamServer) -> None:
    """Through its process a stdio server answers a handshake and a call, and announces a change.

    At the end of its input the process ends with 0, and nothing on its error output.
    """
    shim = Shim(forge.command)
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    shim.say({"id": 1, "method": "initialize", "params": params})
    opening = shim.hear()
    shim.say({"method": "notifications/initialized"})
    shim.say({"id": 2, "method": "tools/call", "params": {"name": "tool_1"}})
    called = shim.hear()
    forge.remove_tool("tool_0")
    notification = shim.hear()
    ended = shim.end()

    assert opening["result"]["capabilities"] == {"tools": {"listChanged": True}}
    assert called["result"]["content"] == [{"type": "text", "text": "ok tool_1"}]
    assert notification == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert ended == (0, b"")
    assert forge.calls("tool_1") == 1


def test_the_shim_ends_with_the_suite() -> None:
    """When its server closes, the process ends with 0 in 5 s, though its input is still open."""
    with Upstreams(Transcript()) as upstreams:
        server = upstreams.add(UpstreamServer("forge", TOOLS))
        shim = Shim(server.command)
        shim.say({"id": 1, "method": "ping"})
        shim.hear()

    assert shim.process.wait(timeout=5) == 0
    shim.end()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [([], 2), (["--connect", "nowhere"], 2), (["--connect", "127.0.0.1:1"], 3)],
)
def test_a_shim_without_a_suite_says_so(arguments: list[str], code: int) -> None:
    """Wrong arguments exit with 2, a port without the suite with 3; only stderr has words."""
    module = "mcp_proxy_conformance.upstream.stdio"
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, timeout=10, check=False
    )

    assert (process.returncode, process.stdout) == (code, b"")
    assert process.stderr


def test_the_shim_imports_next_to_nothing() -> None:
    """Importing the process's module loads neither asyncio, ssl, json nor http."""
    probe = (
        "import sys, mcp_proxy_conformance.upstream.stdio;"
        "print([m for m in ('asyncio', 'ssl', 'json', 'http') if m in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True)

    assert process.stdout.strip() == b"[]"


async def _tour(transport: Any) -> tuple[list[str], str]:
    """List all pages of tools and call `tool_2` with the official client.

    Return (names of the tools, text of the call's result).
    """
    async with StockClient(transport) as client:
        names, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                break
        called = await client.call_tool("tool_2", {})
        return names, called.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("eras", ["both", "handshake", "stateless"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_official_client_can_use_it(eras: Any, transport: str) -> None:
    """The official client lists three tools and calls one, over HTTP and stdio, in each era."""
    with Upstreams(Transcript()) as upstreams:
        server = upstreams.add(UpstreamServer("forge", TOOLS, page_size=2, eras=eras))
        command, *arguments = server.command
        stdio = StdioServerParameters(command=command, args=arguments)
        endpoint = server.url if transport == "http" else stdio_client(stdio)

        names, text = asyncio.run(_tour(endpoint))

    assert names == [tool.name for tool in TOOLS]
    assert text == "ok tool_2"
