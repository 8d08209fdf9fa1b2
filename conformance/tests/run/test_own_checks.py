"""A user's own checks with the installed package: mypy, the guide's examples, endings in pytest."""

from __future__ import annotations

import json
import re
import shutil
import site
import subprocess
import venv
from pathlib import Path

import pytest
from pages import blocks

import mcp_proxy_reference
from mcp_proxy_conformance import api as checking
from mcp_proxy_conformance.catalogue.resources import fixtures_dir, schemas_dir

GUIDE = Path(__file__).parents[3] / ".github" / "OWN_CHECKS.md"
EXAMPLE, GOLDEN = blocks("OWN_CHECKS.md", "python")
WRONG = """\
from mcp_proxy_conformance.api import Bench, key, on, server, tool, world
from mcp_proxy_conformance.api import ToolKee

FORGE = world(server("forge", "zorvik_list"))

@on(FORGE)
def test_wrong(bench: Bench) -> None:
    answer = bench.discover(5)
    statuses: dict[str, str] = answer.statuses()
    bench.discover("mobela", flag=True)
    bench.call("forge:mobela_drop")
"""
ENDINGS = """\
from mcp_proxy_conformance.api import Bench, NotApplicable, on, server, tool, world

FORGE = world(server("forge", tool("zorvik_list")))

@on(FORGE)
def test_of_no_concern(bench: Bench) -> None:
    raise NotApplicable("no such promise")

@on(FORGE)
def test_not_seen(bench: Bench) -> None:
    bench.require(False, "it was not shown")

@on(FORGE)
def test_broken(bench: Bench) -> None:
    assert bench.discover("zorvik").callables() == ()

def test_without_a_bench() -> None:
    assert True
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a new virtual environment with the package as if installed.

    Suite, reference, fixtures and schemas are copies; other packages are this environment's.
    """
    root = tmp_path_factory.mktemp("installed")
    venv.create(root, symlinks=True)
    program = root / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    result = subprocess.run([program, "-c", code], capture_output=True, text=True, check=True)
    packages = Path(result.stdout.strip())
    for module in (checking, mcp_proxy_reference):
        folder = Path(str(module.__file__)).parent
        shutil.copytree(folder, packages / folder.name, dirs_exist_ok=True)
    for folder in (fixtures_dir(), schemas_dir()):
        data = packages / "mcp_proxy_conformance" / "data" / folder.name
        shutil.copytree(folder, data, dirs_exist_ok=True)
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    return program


def done(
    python: Path, folder: Path, text: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Write the text to test_mine.py; run `python -m ARGUMENTS test_mine.py` in the folder.

    Return the ended process; TimeoutExpired after 110 s.
    """
    (folder / "test_mine.py").write_text(text, encoding="utf-8")
    return subprocess.run(
        [python, "-m", *arguments, "test_mine.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )


def pytest_on(python: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on a file of this text, with the plugin, on the reference; return the process."""
    plugin = ("-p", "mcp_proxy_conformance.plugin", "--target", "reference")
    return done(python, folder, text, "pytest", *plugin, "-q")


def mypy_on(python: Path, folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run `mypy --strict` on a file of this text, with one cache for all; return the process."""
    return done(python, folder, text, "mypy", "--strict", f"--cache-dir={python.parent / 'cache'}")


def test_the_package_is_the_installed_one(python: Path, tmp_path: Path) -> None:
    """In the new environment, the package and its fixtures are the copies, not the sources."""
    code = (
        "from mcp_proxy_conformance.catalogue import resources as r;"
        "print(r.__file__, r.fixtures_dir())"
    )

    result = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert result.stdout.count(str(python.parents[1])) == 2


@pytest.mark.proof
def test_the_worked_example_is_typed_and_passes(python: Path, tmp_path: Path) -> None:
    """Both examples of the guide pass `mypy --strict`, and the first passes pytest, exit 0.

    Its report is partial, with the one check that cites a clause.
    """
    golden = mypy_on(python, tmp_path, GOLDEN)
    typed = mypy_on(python, tmp_path, EXAMPLE)
    ran = pytest_on(python, tmp_path, EXAMPLE)

    report = json.loads((tmp_path / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    assert (typed.returncode, typed.stdout) == (0, "Success: no issues found in 1 source file\n")
    assert (golden.returncode, golden.stdout) == (typed.returncode, typed.stdout)
    assert (ran.returncode, "3 passed" in ran.stdout) == (0, True), ran.stdout
    assert [(result["check"], result["verdict"]) for result in report["results"]] == [
        ("test_a_denied_tool_is_revealed_by_its_word", "pass")
    ]
    assert (report["headline"], report["exit"]) == ("partial", 0)


def test_a_wrong_file_is_refused_by_mypy(python: Path, tmp_path: Path) -> None:
    """`mypy --strict` finds six errors in a wrong check: names, arguments, results."""
    typed = mypy_on(python, tmp_path, WRONG)

    codes = re.findall(r"test_mine.py:\d+: error: .*\[([\w-]+)\]", typed.stdout)
    assert (typed.returncode, sorted(codes)) == (
        1,
        ["arg-type", "arg-type", "arg-type", "assignment", "attr-defined", "call-arg"],
    )


@pytest.mark.proof
def test_a_check_that_cites_nothing_ends_in_pytests_words(python: Path, tmp_path: Path) -> None:
    """A check that cites no clause is skipped if not applicable, failed if broken or inconclusive.

    A test without a bench passes as usual.
    """
    ran = pytest_on(python, tmp_path, ENDINGS)

    assert "2 failed, 1 passed, 1 skipped" in ran.stdout
    assert "Inconclusive: it was not shown" in ran.stdout


def test_a_clause_of_ones_own_is_refused_with_the_repair(python: Path, tmp_path: Path) -> None:
    """A check that cites an unknown clause is an error at import, exit 2.

    The message says to leave @requirement out.
    """
    own = EXAMPLE.replace("FR-001.reveals-config", "ACME.help-desk")

    ran = pytest_on(python, tmp_path, own)

    assert ran.returncode == 2
    assert "There is no clause 'ACME.help-desk'" in ran.stdout
    assert "leave @requirement out" in ran.stdout


def test_the_guide_names_the_stages_and_most_names() -> None:
    """The guide lists all shipped stages, and names four of the API: world, server, tool, ABSENT.

    The API lists no name twice.
    """
    text = GUIDE.read_text(encoding="utf-8")
    stages = sorted(path.stem for path in (fixtures_dir() / "stages").glob("*.json"))

    assert ", ".join(f"`{name}`" for name in stages) in text
    assert sorted(checking.__all__) == sorted(set(checking.__all__))
    assert [name for name in ("world", "server", "tool", "ABSENT") if f"`{name}`" not in text] == []
