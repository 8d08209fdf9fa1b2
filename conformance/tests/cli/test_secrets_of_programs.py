"""Secrets in commands and environments of adapters and loaders, which are printed nowhere."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from canaries import leaked_in

ECHOING = str(Path(__file__).parents[1] / "echo_program.py")
WORD, AFTER, OF_URL = "wrd-Canary/4801+x=", "aft Canary?4802&y", "url-Canary:4803z"
NAMED, OF_DSN = "env-Canary-4804_and_more", "dsn-Canary%4805-and-more"
CANARIES = (WORD, AFTER, NAMED, OF_URL, OF_DSN)
ONE_CHECK = "test_the_cap_holds_on_every_endpoint"
HANDED = (f"--api-key={WORD}", "--password", AFTER, f"http://me:{OF_URL}@127.0.0.1:1/mcp")

PROOF = pytest.mark.proof(parts=6)


def ran(folder: Path, *words: str) -> tuple[int, dict[str, list[str]]]:
    """Run the command with secrets in its environment; return (exit code, {place: leaked pieces}).

    A report must be written to `out`, within 110 s; without leaks the dict is empty.
    """
    environment = {"CANARY_TOKEN": NAMED, "CANARY_PLACE": f"postgres://me:{OF_DSN}@127.0.0.1/db"}
    command = [sys.executable, "-m", "mcp_proxy_conformance", "run", *words]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        check=False, timeout=110,
    )  # fmt: skip
    assert (folder / "out" / "report.json").exists(), done.stderr
    return done.returncode, leaked_in(folder / "out", CANARIES, done.stdout, done.stderr)


@needs.discovery
@pytest.mark.parametrize(
    "how",
    ["error", "dies", *(pytest.param(h, marks=PROOF) for h in ("refused", "url", "line"))],
)
def test_secrets_of_an_adapter_are_written_nowhere(how: str, tmp_path: Path) -> None:
    """An adapter that echoes the secrets it was given exits with 3; none is printed or in a file.

    Its logs are kept, with redactions.
    """
    program = (sys.executable, ECHOING, how, *HANDED)

    code, leaks = ran(tmp_path, "command", "--out", "out", "--check", ONE_CHECK, "--", *program)

    assert (code, leaks) == (3, {})
    logs = [path.read_text() for path in (tmp_path / "out" / "logs").rglob("*.log")]
    assert all("(redacted)" in log for log in logs)
    assert logs


@needs.resilience
@pytest.mark.parametrize(
    ("how", "comes_to"),
    [
        pytest.param("loads", 1, marks=pytest.mark.proof(parts=4)),
        pytest.param("strange", 3, marks=pytest.mark.proof(parts=4)),
        ("error", 3),
    ],
)
def test_secrets_of_a_loader_are_written_nowhere(how: str, comes_to: int, tmp_path: Path) -> None:
    """A loader that echoes the secrets it was given has its exit code.

    None is printed or in a file. The report has redactions.
    """
    words = shlex.join([sys.executable, ECHOING, how, *HANDED])
    wanted = ("--check", "test_load_case", "--out", "out")

    code, leaks = ran(tmp_path, "loader", "--command", words, *wanted)

    assert (code, leaks) == (comes_to, {})
    assert (tmp_path / "out" / "report.json").read_text().count("(redacted)") > 0


@pytest.mark.proof
def test_what_a_loader_printed_is_kept_beside_the_report_and_nothing_else(tmp_path: Path) -> None:
    """After a run on a loader, loader.log is the only kept log, and no scratch folder is left."""
    words = shlex.join([sys.executable, ECHOING, "error"])

    ran(tmp_path, "loader", "--command", words, "--out", "out")

    logs = [path.name for path in (tmp_path / "out" / "logs").rglob("*") if path.is_file()]
    assert set(logs) == {"loader.log"}
    kept = {path.name for path in (tmp_path / "out").iterdir()}
    assert kept == {"report.json", "run.log", "logs"}
