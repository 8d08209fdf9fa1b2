"""`Hostile`, an MCP server with `ways` to harm a client; `Asked`, a request; sound answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.upstream.http import Listener

Json = Any
DESCRIPTION = "Find tools by what they do. With include_disabled, locked ones are listed as well."


@dataclass
class Asked:
    """One request to a hostile target, with methods that answer it, rightly or not."""

    verb: str
    path: str
    headers: Mapping[str, str]
    message: Json
    writer: asyncio.StreamWriter

    @property
    def method(self) -> str:
        """The JSON-RPC method of the message, empty when there is none."""
        return str(self.message.get("method", "")) if isinstance(self.message, dict) else ""

    async def send(self, raw: bytes) -> None:
        """Send these bytes unchanged, and wait until they can go."""
        self.writer.write(raw)
        await self.writer.drain()

    async def http(
        self, body: bytes, *more: str, status: str = "200 OK", media: str = "application/json"
    ) -> None:
        """Send a whole HTTP response with this body and its length.

        `more` are further header lines. By default it is 200 and JSON.
        """
        head = [f"HTTP/1.1 {status}", f"Content-Type: {media}", f"Content-Length: {len(body)}"]
        await self.send("\r\n".join([*head, *more, "", ""]).encode("utf-8") + body)

    async def result(self, result: Json) -> None:
        """Send an HTTP response with the JSON-RPC answer to the request that has this result."""
        await self.http(self.envelope(result))

    def envelope(self, result: Json, **members: Json) -> bytes:
        """Return the bytes of a JSON-RPC answer with this result to the request.

        `members` are replaced.
        """
        response = {"jsonrpc": "2.0", "id": self.message.get("id"), "result": result} | members
        return json.dumps(response).encode()

    async def begin(self, media: str = "text/event-stream", *more: str) -> None:
        """Send the head of a chunked 200, by default an event stream; the chunks are to follow.

        `more` are further header lines.
        """
        head = ["HTTP/1.1 200 OK", f"Content-Type: {media}", "Transfer-Encoding: chunked", *more]
        await self.send("\r\n".join([*head, "", ""]).encode())

    async def chunk(self, data: bytes) -> None:
        """Send one chunk of a chunked response."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def cut(self) -> None:
        """End the connection at once by a reset instead of a proper close."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Way = Callable[[Asked], Awaitable[None]]


@dataclass
class Hostile:
    """A target that is well-behaved but for its `ways`, by method, for `any`, or for `connect`.

    `tools` replaces the tools that it lists. Its URL has the scheme `scheme`; it speaks TLS itself
    if `tls` is set. `seen` has path and headers of each request, `port` its port once it is served.
    """

    ways: Mapping[str, Way]
    tools: Json = None
    scheme: str = "http"
    tls: bool = False
    seen: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    port: int = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends, then close it; a way for `connect` comes first."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if (way := self.ways.get("connect")) is not None:
                await way(Asked("", "", {}, {}, writer))
            while not writer.is_closing():
                await self.respond(await _request(reader, writer))
        writer.close()

    async def respond(self, request: Asked) -> None:
        """Record the request; answer a POST by its method's way or that for `any`.

        Without one, answer as a well-behaved MCP server; another verb gets a 405.
        """
        self.seen.append((request.path, request.headers))
        way = self.ways.get(request.method) or self.ways.get("any")
        if way is not None and request.verb == "POST":
            await way(request)
        elif request.verb != "POST":
            await request.http(b"", status="405 Method Not Allowed")
        elif request.method == "initialize":
            await request.result(welcome())
        elif request.method == "tools/list":
            await request.result({"tools": self.tools or listed()})
        elif request.method == "tools/call":
            await request.result(texted(discovered(request)))
        elif "id" in request.message:
            error = {"code": -32601, "message": "Method not found"}
            response = {"jsonrpc": "2.0", "id": request.message["id"], "error": error}
            await request.http(json.dumps(response).encode())
        else:
            await request.http(b"", status="202 Accepted")


async def _request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked:
    """Read one HTTP request from the connection; its header names are in lower case.

    A body that is missing, or is not a JSON object, counts as an empty message.
    """
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    verb, path, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    message = json.loads(body) if body else {}
    return Asked(verb, path, headers, message if isinstance(message, dict) else {}, writer)


@contextlib.contextmanager
def serving(target: Hostile) -> Iterator[str]:
    """Serve the target in a thread on a free port of the loopback; yield its URL.

    At the end the server and its connections are closed.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listener = Listener(target.handle, 1 << 20, _certified() if target.tls else None)
    asyncio.run_coroutine_threadsafe(listener.open("127.0.0.1"), loop).result(5)
    target.port = listener.port
    try:
        yield f"{target.scheme}://127.0.0.1:{target.port}/mcp"
    finally:
        asyncio.run_coroutine_threadsafe(listener.close(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


def _certified() -> ssl.SSLContext:
    """Return a TLS context with the tests' self-signed certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent / "tls" / "server.pem")
    return context


def welcome(**members: Json) -> Json:
    """Return the result of initialize, with members replaced."""
    info = {"name": "hostile", "version": "1"}
    return {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": info,
    } | members


def listed(**members: Json) -> Json:
    """Return the three tools of tools/list.

    `members` replace those of the discovery tool, the first.
    """
    properties = {
        "query": {"type": "string"},
        "limit": {"type": "integer"},
        "include_disabled": {"type": "boolean"},
    }
    schema = {"type": "object", "properties": properties, "required": ["query"]}
    discovery_tool = {"name": "retrieve_tools", "description": DESCRIPTION, "inputSchema": schema}
    others = [
        {"name": name, "description": "Another tool.", "inputSchema": {"type": "object"}}
        for name in ("call_tool_read", "upstream_servers")
    ]
    return [discovery_tool | members, *others]


def entry(name: str = "forge:list_repos", **members: Json) -> Json:
    """Return the entry of a callable tool of the server `forge`, with members replaced."""
    return {"name": name, "server": "forge", "description": "List repos.", "score": 1.0} | members


def locked(name: str = "forge:delete_repo", **members: Json) -> Json:
    """Return the entry of a config-denied tool of the server `forge`, with members replaced."""
    tool = {"name": name, "server": "forge", "description": "Delete a repo."}
    return tool | {"status": "disabled_by_config"} | members


def discovered(request: Asked) -> Json:
    """Return the document that answers a discovery call: one callable tool.

    With the flag true, it also has a locked tool and its remediation.
    """
    arguments = request.message.get("params", {}).get("arguments", {})
    document = {"query": arguments.get("query"), "tools": [entry()], "total": 1}
    if arguments.get("include_disabled") is True:
        document["disabled"] = [locked()]
        document["remediation"] = {"disabled_by_config": "The operator's config locks it: edit it."}
    return document


def texted(document: Json) -> Json:
    """Return the document as a tool's result: JSON in its one text item."""
    return {"content": [{"type": "text", "text": json.dumps(document)}]}
