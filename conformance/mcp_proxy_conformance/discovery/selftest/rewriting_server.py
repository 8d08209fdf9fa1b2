"""Adapter that puts a rewriting server before a target: a wire mutant changes its answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.catalogue.surface import Surface
from mcp_proxy_conformance.catalogue.world import LockKind, World
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault, dump
from mcp_proxy_conformance.discovery.selftest.rewritten_body import events_rewritten, rewritten
from mcp_proxy_conformance.discovery.targets.adapter import (
    Access,
    Adapter,
    ProxyTarget,
    UpstreamAddress,
)

__all__ = ["RewritingAdapter", "WireExchange", "WireFault", "rewriting"]

KEPT = ("content-type", "mcp-session-id", "www-authenticate", "location")


def rewriting(target: ProxyTarget, *, fault: WireFault) -> ProxyTarget:
    """Return a copy of the target, each of whose instances has the wire mutant in front."""
    return replace(target, make=lambda: RewritingAdapter(target.make(), fault, target.surface))


class RewritingAdapter:
    """Adapter that puts a rewriting server in front of the target of another adapter."""

    def __init__(self, inner: Adapter, fault: WireFault, surface: Surface) -> None:
        """Wrap the target's adapter `inner`; start nothing yet."""
        self._inner = inner
        self._fault = fault
        self._surface = surface
        self._servers: list[ThreadingHTTPServer] = []
        self._memory: dict[Any, Any] = {}

    def start(self, world: World, upstreams: Mapping[str, UpstreamAddress], folder: Path) -> Access:
        """Start the target and a rewriting server in front of it; return the server's access."""
        return self._behind(self._inner.start(world, upstreams, folder))

    def lock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Set the lock by the target's adapter; return a new rewriting server's access if it moved.

        None if the access stays the same.
        """
        return self._moved(self._inner.lock(kind, server, tools))

    def unlock(self, kind: LockKind, server: str, tools: Sequence[str]) -> Access | None:
        """Remove the lock by the target's adapter; return a new rewriting server's access if moved.

        None if the access stays the same.
        """
        return self._moved(self._inner.unlock(kind, server, tools))

    def restart(self) -> Access | None:
        """Restart the target; return the access of a new rewriting server if its address changed.

        None if the access stays the same.
        """
        return self._moved(self._inner.restart())

    def refresh(self, server: str) -> Access | None:
        """Have the target list its upstream server `server` again.

        Return the access of a new rewriting server if the target's access changed, else
        None.
        """
        return self._moved(self._inner.refresh(server))

    def counter(self) -> int:
        """Return the counter of the target's adapter."""
        return self._inner.counter()

    def indeterminate(self, server: str, tools: Sequence[str], *, on: bool) -> Access | None:
        """Make the reason of these tools' locks unknown (`on`) or known again, by inner adapter.

        Return the access of a new rewriting server if the target's access changed, else None.
        """
        return self._moved(self._inner.indeterminate(server, tools, on=on))

    def alive(self) -> bool:
        """Whether the target still runs, by its adapter."""
        return self._inner.alive()

    def log(self) -> str:
        """Return the log of the target's adapter."""
        return self._inner.log()

    def stop(self) -> None:
        """Stop all rewriting servers, then the target."""
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._inner.stop()

    def _moved(self, access: Access | None) -> Access | None:
        """Start a rewriting server in front of this access and return its own; None for None."""
        return None if access is None else self._behind(access)

    def _behind(self, access: Access) -> Access:
        """Start a rewriting server, on a free port, in front of this access.

        Return the access with the server's URL and without stdio.
        """
        parts = urlsplit(access.url)
        place = _Place(parts.hostname or "", parts.port or 80, self._surface, access.agents)
        handler = _handler(self._fault, place, self._memory)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self._servers.append(server)
        url = f"http://127.0.0.1:{server.server_address[1]}{parts.path}"
        return replace(access, url=url, stdio=None)


@dataclass(frozen=True, slots=True)
class _Place:
    """The target behind a rewriting server: its address, surface and agents' credentials."""

    host: str
    port: int
    surface: Surface
    agents: Mapping[str, Mapping[str, str]]

    def agent(self, headers: Mapping[str, str]) -> str:
        """Return the first agent all of whose credentials are sent, empty for the administrator.

        Names of headers match in any case; an agent without credentials never matches.
        """
        sent = {name.lower(): value for name, value in headers.items()}
        for agent, own in self.agents.items():
            if own and all(sent.get(name.lower()) == value for name, value in own.items()):
                return agent
        return ""


@dataclass(slots=True)
class _TargetConnection:
    """A kept connection to the target, opened again after a failed request."""

    place: _Place
    link: http.client.HTTPConnection | None = field(default=None)

    def send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Any:
        """Send a request and return the response, its body unread.

        The first request opens the connection. If a request gets no response (30 s at most are
        waited), it is sent once more on a new connection; a second failure is raised.
        """
        if self.link is None:
            self.link = http.client.HTTPConnection(self.place.host, self.place.port, timeout=30)
        try:
            self.link.request(method, path, body or None, dict(headers))
            return self.link.getresponse()
        except (OSError, http.client.HTTPException):
            self.link.close()
            self.link.request(method, path, body or None, dict(headers))
            return self.link.getresponse()

    def close(self) -> None:
        """Close the connection, if one was opened."""
        if self.link is not None:
            self.link.close()


