"""A server between client and target that rewrites answers: faults for any target."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.target.adapter import Access, Adapter, Target, Upstream
from mcp_proxy_conformance.world import LockKind, World

Json = Any
KEPT = ("content-type", "mcp-session-id", "www-authenticate", "location")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and what a rewriting fault may know of it.

    `method` of JSON-RPC; `tool` and `arguments` of a `tools/call`, else empty; `agent` is the
    credential that came with it, if any; `memory` lives as long as the started target, and
    `send` asks the target itself something in the same session: a method and its params.
    """

    method: str
    tool: str
    arguments: Mapping[str, Json]
    agent: str
    memory: dict[str, Any]
    send: Callable[[str, Json], Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFault:
    """A fault on the wire: `breaks` as of a fault of the reference.

    `document` rewrites the JSON document of a built-in tool's answer, `result` the result of any
    answer; each gets a copy it may change, and returns what is sent (None: as it came). `spelled`
    rewrites the text of the tool's answer, byte for byte.
    """

    id: str
    text: str
    breaks: tuple[str, ...]
    document: Callable[[Exchange, Json], Json | None] | None = None
    result: Callable[[Exchange, Json], Json | None] | None = None
    spelled: Callable[[Exchange, str], str] | None = None
    before: Callable[[Exchange], None] | None = None


def rewritten(fault: WireFault, exchange: Exchange, body: bytes) -> bytes:
    """The body of one JSON answer with the fault in it; the very bytes where it has none."""
    answer = json.loads(body)
    result = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(result, dict):
        return body
    changed = _changed(fault, exchange, result)
    if changed is None:
        return body
    return json.dumps(answer | {"result": changed}, separators=(",", ":")).encode()


def _changed(fault: WireFault, exchange: Exchange, result: dict[str, Json]) -> Json | None:
    if fault.result is not None:
        return fault.result(exchange, json.loads(json.dumps(result)))
    content = result.get("content")
    if exchange.method != "tools/call" or not isinstance(content, list) or len(content) != 1:
        return None
    told = content[0].get("text")
    again = None if not isinstance(told, str) else _retold(fault, exchange, told)
    if again is None or again == told:
        return None
    return result | {"content": [content[0] | {"text": again}]}


def _retold(fault: WireFault, exchange: Exchange, told: str) -> str | None:
    if fault.spelled is not None:
        return fault.spelled(exchange, told)
    if fault.document is None:
        return None
    try:
        document = json.loads(told)
    except ValueError:
        return None
    changed = fault.document(exchange, document) if isinstance(document, dict) else None
    if changed is None:
        return None
    return json.dumps(changed, ensure_ascii=False, separators=(",", ":"))


def rewriting(target: Target, fault: WireFault) -> Target:
    """The target with that fault in front of each of its instances."""
    return replace(target, make=lambda: RewritingAdapter(target.make(), fault))


class RewritingAdapter:
    """An adapter whose target is reached through a rewriting server; all else is its own."""

    def __init__(self, inner: Adapter, fault: WireFault) -> None:
        """Nothing is started yet."""
        self._inner = inner
        self._fault = fault
        self._servers: list[ThreadingHTTPServer] = []
        self._memory: dict[str, Any] = {}

    def start(self, world: World, upstreams: Mapping[str, Upstream], folder: Path) -> Access:
        """Start the target and the server before it."""
        return self._behind(self._inner.start(world, upstreams, folder))

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """As of the target."""
        return self._moved(self._inner.lock(kind, server, tools))

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """As of the target."""
        return self._moved(self._inner.unlock(kind, server, tools))

    def restart(self) -> Access | None:
        """As of the target."""
        return self._moved(self._inner.restart())

    def refresh(self, server: str) -> Access | None:
        """As of the target."""
        return self._moved(self._inner.refresh(server))

    def counter(self) -> int:
        """As of the target."""
        return self._inner.counter()

    def indeterminate(self, server: str, tools: Sequence[str], *, on: bool) -> Access | None:
        """As of the target."""
        return self._moved(self._inner.indeterminate(server, tools, on=on))

    def alive(self) -> bool:
        """As of the target."""
        return self._inner.alive()

    def log(self) -> str:
        """As of the target."""
        return self._inner.log()

    def stop(self) -> None:
        """End the server, then the target."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._inner.stop()

    def _moved(self, access: Access | None) -> Access | None:
        return None if access is None else self._behind(access)

    def _behind(self, access: Access) -> Access:
        parts = urlsplit(access.url)
        handler = _handler(self._fault, parts.hostname or "", parts.port or 80, self._memory)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._servers.append(server)
        url = f"http://127.0.0.1:{server.server_address[1]}{parts.path}"
        return replace(access, url=url, stdio=None)


@dataclass(slots=True)
class _Way:
    """A kept connection to the target."""

    host: str
    port: int
    link: http.client.HTTPConnection | None = field(default=None)

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        if self.link is None:
            self.link = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            self.link.request(method, path, body or None, dict(headers))
            return self.link.getresponse()
        except (OSError, http.client.HTTPException):
            self.link.close()
            self.link.request(method, path, body or None, dict(headers))
            return self.link.getresponse()


def _handler(
    fault: WireFault, host: str, port: int, memory: dict[str, Any]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            self.way = _Way(host, port)

        def do_POST(self) -> None:
            self._pass()

        do_DELETE = do_GET = do_POST  # noqa: N815

        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {n: v for n, v in self.headers.items() if n.lower() not in HOP}
            exchange = self._exchange(body, headers)
            if exchange is not None and fault.before is not None:
                fault.before(exchange)
            answer = self.way.send(self.command, self.path, body, headers)
            told = answer.read()
            kind = (answer.getheader("content-type") or "").partition(";")[0]
            if exchange is not None and kind == "application/json" and told:
                with contextlib.suppress(ValueError):
                    told = rewritten(fault, exchange, told)
            elif exchange is not None and kind == "text/event-stream":
                told = _events(fault, exchange, told)
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() in KEPT:
                    self.send_header(name, value)
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)
            self.wfile.flush()

        def _exchange(self, body: bytes, headers: Mapping[str, str]) -> Exchange | None:
            try:
                request = json.loads(body)
                params = request.get("params") or {}
                method = request["method"]
            except (ValueError, KeyError, AttributeError):
                return None
            called = method == "tools/call"

            def send(inner: str, told: Json) -> Json:
                raw = json.dumps({"jsonrpc": "2.0", "id": 1, "method": inner, "params": told})
                answer = _Way(host, port).send("POST", self.path, raw.encode(), headers)
                return json.loads(answer.read()).get("result")

            return Exchange(
                method=method,
                tool=str(params.get("name", "")) if called else "",
                arguments=(params.get("arguments") or {}) if called else {},
                agent=headers.get("Authorization", headers.get("authorization", "")),
                memory=memory,
                send=send,
            )

        def log_message(self, *_: object) -> None:
            pass

    return Handler


HOP = frozenset({"host", "content-length", "connection", "accept-encoding"})


def _events(fault: WireFault, exchange: Exchange, body: bytes) -> bytes:
    """A stream whose data lines are rewritten one by one."""
    lines = body.split(b"\n")
    for place, line in enumerate(lines):
        if line.startswith(b"data:") and b'"result"' in line:
            with contextlib.suppress(ValueError):
                lines[place] = b"data: " + rewritten(fault, exchange, line[5:].strip())
    return b"\n".join(lines)
