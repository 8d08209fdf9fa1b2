"""Published relays: their table and target files, look-up, and installation by npm or pip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.targets.description import BadTarget, describe
from mcp_proxy_conformance.targets.environments import Environment, NotInstalled, install
from mcp_proxy_conformance.targets.published_relays import FILES, PUBLISHED, published_relay

NPM = """#!{python}
import os, sys
bin = os.path.join(sys.argv[sys.argv.index("--prefix") + 1], "node_modules", ".bin")
os.makedirs(bin)
open(os.path.join(bin, "supergateway"), "w").write(sys.argv[-1])
sys.exit({code})
"""
posix = pytest.mark.skipif(os.name == "nt", reason="a program of one file needs POSIX")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point the user's cache to an empty folder; return where relays will be installed in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mcp-proxy-conformance" / "relays"


def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, code: int) -> None:
    """Make an `npm` the only program in PATH; it installs a file with the requirement in it.

    It exits with `code`.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "npm"
    program.write_text(NPM.format(python=sys.executable, code=code), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_each_relay_has_a_name_a_target_file_and_a_pinned_version() -> None:
    """Published relays are in order of names, and each is found by its own.

    Each has one target file, of kind relay, with a version of three parts.
    """
    names = [relay.name for relay in PUBLISHED]
    described = [
        describe(kind="relay", file=relay.file, given={}, environment={}) for relay in PUBLISHED
    ]

    assert names == sorted(set(names))
    assert [published_relay(name) for name in names] == list(PUBLISHED)
    assert sorted(file.stem for file in FILES.iterdir()) == names
    assert [len(each.version.split(".")) for each in described] == [3] * len(names)


def test_an_unknown_relay_is_named_with_those_there_are() -> None:
    """Looking up `llama` raises BadTarget, whose message lists the known names."""
    with pytest.raises(BadTarget, match=r"named 'llama'; choose one of fastmcp, mcp-remote, "):
        published_relay("llama")


@posix
def test_a_relay_of_npm_is_installed_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first `command()` of a relay of npm installs its pinned version into the cache.

    A second returns the same words and installs nothing.
    """
    npm(tmp_path, monkeypatch, code=0)
    relay = published_relay("supergateway")

    program, *words = relay.command()
    again = relay.command()

    assert Path(program).read_text("utf-8") == "supergateway@4.0.0"
    assert Path(program).is_relative_to(cache)
    assert again == (program, *words)
    assert [folder.name.partition("-")[0] for folder in cache.iterdir()] == ["supergateway"]


@posix
def test_a_failed_install_by_npm_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If npm exits with 3, NotInstalled is one line with the requirement and the repair.

    Nothing is left in the cache.
    """
    npm(tmp_path, monkeypatch, code=3)

    with pytest.raises(
        NotInstalled, match=r"for mcp-remote@0.*exit code 3; install Node"
    ) as caught:
        published_relay("mcp-remote").command()

    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


def test_a_program_of_pip_runs_by_its_name() -> None:
    """The words of `program("pytest")` start pytest in this Python, with arguments after them."""
    environment = Environment(kind="relays", package="pip", requirement="pip", installer="pip")
    words = (sys.executable, *environment.program("pytest")[1:], "--version")

    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.startswith("pytest ")


def test_without_npm_it_is_said(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without npm, `install` raises NotInstalled, which says to install Node.

    The cache stays empty.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    own = Environment(kind="relays", package="own", requirement="own@1", installer="npm")

    with pytest.raises(NotInstalled, match="install Node"):
        install(own)

    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--known", "llama"], "no published relay is named 'llama'"),
        (["--known", "fastmcp", "--", "own"], "--known has a command and a target file"),
    ],
)
def test_an_unusable_name_ends_a_run_with_2(words: list[str], line: str) -> None:
    """`run relay --known` exits with 2 for an unknown name, and for a name beside a command.

    Standard error has one line.
    """
    ended = CliRunner().invoke(main, ["run", "relay", *words])

    assert (ended.exit_code, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith(line)
