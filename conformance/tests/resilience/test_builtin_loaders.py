"""Builtin loaders: the program around a script, look-up, environments made by pip, real loads."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resilience.builtin import (
    Builtin,
    UnknownBuiltin,
    builtin,
    builtins,
    command,
)
from mcp_proxy_conformance.resilience.builtin.loaders import SCRIPTS
from mcp_proxy_conformance.resilience.loader import LoaderProgram
from mcp_proxy_conformance.targets import environments
from mcp_proxy_conformance.targets.environments import Environment, NotInstalled
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.wire.transcript import Transcript

INSTALL = "MCP_PROXY_CONFORMANCE_INSTALL_LOADERS"
installs = pytest.mark.skipif(not os.environ.get(INSTALL), reason=f"set {INSTALL} to install them")
SCRIPT = """
async def every(asked):
    print("a library talks")
    return {one["server_id"]: KeyError() if "url" in one else ["a"] for one in asked["servers"]}

async def one(server, asked):
    if "url" in server:
        raise OSError("nobody there")
    return ["a"]
"""
BESIDE = ({"server_id": "well"}, {"server_id": "ill", "url": "http://127.0.0.1:1/mcp"})


def answers(tmp_path: Path, way: str, *lines: bytes, script: str = SCRIPT) -> list[Any]:
    """Run the wrapper of builtin loaders around that script; return its answers to these lines.

    `way` is the script's function to call, `every` for all servers, or `one`. The wrapper must
    exit with 0 within 60 s.
    """
    place = tmp_path / "script.py"
    place.write_text(script, encoding="utf-8")
    words = [sys.executable, "-I", str(SCRIPTS / "wrapper.py"), str(place), way]
    text = b"\n".join(lines)
    done = subprocess.run(words, input=text, capture_output=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(number: int) -> bytes:
    """Return the line of request `number`: load one server that works and one that fails."""
    return json.dumps({"id": number, "op": "load", "servers": BESIDE}).encode()


@pytest.mark.parametrize(("way", "error"), [("every", "KeyError"), ("one", "nobody there")])
def test_each_server_has_its_outcome(tmp_path: Path, way: str, error: str) -> None:
    """Two loads of a good and a failing server are answered with both outcomes and nothing else.

    What the library prints is not among them. A failure is `permanent`, with the exception's text.
    """
    lines = answers(tmp_path, way, request(1), request(2))

    well = {"server_id": "well", "status": "available", "tools": ["a"]}
    ill = {"server_id": "ill", "status": "permanent", "tools": []}
    outcomes = [well | {"error": None, "attempts": None}, ill | {"error": error, "attempts": None}]
    ok = {"outcomes": outcomes, "warnings": {}}
    assert lines == [{"id": 1, "ok": ok}, {"id": 2, "ok": ok}]


LEAVES = """
import asyncio

async def stays():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

async def every(asked):
    tasks.append(asyncio.create_task(stays()))
    await asyncio.sleep(0)
    return {one["server_id"]: ["a"] for one in asked["servers"]}

tasks = []
"""


def test_a_task_that_a_library_leaves_behind_holds_up_no_load(tmp_path: Path) -> None:
    """Two loads are answered though the script leaves a task that ignores its cancellation."""
    loads = answers(tmp_path, "every", request(1), request(2), script=LEAVES)

    assert [[outcome["status"] for outcome in load["ok"]["outcomes"]] for load in loads] == [
        ["available", "available"],
        ["available", "available"],
    ]


def test_a_builtin_declares_servers_over_stdio_and_nothing_else(tmp_path: Path) -> None:
    """A builtin answers hello, before and after a load, with the one capability `stdio`."""
    hello = json.dumps({"id": 7, "op": "hello"}).encode()

    lines = answers(tmp_path, "every", hello, request(1), hello)

    declared = {"id": 7, "ok": {"capabilities": ["stdio"]}}
    assert [lines[0], lines[2]] == [declared, declared]


def test_what_is_no_load_is_answered_with_an_error(tmp_path: Path) -> None:
    """A builtin answers a line that is not a request with an error of id null.

    An unknown operation gets an error with its id; a load after them succeeds.
    """
    lines = answers(tmp_path, "one", b"nonsense", b"[]", b'{"id":3,"op":"stop"}', request(4))

    assert [(line["id"], "error" in line) for line in lines] == [
        (None, True),
        (None, True),
        (3, True),
        (4, False),
    ]


def test_an_unknown_builtin_is_refused_with_those_there_are() -> None:
    """`builtin("llama")` raises UnknownBuiltin, whose message lists the known names."""
    with pytest.raises(
        UnknownBuiltin, match=r"no builtin loader is named 'llama'; choose one of langchain, "
    ):
        builtin("llama")


@pytest.mark.parametrize("option", ["--command", "--capabilities"])
def test_a_builtin_beside_an_option_that_it_would_ignore_is_refused(option: str) -> None:
    """`run loader --builtin` with a command or capabilities exits with 2 and names that option."""
    came = CliRunner().invoke(main, ["run", "loader", "--builtin", "mcp-sdk", option, "stdio"])

    sentence = f"--builtin mcp-sdk names a known loader; leave {option} out\n"
    assert (came.exit_code, came.output) == (2, sentence)


def test_every_builtin_can_be_found_and_has_a_script() -> None:
    """Builtins are in order of their names, and found by these.

    Each of six scripts has its function.
    """
    names = [entry.name for entry in builtins()]
    scripts = [(SCRIPTS / entry.script).read_text("utf-8") for entry in builtins()]
    defined = [f"async def {entry.function}(" for entry in builtins()]

    assert names == sorted(set(names))
    assert [builtin(name) for name in names] == list(builtins())
    assert [line in text for line, text in zip(defined, scripts, strict=True)] == [True] * 6


def own_builtin(tmp_path: Path, requirement: str) -> Builtin:
    """Return a builtin named `own` that needs this pip requirement."""
    return Builtin(
        name="own",
        package="own",
        requirement=requirement,
        script="mcp_sdk.py",
        function="one",
        about=str(tmp_path),
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point the user's cache to an empty folder; return where environments of builtins will be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mcp-proxy-conformance" / "loaders"


@pytest.mark.proof
def test_a_failed_install_is_one_sentence_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    """If pip cannot install a requirement, NotInstalled is one line with its name.

    No folder is left.
    """
    missing = own_builtin(tmp_path, f"own @ file://{tmp_path}/nowhere")

    with pytest.raises(
        NotInstalled, match=r"^cannot create an environment for own @ file.*; install"
    ) as caught:
        command(missing)

    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_one_sentence(tmp_path: Path, cache: Path) -> None:
    """If a file is in the place of the cache folder, NotInstalled has the system's reason."""
    cache.parent.parent.write_text("a file", encoding="utf-8")

    with pytest.raises(NotInstalled, match="Not a directory"):
        command(own_builtin(tmp_path, "own"))


