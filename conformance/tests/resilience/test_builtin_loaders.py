"""Builtin loaders: their programs, target files, environments made by pip, real loads."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.specification import target_files
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.resilience.loader import LoaderProgram
from mcp_proxy_conformance.resilience.loader_description import LoaderDescription
from mcp_proxy_conformance.targets import environments
from mcp_proxy_conformance.targets.description import Description, describe
from mcp_proxy_conformance.targets.environments import NotInstalled, installed
from mcp_proxy_conformance.upstream import Upstreams, UpstreamServer, UpstreamTool
from mcp_proxy_conformance.wire.transcript import Transcript

INSTALL = "MCP_PROXY_CONFORMANCE_INSTALL_LOADERS"
installs = pytest.mark.skipif(not os.environ.get(INSTALL), reason=f"set {INSTALL} to install them")
FILES = target_files("loader")
SCRIPT = """
import sys

sys.path.insert(0, sys.argv[1])
from loader_lines import answer, each

async def every(asked):
    print("a library talks")
    return {one["server_id"]: KeyError() if "url" in one else ["a"] for one in asked["servers"]}

async def one(server, asked):
    if "url" in server:
        raise OSError("nobody there")
    return ["a"]

answer(each(one) if sys.argv[2:] else every)
"""
BESIDE = ({"server_id": "well"}, {"server_id": "ill", "url": "http://127.0.0.1:1/mcp"})


def answers(
    tmp_path: Path, *lines: bytes, words: Sequence[str] = (), script: str = SCRIPT
) -> list[Any]:
    """Run that script, made as builtin loaders are, with these words; return its answers.

    It must exit with 0 within 60 s.
    """
    place = tmp_path / "script.py"
    place.write_text(script, encoding="utf-8")
    command = [sys.executable, str(place), str(FILES["mcp-sdk"].parent), *words]
    text = b"\n".join(lines)
    done = subprocess.run(command, input=text, capture_output=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def request(number: int) -> bytes:
    """Return the line of request `number`: load one server that works and one that fails."""
    return json.dumps({"id": number, "op": "load", "servers": BESIDE}).encode()


@pytest.mark.parametrize(("words", "error"), [([], "KeyError"), (["each"], "nobody there")])
def test_each_server_has_its_outcome(tmp_path: Path, words: list[str], error: str) -> None:
    """Two loads of a good and a failing server are answered with both outcomes and nothing else.

    What the library prints is not among them. A failure is `permanent`, with the exception's text.
    """
    lines = answers(tmp_path, request(1), request(2), words=words)

    well = {"server_id": "well", "status": "available", "tools": ["a"]}
    ill = {"server_id": "ill", "status": "permanent", "tools": []}
    outcomes = [well | {"error": None, "attempts": None}, ill | {"error": error, "attempts": None}]
    ok = {"outcomes": outcomes}
    assert lines == [{"id": 1, "ok": ok}, {"id": 2, "ok": ok}]


LEAVES = """
import asyncio, sys

