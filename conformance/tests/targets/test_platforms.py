"""Platforms without POSIX: every import, commands that say what works, endpoints judged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.discovery.targets.started import Started

CONSISTENT = f"consistent with {profile('discovery-live').name}"
PROGRAM = Path(__file__).parents[1] / "without_posix.py"


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a Python without what only POSIX has; return the ended process.

    `environment` adds variables. It raises TimeoutExpired after 110 s.
    """
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM), *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=110,
        env=os.environ | environment,
    )


def test_every_module_can_be_imported(tmp_path: Path) -> None:
    """Every module imports without POSIX."""
    done = run(tmp_path, "import everything")

    assert json.loads(done.stdout) == {}


COMMANDS = {
    "list": (0, "FR-006.cap"),
    "explain T1": (0, "Error → status mapping"),
    "init target.toml": (0, "name your proxy in it"),
    "run reference": (3, "a target that is started here needs process groups"),
    "run command -- adapter": (3, "a target that is started here needs process"),
    "run loader": (3, "a target that is started here needs process groups"),
    "run endpoint --stdio proxy": (3, "an endpoint that is started here needs"),
    "selftest --part 1/999": (2, "the selftest needs process groups"),
}
"""Command lines, each with its exit code and a part of its output."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Run all COMMANDS in one process without POSIX; return {line: (exit code, output)}."""
    done = run(tmp_path_factory.mktemp("several"), "several", *COMMANDS, PYTHONIOENCODING="utf-8")
    results: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return results


@needs.resilience
@pytest.mark.parametrize("line", COMMANDS)
def test_what_cannot_work_says_what_does(line: str, ended: dict[str, tuple[int, str]]) -> None:
    """Without POSIX, `list`, `explain` and `init` work.

    A command that starts programs exits with 2 or 3, and names the reason and `run endpoint --url`.
    """
    expected, said = COMMANDS[line]
    code, output = ended[line]

    assert (code, "Traceback" in output) == (expected, False), output
    assert said in output
    assert ("run endpoint --url URL" in output) == (code != 0)


@pytest.mark.proof
def test_a_running_endpoint_is_judged(started: Started, tmp_path: Path) -> None:
    """Without POSIX, `run endpoint` judges the reference: more than 20 clauses pass.

    None fails or is an error; the headline is consistent or incomplete.
    """
    done = run(tmp_path, "run", "endpoint", "--rate", "10000", "--url", started.access.url)

    report = json.loads((tmp_path / "mcp-proxy-conformance-out" / "report.json").read_bytes())
    assert report["headline"] in (CONSISTENT, "incomplete"), done.stderr
    assert sum(clause["verdict"] == "pass" for clause in report["clauses"]) > 20
    assert [clause for clause in report["clauses"] if clause["verdict"] in ("fail", "error")] == []


@needs.resilience
@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_an_encoding_without_a_letter_ends_nothing(encoding: str, tmp_path: Path) -> None:
    """If the output's encoding lacks characters, `explain` still prints, and exits with 0."""
    done = run(tmp_path, "explain", "T1", PYTHONIOENCODING=encoding)

    assert (done.returncode, done.stderr) == (0, "")
    assert "T1.timeout" in done.stdout