def _handler(
    fault: WireFault, place: _Place, memory: dict[Any, Any]
) -> type[BaseHTTPRequestHandler]:
    """Return the HTTP handler of a rewriting server: it passes requests on and changes answers.

    It takes POST, GET and DELETE; `memory` is shared by all exchanges.
    """

    class Handler(BaseHTTPRequestHandler):
        """Passes each request on, by one kept connection to the target for each of the client's."""

        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            """Prepare the client's connection, and one to the target that opens with a request."""
            super().setup()
            self.way = _TargetConnection(place)

        def finish(self) -> None:
            """Close the client's connection and the one to the target."""
            super().finish()
            self.way.close()

        def do_POST(self) -> None:
            """Pass a POST, GET or DELETE request on, or answer it as the mutant does."""
            self._pass()

        do_DELETE = do_GET = do_POST  # noqa: N815

        def _pass(self) -> None:
            """Answer by the mutant's `instead` or `unread`, else as the target does, rewritten.

            Only JSON answers and event streams to JSON-RPC requests are rewritten; only headers in
            KEPT are passed back.
            """
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {n: v for n, v in self.headers.items() if n.lower() not in HOP}
            exchange, number = self._exchange(body, headers)
            if exchange is not None and fault.instead is not None:
                result = fault.instead(exchange)
                if result is not None:
                    made = {"jsonrpc": "2.0", "id": number, "result": result}
                    typed = [("content-type", "application/json")]
                    self._answer(200, typed, dump(made).encode("utf-8", "replace"))
                    return
            if exchange is None and fault.unread is not None and self.command == "POST":
                made_up = fault.unread(body)
                if made_up is not None:
                    self._answer(made_up[0], [("content-type", made_up[1])], made_up[2])
                    return
            answer = self.way.send(self.command, self.path, body, headers)
            content = answer.read()
            kind = (answer.getheader("content-type") or "").partition(";")[0]
            if exchange is not None and kind == "application/json" and content:
                with contextlib.suppress(ValueError):
                    content = rewritten(fault, exchange, content)
            elif exchange is not None and kind == "text/event-stream":
                content = events_rewritten(fault, exchange, content)
            kept = [(n, v) for n, v in answer.getheaders() if n.lower() in KEPT]
            self._answer(answer.status, kept, content)

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            """Send a response with this status, these headers and this body to the client."""
            self.send_response_only(status)
            for name, value in (*headers, ("content-length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def _exchange(
            self, body: bytes, headers: Mapping[str, str]
        ) -> tuple[WireExchange | None, Json]:
            """Return (exchange, id) of a JSON-RPC request; (None, None) for a body that is not one.

            It needs a method and an id; params that are not an object count as none.
            """
            try:
                request = json.loads(body)
                method, params, number = request["method"], request.get("params"), request["id"]
            except (ValueError, KeyError, TypeError, RecursionError):
                return None, None
            params = params if isinstance(params, dict) else {}

            def send(inner: str, own: Json) -> Json:
                """Send a mutant's own request with the `_meta` of the client's; return its result.

                None without a result.
                """
                whole = {"_meta": params["_meta"], **own} if "_meta" in params else own
                return _own_request(place, self.path, inner, whole, headers)

            made = WireExchange(
                method=str(method),
                params=params,
                path=self.path,
                agent=place.agent(headers),
                surface=place.surface,
                memory=memory,
                send=send,
            )
            return made, number

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


HOP = frozenset({"host", "content-length", "connection", "accept-encoding"})


def _own_request(
    place: _Place, path: str, method: str, params: Json, headers: Mapping[str, str]
) -> Json:
    """Send a mutant's own JSON-RPC request with the client's headers, on a new connection.

    Of these, `mcp-method` and `mcp-name` are set to the request's own values. Return the first
    result in its answer, None without one.
    """
    routed = {"mcp-method": method, "mcp-name": str(params.get("name", ""))}
    sent = {n: routed.get(n.lower(), v) for n, v in headers.items()}
    raw = dump({"jsonrpc": "2.0", "id": "own", "method": method, "params": params}).encode()
    with contextlib.closing(_TargetConnection(place)) as way:
        answer = way.send("POST", path, raw, sent)
        kind, body = answer.getheader("content-type") or "", answer.read()
    lines = body.split(b"\n") if kind.startswith("text/event-stream") else [b"data:" + body]
    for line in lines:
        with contextlib.suppress(ValueError):
            message = json.loads(line.removeprefix(b"data:")) if line[:5] == b"data:" else None
            if isinstance(message, dict) and "result" in message:
                return message["result"]
    return None
