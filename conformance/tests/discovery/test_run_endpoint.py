"""`run endpoint` on a closed port, on servers without MCP, without the tool or without the flag."""

from __future__ import annotations

import http.server
import json
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.wire.transcript import Transcript


def look(url: str, *more: str) -> Result:
    """Run `run endpoint` on the URL with these options, in this process; return its result."""
    with tempfile.TemporaryDirectory() as out:
        return CliRunner().invoke(main, ["run", "endpoint", "--url", url, "--out", out, *more])


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every POST with the bytes that `body` returns for the request's bytes."""

    body: ClassVar[Any]

    def do_POST(self) -> None:
        """Send what `body` returns for the request's bytes, as JSON with status 200."""
        request = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = type(self).body(request)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Discard the line that the server would log."""


@contextmanager
def answering(body: Any) -> Iterator[str]:
    """Serve on 127.0.0.1 what `body` returns for each request's bytes, during the block.

    Yield the URL.
    """
    kind = type("Some", (Handler,), {"body": staticmethod(body)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_closed_port_answers_nothing() -> None:
    """`run endpoint` on a closed port exits with 3 and says that nothing answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]

    result = look(f"http://127.0.0.1:{port}/mcp")

    assert (result.exit_code, "does not answer" in result.output) == (3, True)


@pytest.mark.parametrize(
    "body",
    [
        lambda request: request,
        lambda _: b"{}",
        lambda _: b"<html>hello</html>",
        lambda _: b"\x00\xff\x17",
        lambda request: json.dumps(
            {"jsonrpc": "2.0", "id": json.loads(request).get("id"), "result": {}}
        ).encode(),
    ],
    ids=["echo", "empty", "html", "noise", "empty results"],
)
def test_what_speaks_no_mcp_is_said_to_speak_none(body: Any) -> None:
    """A server that echoes, or sends noise, a page or empty results, is exit 3 with one line."""
    with answering(body) as url:
        result = look(url)

    assert (result.exit_code, result.stdout.count("\n")) == (3, 1)


@pytest.mark.parametrize("name", ["add", "retrieve_tools"])
def test_an_mcp_server_is_looked_at_for_its_discovery_tool(name: str) -> None:
    """A server without the discovery tool, or whose tool does not name the flag, exits with 4.

    The tool is not called.
    """
    tool = UpstreamTool(name=name, description="Find tools.")
    with Upstreams(Transcript()) as upstreams:
        server = upstreams.add(UpstreamServer("plain", tools=[tool]))
        result = look(server.url)

    assert result.exit_code == 4
    assert server.calls(tool.name) == 0


def test_a_tool_that_names_the_flag_nowhere_is_asked_for_what_the_user_says() -> None:
    """With --query, a discovery tool that does not name the flag is called; exit 4.

    The output says that the flag reveals no locked tool.
    """
    tool = UpstreamTool(name="retrieve_tools", description="Find tools.")
    with Upstreams(Transcript()) as upstreams:
        server = upstreams.add(UpstreamServer("plain", tools=[tool]))
        result = look(server.url, "--query", "repos")

    assert (result.exit_code, server.calls(tool.name) > 0) == (4, True)
    assert "and the flag reveals no locked tool" in result.output


def test_a_tool_that_only_names_the_flag_is_asked_and_found_wanting() -> None:
    """A discovery tool that names the flag, but gives no discovery answer, is called; exit 4.

    No other tool is called.
    """
    tools = [
        UpstreamTool(name="retrieve_tools", description="Takes include_disabled."),
        UpstreamTool(name="delete_all"),
    ]
    with Upstreams(Transcript()) as upstreams:
        server = upstreams.add(UpstreamServer("plain", tools=tools))
        result = look(server.url, "--rate", "10000")

    assert (result.exit_code, server.calls("retrieve_tools") > 0) == (4, True)
    assert server.calls("delete_all") == 0


@pytest.mark.parametrize("arguments", [("ftp://x",), ("http://127.0.0.1:1", "--header", "x")])
def test_bad_options_are_reported_in_one_sentence(arguments: tuple[str, ...]) -> None:
    """An unusable --url or --header exits with 2 and one line."""
    result = look(*arguments)

    assert (result.exit_code, result.output.count("\n")) == (2, 1)
