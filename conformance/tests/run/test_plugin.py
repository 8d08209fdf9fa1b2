"""The plugin in plain pytest: installed or own checks; no target, an unknown or a broken one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pages import blocks

PYTEST = [sys.executable, "-m", "pytest"]
PLUGIN = ("-p", "mcp_proxy_conformance.plugin")
EXAMPLE, GOLDEN = blocks("OWN_CHECKS.md", "python")
(PROJECT,) = blocks("OWN_CHECKS.md", "toml")
OWN = ["tests/test_mine.py::test_a_denied_tool_is_revealed_by_its_word",
       "tests/test_mine.py::test_every_refusal_names_our_help_desk_or_the_flag",
       "tests/test_mine.py::test_no_description_is_longer_than_a_screen"]  # fmt: skip
NOT_YOURS = "The installed checks ran, and no tests of this folder; to run those, name a path"


def pytest_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with these words in this folder; return the ended process.

    It raises TimeoutExpired after 100 s.
    """
    return subprocess.run(
        [*PYTEST, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=100
    )


def test_with_a_target_and_no_path_the_installed_checks_run(tmp_path: Path) -> None:
    """With --target and no path, pytest runs the installed checks, says so, writes the report.

    The user's own failing test in that folder is not run.
    """
    (tmp_path / "test_mine.py").write_text("def test_mine(): assert False\n", encoding="utf-8")

    done = pytest_process(tmp_path, "--target", "reference", "-k", "test_no_more_locked_tools")

    report = json.loads((tmp_path / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    assert (done.returncode, NOT_YOURS in done.stdout) == (0, True), done.stdout
    assert {result["check"] for result in report["results"]} == {
        "test_no_more_locked_tools_come_back_than_the_limit_or_ten"
    }


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
    done = pytest_process(project, "-v", "--junit-xml=ran.xml")

    report = json.loads((project / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    passed = [line.split(" PASSED")[0] for line in done.stdout.splitlines() if " PASSED" in line]
    assert (done.returncode, passed) == (0, OWN), done.stdout
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
    file = "--target-file=" + str(project / "mcp-proxy-conformance.toml")

    done = pytest_process(project / folder, "--collect-only", "-q", file, *words)

    assert [line for line in done.stdout.splitlines() if "::" in line] == OWN, done.stdout


def test_a_check_that_the_profile_leaves_out_is_counted(project: Path) -> None:
    """Of one's own, a check whose clause is not in the profile is deselected, in pytest's words."""
    done = pytest_process(project, "--collect-only", "-q", "--profile", "robustness")

    assert "2/3 tests collected (1 deselected)" in done.stdout


@pytest.mark.parametrize("words", [(), PLUGIN, ("--strict-markers", "-W", "error")])
def test_a_check_without_a_target_says_what_to_do(words: tuple[str, ...], tmp_path: Path) -> None:
    """Each check is an error, which names the option, with the plugin loaded or not."""
    (tmp_path / "test_mine.py").write_text(EXAMPLE + GOLDEN, encoding="utf-8")

    done = pytest_process(tmp_path, "-q", *words)

    assert (done.returncode, "4 errors" in done.stdout) == (1, True), done.stdout
    assert done.stdout.count("run pytest with --target-file FILE") == 4
    assert "not found" not in done.stdout


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

    done = pytest_process(tmp_path, "-q", "--target", "esp32", "--profile=x")
    both = pytest_process(tmp_path, "-q", "--target-file=x.toml")

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    assert (both.returncode, "another plugin has an option of this" in both.stderr) == (4, True)


def test_without_a_target_the_plugin_does_nothing(tmp_path: Path) -> None:
    """Without --target, the user's own test passes as usual, and no report is written."""
    (tmp_path / "test_mine.py").write_text("def test_mine(bench): assert True\n", encoding="utf-8")
    fixture = "import pytest\n@pytest.fixture\ndef bench(): return 1\n"
    (tmp_path / "conftest.py").write_text(fixture, encoding="utf-8")

    done = pytest_process(tmp_path, "-q", *PLUGIN)

    assert (done.returncode, "1 passed" in done.stdout) == (0, True)
    assert not (tmp_path / "mcp-proxy-conformance-out").exists()


def test_an_unknown_target_is_a_usage_error(tmp_path: Path) -> None:
    """An unknown --target ends pytest with 4, its usage error, and the nearest name."""
    done = pytest_process(tmp_path, "--target", "refrence")

    assert (done.returncode, "'reference'" in done.stderr) == (4, True)


def test_a_target_that_does_not_start_passes_nothing(tmp_path: Path) -> None:
    """With an adapter that ends at once, pytest ends with 1 and prints the reason."""
    nobody = json.dumps({"command": [sys.executable, "-c", ""]})

    done = pytest_process(tmp_path, "--target", "command", "--target-options", nobody, "-q")

    assert (done.returncode, "before it answered start" in done.stdout) == (1, True), done.stdout
