"""Exit codes of commands interrupted at any time, or with output that cannot be written."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import needs
import pytest

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli.groups import CLOSED

pytestmark = needs.discovery
PROGRAM = (sys.executable, "-m", "mcp_proxy_conformance")
RUN = ("run", "reference", "--check", "test_any_text_can_be_a_query")
WAYS = {
    "run": ("run", "reference"),
    "workers": ("run", "reference", "-n", "2"),
    "loader": ("run", "loader"),
    "selftest": ("selftest", "--part", "1/60"),
}
AFTER_S, ENDING_S, LEAVING_S = 4.0, 50.0, 5.0
"""Upper bounds in seconds: until the signal, until the run ends, until no process is left."""


def started(
    *words: str, folder: Path, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """Start the command line as a process in a session of its own, with its output piped."""
    command = [*PROGRAM, *words]
    return subprocess.Popen(
        command, cwd=folder, text=True, start_new_session=True, stdout=stdout, stderr=stderr
    )


def left_of(group: int) -> list[str]:
    """Return the command lines of a session's living processes, zombies not counted.

    Wait up to 5 s until there are none.
    """
    deadline = time.monotonic() + LEAVING_S
    while True:
        listing = subprocess.run(
            ["ps", "-o", "stat=,args=", "-s", str(group)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        left = [line for line in listing.stdout.splitlines() if line and not line.startswith("Z")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a full device")
@pytest.mark.parametrize(("words", "sentence"), [
    (("list", "clauses"), "standard output cannot be written: No space left on device"),
    (RUN, "standard output cannot be written: No space left on device"),
])  # fmt: skip
def test_a_full_output_is_reported_and_is_no_verdict(
    words: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """With a full disk as standard output, `list` and `run` exit with 2 and say so, no traceback.

    `run` still writes its report.
    """
    with Path("/dev/full").open("w") as full:
        run = started(*words, folder=tmp_path, stdout=full.fileno())
        _, complaint = run.communicate(timeout=90)

    assert (run.returncode, sentence in complaint, "Traceback" in complaint) == (2, True, False)
    assert words[0] != "run" or (tmp_path / "mcp-proxy-conformance-out" / "report.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a full device")
def test_progress_that_cannot_be_printed_changes_nothing(tmp_path: Path) -> None:
    """With a full disk as standard error, a run that passes exits with 0 and prints its end."""
    with Path("/dev/full").open("w") as full:
        run = started(*RUN, folder=tmp_path, stderr=full.fileno())
        printed, _ = run.communicate(timeout=90)

    assert (run.returncode, "exit 0" in printed) == (0, True)


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_changes_nothing(closed: int, tmp_path: Path) -> None:
    """With standard output or error closed, a run that passes exits with 0, without a traceback."""
    program = f"import os, sys; os.close({closed}); os.execv(sys.executable, sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", program, *PROGRAM, *RUN],
        cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip

    assert (done.returncode, "Traceback" in done.stdout + done.stderr) == (0, False)


def test_a_disk_that_is_full_is_not_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If report.json cannot be written, exit 2 names it, and no partial file is left."""
    from click.testing import CliRunner  # noqa: PLC0415

    from mcp_proxy_conformance.cli import main  # noqa: PLC0415

    def full(path: Path, content: bytes) -> int:
        """Write the content; of a file `report.new` only 100 bytes, then raise ENOSPC."""
        if path.name == "report.new":
            with path.open("wb") as file:
                file.write(content[:100])
            raise OSError(28, "No space left on device", str(path))
        with path.open("wb") as file:
            return file.write(content)

    monkeypatch.setattr(Path, "write_bytes", full)
    done = CliRunner().invoke(main, [*RUN, "--out", str(tmp_path)])

    assert done.exit_code == 2, done.output
    assert "report.json cannot be written: No space left on device" in done.output
    assert not (tmp_path / "report.new").exists()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.proof(parts=14))])
@pytest.mark.parametrize(
    "way", [pytest.param(w, marks=() if w == "run" else pytest.mark.proof(parts=14)) for w in WAYS]
)
def test_an_interruption_is_one_whenever_it_comes(way: str, seed: int, tmp_path: Path) -> None:
    """Interrupted once or twice, at a random time within 4 s, each command exits with 130.

    It leaves no process and prints no traceback; its report is missing, or valid.
    """
    chance = random.Random(f"{way} {seed}")  # noqa: S311 - a time, not a secret
    number = chance.choice([signal.SIGINT, signal.SIGTERM])
    run = started(*WAYS[way], folder=tmp_path)

    time.sleep(chance.uniform(0.05, AFTER_S))
    os.kill(run.pid, number)
    if chance.random() < 0.5:
        time.sleep(chance.uniform(0.0, 1.0))
        if run.poll() is None:
            os.kill(run.pid, number)
    printed, complained = run.communicate(timeout=ENDING_S)

    report = tmp_path / "mcp-proxy-conformance-out" / "report.json"
    assert run.returncode == 130, (printed, complained)
    assert "Traceback" not in complained
    assert left_of(run.pid) == []
    if report.exists():
        schema = json.loads((schemas_dir() / "report.schema.json").read_bytes())
        jsonschema.validate(json.loads(report.read_bytes()), schema)


@pytest.mark.parametrize("words", ["list cases", "explain --all"])
def test_a_reader_who_has_seen_enough_is_told_nothing(words: str, tmp_path: Path) -> None:
    """A command whose output is closed after a line ends without a word on standard error."""
    running = started(*words.split(), folder=tmp_path)
    assert running.stdout is not None
    assert running.stderr is not None

    running.stdout.readline()
    running.stdout.close()

    with running.stderr:
        assert running.stderr.read() == ""
    assert running.wait(timeout=30) in (0, CLOSED)