sys.path.insert(0, sys.argv[1])
from loader_lines import answer

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
answer(every)
"""


def test_a_task_that_a_library_leaves_behind_holds_up_no_load(tmp_path: Path) -> None:
    """Two loads are answered though the script leaves a task that ignores its cancellation."""
    loads = answers(tmp_path, request(1), request(2), script=LEAVES)

    assert [[outcome["status"] for outcome in load["ok"]["outcomes"]] for load in loads] == [
        ["available", "available"],
        ["available", "available"],
    ]


def test_what_is_no_load_is_unsupported(tmp_path: Path) -> None:
    """A builtin answers another operation with `unsupported`; a load after it succeeds."""
    lines = answers(tmp_path, b'{"id":3,"op":"hello"}', request(4))

    assert lines[0] == {"id": 3, "unsupported": True}
    assert "ok" in lines[1]


def test_an_unknown_builtin_is_refused_with_those_there_are() -> None:
    """`run loader --builtin llama` exits with 2; one line lists the known names."""
    ended = CliRunner().invoke(main, ["run", "loader", "--builtin", "llama"])

    known = "langchain, langchain-each, mcp-sdk, openai-agents, pydantic-ai, pydantic-ai-each"
    line = f"no builtin loader is named 'llama'; choose one of {known}\n"
    assert (ended.exit_code, ended.output) == (2, line)


@pytest.mark.parametrize("option", ["--command", "--capabilities", "--target-file"])
def test_a_builtin_beside_an_option_that_it_would_ignore_is_refused(option: str) -> None:
    """`run loader --builtin` with what its target file says exits with 2 and names that option."""
    came = CliRunner().invoke(main, ["run", "loader", "--builtin", "mcp-sdk", option, "stdio"])

    sentence = f"--builtin mcp-sdk names a known loader; leave {option} out\n"
    assert (came.exit_code, came.output) == (2, sentence)


@pytest.mark.parametrize("name", FILES)
def test_a_builtin_is_a_target_file_with_a_program_beside_it(name: str) -> None:
    """Each builtin declares `stdio` alone, pins its package, and names a program in its folder."""
    described = of_builtin(name)

    program = Path(described.command[2])
    assert (described.kind, described.capabilities) == ("loader", ("stdio",))
    assert described.install["pip"][0].partition("==")[2] == described.version
    assert (program.parent, program.is_file()) == (FILES[name].parent, True)


def of_builtin(name: str) -> LoaderDescription:
    """Return the description of a builtin, which need not be installed."""
    described = describe(kind="loader", file=FILES[name], given={}, environment={})
    assert isinstance(described, LoaderDescription)
    return described


def own_loader(requirement: str) -> Description:
    """Return the description of a loader that needs this pip requirement."""
    return Description(kind="loader", command=("own",), install={"pip": (requirement,)})


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point the user's cache to an empty folder; return where environments will be in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mcp-proxy-conformance" / "installed"


@pytest.mark.proof
def test_a_failed_install_is_one_sentence_and_leaves_nothing(tmp_path: Path, cache: Path) -> None:
    """If pip cannot install a requirement, NotInstalled is one line with its name.

    No folder is left.
    """
    missing = own_loader(f"own @ file://{tmp_path}/nowhere")

    with pytest.raises(
        NotInstalled, match=r"^cannot create an environment for own @ file.*; install"
    ) as caught:
        installed(missing)

    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_cache_that_cannot_be_made_is_one_sentence(cache: Path) -> None:
    """If a file is in the place of the cache folder, NotInstalled has the system's reason."""
    cache.parent.parent.write_text("a file", encoding="utf-8")

    with pytest.raises(NotInstalled, match="Not a directory"):
        installed(own_loader("own"))


def test_two_at_once_make_one_environment(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that make one environment at once get the same command; one folder is left.

    A third use makes none.
    """
    both, began = threading.Barrier(2), list[str]()

    def make(folder: Path, _installer: str, packages: Sequence[str]) -> None:
        """Record the packages, make the folder with a file, and wait for the other thread."""
        began.extend(packages)
        folder.mkdir()
        (folder / "content").touch()
        both.wait(20)

    monkeypatch.setattr(environments, "_make", make)
    own, ready = own_loader("own[x]>=1"), list[Description]()
    pair = [threading.Thread(target=lambda: ready.append(installed(own))) for _ in range(2)]
    for thread in pair:
        thread.start()
    for thread in pair:
        thread.join(30)

    assert ready == [installed(own)] * 2
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
    loader = LoaderProgram(installed(of_builtin(name)).command, tmp_path)
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


@installs
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FILES)
def test_a_builtin_loads_over_http_and_stdio(
    tmp_path: Path, healthy: UpstreamServer, name: str
) -> None:
    """Each builtin loads a server over HTTP and over stdio, with the tools' own names.

    Skipped unless a variable asks to install builtins.
    """
    program, *arguments = healthy.command
    child = {"server_id": "healthy_child", "command": program, "args": arguments, "env": {}}

    assert loaded(tmp_path, name, http_server("healthy", healthy.url), child) == {
        "healthy": WELL,
        "healthy_child": WELL,
    }


@installs
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FILES)
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
