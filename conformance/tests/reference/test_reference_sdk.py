"""The reference as a process: used by the official client, ended, misconfigured, asked badly."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

REFERENCE = Path(__file__).parents[3] / "reference"
UPSTREAM = """
import json, sys
schema = {"type": "object"}
tools = [{"name": "zebra_ride", "description": "Ride a zebra", "inputSchema": schema}]
fixed = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}},
    "tools/list": {"tools": tools},
    "tools/call": {"content": [{"type": "text", "text": "called"}]},
}
def write(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        write({"id": message["id"], "result": fixed[message["method"]]})
    if message["method"] == "tools/call":
        tools.append({"name": "zebra_feed", "description": "New", "inputSchema": schema})
        write({"method": "notifications/tools/list_changed"})
"""
RETRIEVE = {"method": "tools/call", "params": {"name": "retrieve_tools"}}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write a config file with one upstream over stdio, which gains a tool when it is called.

    Return its path.
    """
    upstream = {"name": "zoo", "command": sys.executable, "args": ["-c", UPSTREAM]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"api_key": "K", "mcpServers": [upstream]}), encoding="utf-8")
    return path


def _command(config: Path, listen: str = "127.0.0.1:0") -> list[str]:
    """Return the command line that serves this config at `listen`, by default a free port."""
    flags = [f"--config={config}", "--data-dir", str(config.parent), f"--listen={listen}"]
    more = ["--enable-socket=false", "--log-level=warn"]
    return [sys.executable, "-m", "mcp_proxy_reference", "serve", *flags, *more]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REFERENCE)}


@contextmanager
def _running(config: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Start a proxy with this config; yield (its process, its URL), once it has printed that.

    It is terminated afterwards.
    """
    with subprocess.Popen(_command(config), env=ENVIRONMENT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process, json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


async def _found(client: Client, **arguments: Any) -> dict[str, Any]:
    """Search for `zebra` until tools are found, with arguments until locked ones are, too.

    Return that answer's document. The caller has to limit the time.
    """
    while True:
        result = await client.call_tool("retrieve_tools", {"query": "zebra", **arguments})
        assert result.content[0].type == "text"
        document: dict[str, Any] = json.loads(result.content[0].text)
        if document["tools"] and ("disabled" in document or not arguments):
            return document


async def _use(client: Client) -> None:
    """List, search and call by the client; the tool that appears at the call is pending."""
    names = [tool.name for tool in (await client.list_tools()).tools]
    before = await _found(client)
    call = {"name": "zoo:zebra_ride", "args_json": "{}"}
    called = await client.call_tool("call_tool_read", call)
    after = await _found(client, include_disabled=True)

    assert "retrieve_tools" in names
    assert [entry["name"] for entry in before["tools"]] == ["zoo:zebra_ride"]
    assert called.content[0].type == "text"
    assert called.content[0].text == "called"
    assert after["disabled"] == [
        {"name": "zoo:zebra_feed", "server": "zoo", "status": "pending_approval"}
    ]


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_stock_client_uses_the_proxy_over_http(config: Path, mode: str) -> None:
    """The official client lists, searches and calls the proxy over HTTP, in both eras."""

    async def session(url: str) -> None:
        """Use the proxy at this URL with the official client."""
        async with asyncio.timeout(20), Client(url, mode=mode) as client:
            await _use(client)

    with _running(config) as (_, url):
        asyncio.run(session(url))


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_stock_client_uses_the_proxy_over_stdio(config: Path, mode: str) -> None:
    """The official client lists, searches and calls the proxy over stdio."""

    async def session() -> None:
        """Start the proxy over stdio with the official client, and use it."""
        program, *arguments = _command(config, ":0")
        server = StdioServerParameters(command=program, args=arguments, env=ENVIRONMENT)
        async with asyncio.timeout(20), Client(stdio_client(server), mode=mode) as client:
            await _use(client)

    asyncio.run(session())


def test_a_broken_configuration_changes_nothing(config: Path) -> None:
    """A deny list that is written at run time locks a tool; a file that breaks leaves it locked."""
    denying = json.loads(config.read_text(encoding="utf-8"))
    denying["mcpServers"][0]["disabled_tools"] = ["zebra_ride"]

    async def session(url: str) -> None:
        async with asyncio.timeout(20), Client(url) as client:
            await _found(client)
            for text in (json.dumps(denying), "{"):
                await asyncio.to_thread(config.write_text, text)
                call = {"name": "zoo:zebra_ride", "args_json": "{}"}
                assert "operator policy" in str(await client.call_tool("call_tool_read", call))

    with _running(config) as (_, url):
        asyncio.run(session(url))


def test_a_terminated_proxy_ends_cleanly_and_with_its_children(config: Path) -> None:
    """A proxy that has printed its URL is ready; SIGTERM ends it with 0 within 5 s."""
    with _running(config) as (process, url):
        with urllib.request.urlopen(url.replace("/mcp", "/readyz")) as answer:  # noqa: S310
            ready = json.load(answer)
        process.send_signal(signal.SIGTERM)

        assert ready == {"ready": True}
        assert process.wait(5) == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "JSON"),
        ('{"mcpServers": {}}', "mcpServers"),
        ('{"mcpServers": [{"name": "a", "enabled": 1}]}', "mcpServers[0].enabled"),
        (
            '{"mcpServers": [{"name": "a", "disabled_tools": ["x"], "enabled_tools": ["y"]}]}',
            "excl",
        ),
        ('{"listen": "192.0.2.1:80"}', "loopback"),
    ],
)
def test_an_unusable_configuration_is_reported_in_one_sentence(
    config: Path, text: str, word: str
) -> None:
    """An unusable config, or a `listen` that is not loopback, ends the proxy with exit 2.

    It prints one line on standard error, which names the fault.
    """
    config.write_text(text, encoding="utf-8")
    listen = [] if "listen" in text else ["--listen=127.0.0.1:0"]
    base = [sys.executable, "-m", "mcp_proxy_reference", "serve", "--config", str(config)]
    ended = subprocess.run([*base, *listen], env=ENVIRONMENT, capture_output=True, check=False)

    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.decode().count("\n") == 1
    assert word in ended.stderr.decode()


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (400, {}, b"{"),
        (400, {}, b"[]"),
        (404, {}, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
        (404, {"mcp-session-id": "made-up"}, b'{"jsonrpc":"2.0","id":1,"method":"ping"}'),
        (415, {"content-type": "text/plain"}, b"{}"),
        (403, {"origin": "https://elsewhere.example"}, b"{}"),
        (400, {"mcp-protocol-version": "1999-01-01"}, b'{"jsonrpc":"2.0","id":1,"method":"x"}'),
        (405, {"method": "GET"}, b""),
    ],
)
def test_a_malformed_request_is_refused_by_its_kind(
    config: Path, status: int, headers: dict[str, str], body: bytes
) -> None:
    """A malformed HTTP request gets the status of its fault, and JSON with `error`.

    There is no traceback in it.
    """
    method = headers.get("method", "POST")
    headers = {"content-type": "application/json", **headers}
    with _running(config) as (_, url):
        request = urllib.request.Request(url, body, headers, method=method)  # noqa: S310
        with pytest.raises(urllib.request.HTTPError) as refused:
            urllib.request.urlopen(request)  # noqa: S310
        with refused.value as answer:
            text = answer.read().decode()

    assert refused.value.code == status
    assert "Traceback" not in text
    assert "error" in json.loads(text)
