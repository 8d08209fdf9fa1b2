"""Connections to a live endpoint: redirects, certificates, HTTP proxies, scope of credentials."""

from __future__ import annotations

import base64
import contextlib
import http.client
import http.server
import json
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.cli import main

TLS = Path(__file__).parents[1] / "tls"
JSON = {"Content-Type": "application/json"}
KEY = "canary-4711-redirect"
Response = tuple[int, dict[str, str], bytes]


@dataclass
class Web:
    """A web server, and the requests that it received, each as (method, path, headers)."""

    url: str = ""
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def web(respond: Callable[[str, dict[str, Any]], Response], *, tls: bool = False) -> Iterator[Web]:
    """Serve on 127.0.0.1 the (status, headers, body) that `respond(path, message)` returns.

    Yield a Web. `tls` is over a self-signed certificate. A CONNECT is answered like any request: no
    tunnel.
    """
    record = Web()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Record the request, of whatever method, and send the response of `respond`."""
            record.seen.append((self.command, self.path, dict(self.headers.items())))
            message = json.loads(
                self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}"
            )
            status, headers, body = respond(self.path, message)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_DELETE = do_CONNECT = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Discard the line that the server would log."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    record.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        yield record
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plain(_: str, message: dict[str, Any]) -> Response:
    """Return the response of an MCP server that shakes hands and lists one tool, `add`.

    Any request but `initialize` gets the list, a notification a 202.
    """
    if "id" not in message:
        return 202, {}, b""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    result = opening if message["method"] == "initialize" else {"tools": [{"name": "add"}]}
    body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return 200, JSON, json.dumps(body).encode()


def to(place: str, status: int = 307) -> Callable[[str, dict[str, Any]], Response]:
    """Return a `respond` of an MCP server at the path `place`.

    Any other path is redirected to `place` with this status.
    """
    return lambda path, message: (
        plain(path, message) if path == place else (status, {"Location": place}, b"")
    )


def look(url: str, *options: str) -> Result:
    """Run `run endpoint` on the URL with KEY in X-Api-Key and these options; return its result."""
    with tempfile.TemporaryDirectory() as out:
        header = ["--header", f"X-Api-Key: {KEY}", "--rate", "10000"]
        command = ["run", "endpoint", "--url", url, "--out", out, *header, *options]
        return CliRunner().invoke(main, command)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_within_the_origin_is_followed(status: int) -> None:
    """A redirect to another path is followed once; the three later requests go straight there.

    All four carry the credential.
    """
    with web(to("/there/mcp?x=1", status)) as server:
        result = look(server.url)

    paths = [path for _, path, _ in server.seen]
    assert (result.exit_code, "(tools: add)" in result.stdout) == (4, True)
    assert paths == ["/mcp", *["/there/mcp?x=1"] * 3]
    assert {headers["X-Api-Key"] for *_, headers in server.seen} == {KEY}


def test_a_credential_never_goes_to_another_origin() -> None:
    """A redirect to another server is not followed: exit 3 with its URL.

    That server gets no request.
    """
    with web(plain) as other, web(to(other.url)) as server:
        result = look(server.url)

    assert (result.exit_code, other.seen) == (3, [])
    assert f"redirects to {other.url} (HTTP 307), which is not followed" in result.stdout


@pytest.mark.parametrize("place", ["http://{}:1/mcp", "https://{}/mcp", "//evil.test/mcp"])
def test_another_port_or_scheme_is_another_origin(place: str) -> None:
    """A redirect to another port, scheme or host is not followed; exit 3 says so."""
    with web(to(place.format("127.0.0.1"))) as server:
        result = look(server.url)

    assert (result.exit_code, "which is not followed" in result.stdout) == (3, True)
    assert {path for _, path, _ in server.seen} == {"/mcp"}


def test_a_certificate_is_verified_unless_an_option_forbids_it() -> None:
    """An endpoint with a self-signed certificate is refused, exit 3.

    With --insecure, or that certificate by --ca, its tools are listed, exit 4.
    """
    with web(plain, tls=True) as server:
        refused = look(server.url)
        taken = look(server.url, "--insecure")
        known = look(server.url, "--ca", str(TLS / "certificate.pem"))

    assert (refused.exit_code, "certificate is not trusted" in refused.stdout) == (3, True)
    assert [(result.exit_code, "(tools: add)" in result.stdout) for result in (taken, known)] == [
        (4, True),
        (4, True),
    ]


def test_a_file_that_holds_no_certificate_is_reported(tmp_path: Path) -> None:
    """`--ca` with a missing file, or one without a certificate, exits with 2 and its repair."""
    (tmp_path / "none.pem").write_text("nothing", encoding="utf-8")

    results = [
        look("https://127.0.0.1:1/mcp", "--ca", str(tmp_path / n)) for n in ("none.pem", "x")
    ]

    assert [result.exit_code for result in results] == [2, 2]
    assert all("name a file of certificates" in result.output for result in results)


def test_a_proxy_is_used_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment is used only with --use-proxy, and gets its user and password.

    The password is not printed.
    """
    secret = base64.b64encode(b"me:canary-of-the-proxy").decode()

    def forward(path: str, message: dict[str, Any]) -> Response:
        """Send the message on to the server in the request's URL; return its response."""
        parts = urlsplit(path)
        link = http.client.HTTPConnection(parts.hostname or "", parts.port or 80)
        link.request("POST", parts.path, json.dumps(message), JSON)
        answer = link.getresponse()
        return (
            answer.status,
            {"Content-Type": answer.getheader("Content-Type") or ""},
            answer.read(),
        )

    with web(plain) as server, web(forward) as proxy:
        place = proxy.url.replace("http://", "http://me:canary-of-the-proxy@")
        monkeypatch.setenv("http_proxy", place.removesuffix("/mcp"))
        monkeypatch.setenv("no_proxy", "")
        direct = look(server.url)
        before = len(proxy.seen)
        through = look(server.url, "--use-proxy")

    requests = {(path, headers.get("Proxy-Authorization")) for _, path, headers in proxy.seen}
    assert [direct.exit_code, before, through.exit_code] == [4, 0, 4]
    assert requests == {(server.url, f"Basic {secret}")}
    assert "canary-of-the-proxy" not in through.output


def test_a_proxy_that_opens_no_tunnel_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that refuses CONNECT with 403 ends the run with 3, blamed on the proxy.

    It gets no other request.
    """
    with web(lambda *_: (403, {}, b"")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        result = look("https://127.0.0.1:1/mcp", "--use-proxy")

    assert [(method, path) for method, path, _ in proxy.seen] == [("CONNECT", "127.0.0.1:1")]
    assert (result.exit_code, "the proxy refuses to connect (HTTP 403)" in result.stdout) == (
        3,
        True,
    )


def test_a_proxy_that_speaks_no_http_is_not_taken_for_the_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A proxy that answers in no HTTP ends the run with 3, blamed on the proxy."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        threading.Thread(target=_greet, args=(proxy,), daemon=True).start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        result = look("https://127.0.0.1:1/mcp", "--use-proxy")

    assert (result.exit_code, "the proxy sent no whole HTTP response" in result.stdout) == (3, True)


def _greet(server: socket.socket) -> None:
    """Answer each connection with a line that is not HTTP, until the server is closed."""
    with contextlib.suppress(OSError):
        while True:
            with server.accept()[0] as client:
                client.recv(1 << 16)
                client.sendall(b"220 mail\r\n")
