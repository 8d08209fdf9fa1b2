"""Published relays: their target files, look-up, and installation by npm or pip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.specification import target_files
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.fidelity.relay_description import RelayDescription
from mcp_proxy_conformance.targets.description import Description, describe
from mcp_proxy_conformance.targets.environments import NotInstalled, installed

FILES = target_files("relay")

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
    """Point the user's cache to an empty folder; return where environments will be in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mcp-proxy-conformance" / "installed"


def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, code: int, name: str = "npm") -> None:
    """Make an npm of that name the only program in PATH; it installs a file with its requirement.

    It exits with `code`.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / name
    program.write_text(NPM.format(python=sys.executable, code=code), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def of_relay(name: str) -> Description:
    """Return the description of a published relay, which need not be installed."""
    return describe(kind="relay", file=FILES[name], given={}, environment={})


@pytest.mark.parametrize("name", FILES)
def test_each_relay_is_installed_in_the_version_that_it_names(name: str) -> None:
    """Each target file of a published relay pins one package to a version of three parts."""
    described = of_relay(name)

    (((package,),),) = (described.install.values(),)
    assert package.replace("==", "@").partition("@")[2] == described.version
    assert len(described.version.split(".")) == 3


@posix
def test_a_relay_of_npm_is_installed_once(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relay of npm is installed into the cache in its pinned version, once."""
    npm(tmp_path, monkeypatch, code=0)
    relay = of_relay("supergateway")

    program, *words = installed(relay).command
    again = installed(relay).command

    assert Path(program).read_text("utf-8") == "supergateway@4.0.0"
    assert Path(program).is_relative_to(cache)
    assert again == (program, *words)
    assert [folder.name.partition("-")[0] for folder in cache.iterdir()] == ["supergateway"]


@posix
@pytest.mark.parametrize(("name", "why"), [("npm", "exit code 3"), ("other", "No such file.*")])
def test_a_failed_install_by_npm_leaves_nothing(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    """If npm exits with 3 or is missing, NotInstalled is one line with requirement and repair.

    Nothing is left in the cache.
    """
    npm(tmp_path, monkeypatch, code=3, name=name)

    with pytest.raises(NotInstalled, match=rf"for mcp-remote@0.*{why}; install Node") as caught:
        installed(of_relay("mcp-remote"))

    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []


@pytest.mark.proof
def test_a_target_file_of_ones_own_brings_a_package(tmp_path: Path, cache: Path) -> None:
    """The commands of a user's file begin with a program that pip installs, and know its folder."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own.py").write_text("def main():\n    print('own')\n\nmain()", encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "own"\nversion = "1"\n[project.scripts]\nown-relay = "own:main"\n',
        encoding="utf-8",
    )
    file = folder / "target.toml"
    file.write_text(
        f'kind = "relay"\ninstall = {{pip = ["{folder}"]}}\n'
        'command = ["own-relay", "{upstream}"]\n'
        '[relay]\nseveral = ["python", "{folder}/own.py", "{upstream_2}"]\n',
        encoding="utf-8",
    )

    ready = installed(describe(kind="relay", file=file, given={}, environment={}))

    assert isinstance(ready, RelayDescription)
    ended = [
        subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        for words in (ready.command, ready.relay.several)
    ]
    assert [(one.returncode, one.stdout) for one in ended] == [(0, "own\nown\n"), (0, "own\n")]
    assert all(words[0].startswith(str(cache)) for words in (ready.command, ready.relay.several))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--known", "llama"],
            "no published relay is named 'llama'; choose one of fastmcp, mcp-remote, ",
        ),
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
