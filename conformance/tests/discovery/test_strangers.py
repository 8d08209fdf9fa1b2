"""`run endpoint` on published proxies without the feature: verdict, transport, key, wrong path."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import strangers
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer
from mcp_proxy_conformance.wire.transcript import Transcript

pytestmark = pytest.mark.proof
LOOKING_S = 15


@dataclass(frozen=True)
class Stranger(strangers.Running):
    """A running proxy, to be examined by the command."""

    def look(self, path: str, *options: str) -> str:
        """Run `run endpoint` on a path of the proxy.

        Return its standard output with `exit CODE` at the end. It must take less than 15 s.
        """
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as out:
            place = ["--url", self.origin + path, "--out", out]
            result = CliRunner().invoke(main, ["run", "endpoint", *place, *options])
        assert time.monotonic() - began < LOOKING_S
        return f"{result.stdout}exit {result.exit_code}"


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    """Yield the MCP server, with the tools `add` and `find_tools`, behind every proxy."""
    with Upstreams(Transcript()) as upstreams:
        yield upstreams.add(UpstreamServer("plain", strangers.TOOLS))


class Strangers:
    """The running proxies by name, each started on first use."""

    def __init__(self, upstream: UpstreamServer, folder: Path, stack: ExitStack) -> None:
        """Start to install the proxies into the folder.

        Installers and proxies end with the stack.
        """
        self._upstream, self._folder, self._stack = upstream, folder, stack
        self._installing = stack.enter_context(strangers.installing(folder))
        self._running: dict[str, Stranger] = {}

    def __getitem__(self, name: str) -> Stranger:
        """Return the running proxy of that name, started on first use.

        It waits then for the installers, which FastMCP does not need.
        """
        if name not in self._running:
            folder = self._folder if name == "fastmcp" else self._installing.wait()
            log = self._folder / f"{name}.log"
            started = strangers.started(name, self._upstream, folder, log)
            running = self._stack.enter_context(started)
            self._running[name] = Stranger(running.origin, running.options)
        return self._running[name]


@pytest.fixture(scope="module", autouse=True)
def others(
    upstream: UpstreamServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Strangers]:
    """Yield the proxies by name; installations start at once, proxies end with the file's tests."""
    with ExitStack() as stack:
        yield Strangers(upstream, tmp_path_factory.mktemp("strangers"), stack)


@pytest.mark.parametrize("name", ["fastmcp", "pypi-mcp-proxy", "npm-mcp-proxy", "supergateway"])
def test_a_proxy_without_the_feature_is_not_judged(
    name: str, upstream: UpstreamServer, others: Strangers
) -> None:
    """A published proxy exits with 4 without the discovery tool, and if --tool lacks the flag.

    Its upstream's tools are listed, and none is called.
    """
    stranger = others[name]
    lists = upstream.lists

    missing = stranger.look("/mcp", *stranger.options)
    ignoring = stranger.look("/mcp", "--tool", "find_tools", *stranger.options)

    sentence = "no discovery tool named 'retrieve_tools' on this endpoint (tools: add, find_tools)"
    repair = "give the tool that finds tools by a text with --tool; a server that has none is not"
    assert missing == f"{sentence}; {repair} what this profile judges\nexit 4"
    words = "neither the description nor the schema of find_tools names include_disabled"
    assert ignoring.startswith(f"the endpoint does not offer discovery of locked tools: {words}; ")
    assert ignoring.endswith("\nexit 4")
    assert upstream.lists > lists
    assert upstream.calls() == 0


@pytest.mark.parametrize("name", ["pypi-mcp-proxy", "npm-mcp-proxy", "supergateway-sse"])
def test_the_older_transport_of_a_published_proxy_is_named(name: str, others: Strangers) -> None:
    """The HTTP+SSE path of a published proxy exits with 3; the sentence names that transport.

    With --wire sse, its tools are listed.
    """
    stranger = others[name]

    output = stranger.look("/sse", *stranger.options)
    listed = stranger.look("/sse", *stranger.options, "--wire", "sse")

    what = f"{stranger.origin}/sse speaks the HTTP+SSE transport of 2024-11-05"
    advice = "give --wire sse, or the URL of its streamable HTTP endpoint"
    assert output == f"{what}; {advice}\nexit 3"
    assert "(tools: add, find_tools)" in listed


def test_a_trailing_slash_too_many_is_followed(others: Strangers) -> None:
    """A path with one slash too many is redirected, and has the same output as the right path."""
    assert others["fastmcp"].look("/mcp/") == others["fastmcp"].look("/mcp")


def test_a_missing_key_is_reported(others: Strangers) -> None:
    """A published proxy that wants a key exits with 3 (HTTP 401); the sentence names --header."""
    proxy = others["npm-mcp-proxy"]

    output = proxy.look("/mcp")

    what = f"{proxy.origin}/mcp rejects this client (HTTP 401)"
    advice = "give valid credentials with --header 'NAME: VALUE'"
    assert output == f"{what}; {advice}\nexit 3"


def test_a_wrong_path_is_reported(others: Strangers) -> None:
    """A path at which a proxy has nothing exits with 3.

    The sentence asks for the URL with its path.
    """
    proxy = others["supergateway-sse"]

    output = proxy.look("/mcp")

    what = f"no MCP endpoint at {proxy.origin}/mcp (HTTP 404 to a POST)"
    advice = "give the URL, path included, of its streamable HTTP endpoint"
    assert output == f"{what}; {advice}\nexit 3"
