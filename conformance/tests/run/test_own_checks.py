"""A user's own checks: typed, found, and run by pytest as the guide says; their endings there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import GITHUB, blocks

from mcp_proxy_conformance import api as checking
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.discovery.targets.started import Started

PLUGIN = ("-p", "mcp_proxy_conformance.plugin")
EXAMPLE, GOLDEN = blocks("OWN_CHECKS.md", "python")
(PROJECT,) = blocks("OWN_CHECKS.md", "toml")
OWN = ["tests/test_mine.py::test_a_denied_tool_is_revealed_by_its_word",
       "tests/test_mine.py::test_every_refusal_names_our_help_desk_or_the_flag",
       "tests/test_mine.py::test_no_description_is_longer_than_a_screen"]  # fmt: skip
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


def done(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m WORDS` in this folder; return the ended process, or TimeoutExpired (110 s)."""
    command = [sys.executable, "-m", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=110
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a project as the guide has it, whose target is the reference."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_mine.py").write_text(EXAMPLE, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    target = tmp_path / "mcp-proxy-conformance.toml"
    target.write_text('kind = "reference"\n', encoding="utf-8")
    return tmp_path


def test_in_a_project_of_ones_own_pytest_alone_runs_its_checks(project: Path) -> None:
    """With the guide's pyproject.toml, `pytest` runs the checks below testpaths, and no others."""
    ran = done(project, "pytest", "-v")

    report = json.loads((project / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    passed = [line.split(" PASSED")[0] for line in ran.stdout.splitlines() if " PASSED" in line]
    assert (ran.returncode, passed) == (0, OWN), ran.stdout
    assert (report["headline"], len(report["results"])) == ("partial", 1)


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (".", PLUGIN),
        (".", ("-o", "testpaths=", "tests")),
        ("tests", ()),
        (".", ("-k", "screen or word or desk")),
    ],
)
def test_ones_own_tests_run_wherever_something_names_them(
    folder: str, words: tuple[str, ...], project: Path
) -> None:
    """A path, or testpaths, even if pytest starts in a folder below, keeps the installed out."""
    ran = done(project / folder, "pytest", "--collect-only", "-q", *words)

    assert [line for line in ran.stdout.splitlines() if "::" in line] == OWN, ran.stdout


def test_a_check_that_the_profile_leaves_out_is_counted(project: Path) -> None:
    """Of one's own, a check whose clause is not in the profile is deselected, in pytest's words."""
    ran = done(project, "pytest", "--collect-only", "-q", "--profile", "robustness")

    assert "2/3 tests collected (1 deselected)" in ran.stdout


@pytest.mark.parametrize("words", [(), PLUGIN, ("--strict-markers", "-W", "error")])
def test_a_check_without_a_target_says_what_to_do(words: tuple[str, ...], tmp_path: Path) -> None:
    """Each check is an error, which names the option, with the plugin loaded or not."""
    (tmp_path / "test_mine.py").write_text(EXAMPLE + GOLDEN, encoding="utf-8")

    ran = done(tmp_path, "pytest", "-q", *words)

    assert (ran.returncode, "4 errors" in ran.stdout) == (1, True), ran.stdout
    errors, _ = ran.stdout.split("= short test summary info =")
    assert errors.count("run pytest with --target-file FILE") == 4
    assert "not found" not in ran.stdout


def test_options_of_others_stay_theirs(tmp_path: Path) -> None:
    """Without being asked, no option is added: another plugin may have --target and --profile.

    If the suite's own are then asked for, the sentence names the one that both have.
    """
    options = ("--target", "--profile")
    theirs = "\n".join(f"    parser.addoption({option!r})" for option in options)
    conftest = f"def pytest_addoption(parser):\n{theirs}\n"
    (tmp_path / "conftest.py").write_text(conftest, encoding="utf-8")
    test = "def test_mine(request): assert request.config.getoption('target') == 'esp32'\n"
    (tmp_path / "test_mine.py").write_text(test, encoding="utf-8")

    ran = done(tmp_path, "pytest", "-q", "--target", "esp32", "--profile=x")
    both = done(tmp_path, "pytest", "-q", "--target-file=x.toml")

    assert (ran.returncode, "1 passed" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    assert (both.returncode, "another plugin has an option of this" in both.stderr) == (4, True)


@pytest.mark.proof
def test_the_worked_examples_are_typed(tmp_path: Path) -> None:
    """Both examples of the guide pass `mypy --strict`."""
    (tmp_path / "test_mine.py").write_text(EXAMPLE, encoding="utf-8")
    (tmp_path / "test_golden.py").write_text(GOLDEN, encoding="utf-8")

    typed = done(tmp_path, "mypy", "--strict", ".")

    assert (typed.returncode, typed.stdout) == (0, "Success: no issues found in 2 source files\n")


def test_a_wrong_file_is_refused_by_mypy(tmp_path: Path) -> None:
    """`mypy --strict` finds six errors in a wrong check: names, arguments, results."""
    (tmp_path / "test_mine.py").write_text(WRONG, encoding="utf-8")

    typed = done(tmp_path, "mypy", "--strict", "test_mine.py")

    codes = re.findall(r"test_mine.py:\d+: error: .*\[([\w-]+)\]", typed.stdout)
    assert (typed.returncode, sorted(codes)) == (
        1,
        ["arg-type", "arg-type", "arg-type", "assignment", "attr-defined", "call-arg"],
    )


@pytest.mark.proof
def test_a_check_that_cites_nothing_ends_in_pytests_words(project: Path) -> None:
    """A check that cites no clause is skipped if not applicable, failed if broken or inconclusive.

    A test without a bench passes as usual.
    """
    (project / "tests" / "test_mine.py").write_text(ENDINGS, encoding="utf-8")

    ran = done(project, "pytest", "-q")

    assert "2 failed, 1 passed, 1 skipped" in ran.stdout
    assert "Inconclusive: it was not shown" in ran.stdout


def test_a_clause_of_ones_own_is_refused_with_the_repair(tmp_path: Path) -> None:
    """A check that cites an unknown clause is an error at import, exit 2.

    The message says to leave @requirement out.
    """
    own = EXAMPLE.replace("FR-001.reveals-config", "ACME.help-desk")
    (tmp_path / "test_mine.py").write_text(own, encoding="utf-8")

    ran = done(tmp_path, "pytest", "-q")

    assert ran.returncode == 2
    assert "There is no clause 'ACME.help-desk'" in ran.stdout
    assert "leave @requirement out" in ran.stdout


def test_the_guide_names_the_stages_and_what_there_is() -> None:
    """The guide lists all shipped stages, and its table only what a bench has; no name is twice."""
    text = (GITHUB / "OWN_CHECKS.md").read_text(encoding="utf-8")
    stages = sorted(path.stem for path in (fixtures_dir() / "discovery" / "stages").glob("*.json"))
    table = text[text.index("| `bench.` |") : text.index("A tool's `word`")]
    rows = [row.split("|")[1] for row in table.splitlines()[2:] if row]
    named = {name for row in rows for name in re.findall(r"`(\w+)", row)}

    assert ", ".join(f"`{name}`" for name in stages) in text
    assert sorted(checking.__all__) == sorted(set(checking.__all__))
    assert named - {*dir(checking.Bench), *dir(Started)} == set()
