"""The plugin in plain pytest: installed checks; no target, an unknown or a broken one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import needs

pytestmark = needs.discovery
PYTEST = [sys.executable, "-m", "pytest", "-p", "mcp_proxy_conformance.plugin"]


def pytest_process(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin and these words in this folder; return the ended process.

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

    done = pytest_process(tmp_path, "--target", "reference", "-k", "test_as_many_locked_matches")

    report = json.loads((tmp_path / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    assert (done.returncode, "took the place of this folder's tests" in done.stdout) == (0, True)
    assert {result["check"] for result in report["results"]} == {
        "test_as_many_locked_matches_are_listed_as_the_cap_allows"
    }


def test_without_a_target_the_plugin_does_nothing(tmp_path: Path) -> None:
    """Without --target, the user's own test passes as usual, and no report is written."""
    (tmp_path / "test_mine.py").write_text("def test_mine(): assert True\n", encoding="utf-8")

    done = pytest_process(tmp_path, "-q")

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
