"""The way to a live endpoint: redirects, certificates, proxies; and where credentials never go."""

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
Told = tuple[int, dict[str, str], bytes]


@dataclass
class Web:
    """A web server, and the requests that it has seen: method, path, headers."""

    url: str = ""
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def web(tell: Callable[[str, dict[str, Any]], Told], *, tls: bool = False) -> Iterator[Web]:
    """Answers what `tell` makes of a path and a message; a CONNECT opens a tunnel to nowhere."""
    found = Web()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.seen.append((self.command, self.path, dict(self.headers.items())))
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            status, headers, body = tell(self.path, asked)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_DELETE = do_CONNECT = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    found.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def plain(_: str, asked: dict[str, Any]) -> Told:
    """A server that shakes hands and offers one tool."""
    if "id" not in asked:
        return 202, {}, b""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    result = opening if asked["method"] == "initialize" else {"tools": [{"name": "add"}]}
    body = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
    return 200, JSON, json.dumps(body).encode()


def to(place: str, status: int = 307) -> Callable[[str, dict[str, Any]], Told]:
    """A server that sends everybody elsewhere, unless they are there already."""
    return lambda path, asked: (
        plain(path, asked) if path == place else (status, {"Location": place}, b"")
    )


def look(url: str, *options: str) -> Result:
    """Run the command with a credential."""
    with tempfile.TemporaryDirectory() as out:
        header = ["--header", f"X-Api-Key: {KEY}", "--rate", "10000"]
        command = ["run", "endpoint", "--url", url, "--out", out, *header, *options]
        return CliRunner().invoke(main, command)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_within_the_origin_is_followed(status: int) -> None:
    """With the credential, and later requests go straight there."""
    with web(to("/there/mcp?x=1", status)) as server:
        found = look(server.url)

    paths = [path for _, path, _ in server.seen]
    assert (found.exit_code, "(tools: add)" in found.stdout) == (4, True)
    assert paths == ["/mcp", *["/there/mcp?x=1"] * 3]
    assert {headers["X-Api-Key"] for *_, headers in server.seen} == {KEY}


def test_a_credential_never_goes_to_another_origin() -> None:
    """The other server is not even asked; the redirect is told."""
    with web(plain) as other, web(to(other.url)) as server:
        found = look(server.url)

    assert (found.exit_code, other.seen) == (3, [])
    assert f"redirects to {other.url} (HTTP 307), which is not followed" in found.stdout


@pytest.mark.parametrize("place", ["http://{}:1/mcp", "https://{}/mcp", "//evil.test/mcp"])
def test_another_port_or_scheme_is_another_origin(place: str) -> None:
    """Whatever a part of it has in common."""
    with web(to(place.format("127.0.0.1"))) as server:
        found = look(server.url)

    assert (found.exit_code, "which is not followed" in found.stdout) == (3, True)
    assert {path for _, path, _ in server.seen} == {"/mcp"}


def test_a_certificate_is_looked_at_unless_told_otherwise() -> None:
    """One of nobody's is refused, taken with --insecure, and known with --ca."""
    with web(plain, tls=True) as server:
        refused = look(server.url)
        taken = look(server.url, "--insecure")
        known = look(server.url, "--ca", str(TLS / "certificate.pem"))

    assert (refused.exit_code, "certificate is not trusted" in refused.stdout) == (3, True)
    assert [(one.exit_code, "(tools: add)" in one.stdout) for one in (taken, known)] == [
        (4, True),
        (4, True),
    ]


def test_a_file_that_holds_no_certificate_is_told(tmp_path: Path) -> None:
    """Exit 2, before anything is sent."""
    (tmp_path / "none.pem").write_text("nothing", encoding="utf-8")

    found = [look("https://127.0.0.1:1/mcp", "--ca", str(tmp_path / n)) for n in ("none.pem", "x")]

    assert [one.exit_code for one in found] == [2, 2]
    assert all("give --ca a file of certificates" in one.output for one in found)


def test_a_proxy_is_used_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not because the environment names one; its password is nobody's business."""
    secret = base64.b64encode(b"me:canary-of-the-proxy").decode()

    def forward(path: str, asked: dict[str, Any]) -> Told:
        parts = urlsplit(path)
        link = http.client.HTTPConnection(parts.hostname or "", parts.port or 80)
        link.request("POST", parts.path, json.dumps(asked), JSON)
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

    asked = {(path, headers.get("Proxy-Authorization")) for _, path, headers in proxy.seen}
    assert [direct.exit_code, before, through.exit_code] == [4, 0, 4]
    assert asked == {(server.url, f"Basic {secret}")}
    assert "canary-of-the-proxy" not in through.output


def test_a_proxy_that_opens_no_tunnel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """For an https URL it is asked to CONNECT."""
    with web(lambda *_: (403, {}, b"")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "")
        found = look("https://127.0.0.1:1/mcp", "--use-proxy")

    assert [(method, path) for method, path, _ in proxy.seen] == [("CONNECT", "127.0.0.1:1")]
    assert (found.exit_code, "the proxy refuses to connect (HTTP 403)" in found.stdout) == (3, True)


def test_a_proxy_that_speaks_no_http_is_not_taken_for_the_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody has asked the endpoint anything."""
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        threading.Thread(target=_greet, args=(proxy,), daemon=True).start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        found = look("https://127.0.0.1:1/mcp", "--use-proxy")

    assert (found.exit_code, "the proxy does not answer in HTTP" in found.stdout) == (3, True)


def _greet(server: socket.socket) -> None:
    """Say to each that it is something else."""
    with contextlib.suppress(OSError):
        while True:
            with server.accept()[0] as client:
                client.recv(1 << 16)
                client.sendall(b"220 mail\r\n")