def test_two_at_once_make_one_environment(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads that make one environment at once get the same command; one folder is left.

    A third use makes none.
    """
    both, began = threading.Barrier(2), []

    def make(folder: Path, environment: Environment) -> None:
        """Record the requirement, make the folder with a file, and wait for the other thread."""
        began.append(environment.requirement)
        folder.mkdir()
        (folder / "content").touch()
        both.wait(20)

    monkeypatch.setattr(environments, "_make", make)
    own, commands = own_builtin(tmp_path, "own[x]>=1"), list[tuple[str, ...]]()
    pair = [threading.Thread(target=lambda: commands.append(command(own))) for _ in range(2)]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join(30)

    assert commands == [command(own)] * 2
    assert began == ["own[x]>=1"] * 2
    assert [path.name.partition("-")[0] for path in cache.iterdir()] == ["own"]


def test_a_relative_cache_folder_is_not_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a relative $XDG_CACHE_HOME, the cache folder is in ~/.cache, as its convention says."""
    monkeypatch.setenv("XDG_CACHE_HOME", "here")

    assert environments.cache_folder() == Path.home() / ".cache" / "mcp-proxy-conformance"


@pytest.fixture(scope="module")
def healthy() -> Iterator[UpstreamServer]:
    """Yield a started MCP server with two tools, one of which begins with the server's name."""
    with Upstreams(Transcript()) as running:
        tools = [UpstreamTool(name="add"), UpstreamTool(name="healthy_sub")]
        yield running.add(UpstreamServer("healthy", tools))


def loaded(
    tmp_path: Path, name: str, *servers: Mapping[str, Any]
) -> dict[str, tuple[str, tuple[str, ...], bool]]:
    """Load these servers with a builtin, after a load of none.

    Return {server id: (status, tools, whether there is an error)}.
    """
    loader = LoaderProgram(command(builtin(name)), tmp_path)
    try:
        empty = loader.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=60)
        answer = loader.load(servers, max_attempts=2, base_backoff_s=0.05, deadline_s=30).answer
    finally:
        loader.stop()
    assert empty.answer.outcomes == ()
    return {
        outcome.server_id: (outcome.status, tuple(outcome.tools), outcome.error is not None)
        for outcome in answer.outcomes
    }


def http_server(server_id: str, url: str) -> dict[str, Any]:
    """Return a server over HTTP as a load request names it, with a header and a timeout of 5 s."""
    own = {"transport": "streamable-http", "headers": {"X-Own": "yes"}, "timeout_s": 5.0}
    return {"server_id": server_id, "url": url, **own}


WELL = ("available", ("add", "healthy_sub"), False)
ILL = ("permanent", (), True)
ALL_OR_NOTHING = ("langchain", "pydantic-ai")
NAMES = [entry.name for entry in builtins()]


@installs
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_a_builtin_loads_over_http_and_stdio(
    tmp_path: Path, healthy: UpstreamServer, name: str
) -> None:
    """Each builtin loads a server over HTTP and over stdio, with the tools' own names.

    Its library's version is known. Skipped unless a variable asks to install builtins.
    """
    program, *arguments = healthy.command
    child = {"server_id": "healthy_child", "command": program, "args": arguments, "env": {}}

    assert loaded(tmp_path, name, http_server("healthy", healthy.url), child) == {
        "healthy": WELL,
        "healthy_child": WELL,
    }


@installs
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_a_builtin_reports_a_closed_port_and_a_404(
    tmp_path: Path, healthy: UpstreamServer, name: str
) -> None:
    """A builtin gives a closed port and a 404 `permanent`, without tools, beside a healthy server.

    If its library loads all or none, so it gives the healthy one. Skipped unless a variable asks to
    install builtins.
    """
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        closed = http_server("closed", f"http://127.0.0.1:{bound.getsockname()[1]}/mcp")
        lost = http_server("lost", f"http://127.0.0.1:{healthy.port}/elsewhere")
        outcomes = loaded(tmp_path, name, closed, http_server("healthy", healthy.url), lost)

    well = ILL if name in ALL_OR_NOTHING else WELL
    assert outcomes == {"closed": ILL, "healthy": well, "lost": ILL}
