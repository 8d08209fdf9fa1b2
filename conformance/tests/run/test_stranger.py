"""A specification of somebody else, in a distribution of its own: found, listed, run, proven."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from distributions import laid_out, ran, with_path

from mcp_proxy_conformance.catalogue.specification import GROUP

HERE = Path(__file__).with_name("stranger")
MOST = 150
SERVED = """
import sys
from unique_names.changed import served
print(served(tuple(sys.argv[1:])).url, flush=True)
sys.stdin.read()
"""
Ran = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the folder in which the stranger's distribution is installed."""
    made = tmp_path / "installed"
    shutil.copytree(HERE / "unique_names", made / "unique_names")
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    laid_out(made, project["name"], project["version"], project["entry-points"][GROUP])
    return made


@pytest.fixture
def run(tmp_path: Path, place: Path) -> Ran:
    """Return a function that runs our command line with these words, the distribution installed."""
    return lambda *words: ran(words, tmp_path, [place])


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("list clauses", "NAMES.unique"),
        ("list checks", "unique_names/checks/test_names.py::test_no_name_is_listed_twice"),
        ("list profiles", "names@1"),
        ("explain NAMES.unique", "mutant: thrice"),
        ("run --help", "Judge the names of tools."),
        ("lint", "findings: 0"),
    ],
)
def test_it_is_found(run: Ran, words: str, line: str) -> None:
    """The commands that only read know what the stranger brings, and find no fault in it."""
    done = run(*words.split())

    assert (done.returncode, line in done.stdout + done.stderr) == (0, True), done.stdout


@pytest.mark.parametrize(("names", "code"), [(("echo", "add"), 0), (("echo", "echo"), 1)])
def test_a_server_is_judged_by_it(run: Ran, place: Path, names: list[str], code: int) -> None:
    """A run ends with 0 or 1, and its report has the stranger's profile, clause and finding."""
    served = subprocess.Popen(
        [sys.executable, "-c", SERVED, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=with_path([place]),
    )  # fmt: skip
    assert served.stdout is not None
    with served:
        done = run("run", "server", "--url", served.stdout.readline().strip(), "--out", "out")
        served.communicate()
    report = json.loads((place.parent / "out" / "report.json").read_text(encoding="utf-8"))

    assert (done.returncode, report["profile"]["id"]) == (code, "names")
    assert [clause["verdict"] for clause in report["clauses"]] == ["fail" if code else "pass"]
    assert ("a name is listed twice: echo" in done.stdout) is bool(code)


def test_its_mutants_are_killed_and_its_variant_is_acquitted(run: Ran) -> None:
    """The selftest tries the stranger's own trials as it does those of this project."""
    done = run("selftest", *(f"--only={name}" for name in ("twice", "thrice", "other-case")))

    assert done.returncode == 0, done.stdout
    assert "(2 killed)" in done.stdout
    assert "(1 acquitted)" in done.stdout


def test_it_is_short() -> None:
    """All of it is at most 150 lines that are not empty."""
    files = [path for path in HERE.rglob("*") if path.suffix in (".py", ".toml")]
    lines = [line for path in files for line in path.read_text(encoding="utf-8").splitlines()]

    assert 0 < len([line for line in lines if line.strip()]) <= MOST
