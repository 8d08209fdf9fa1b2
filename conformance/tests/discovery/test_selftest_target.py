"""The selftest on a user's own target: unseeable, killed, not started, interrupted, bad options."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import living_processes
import pytest

from mcp_proxy_conformance.catalogue.resources import schemas_dir

SELFTEST = (sys.executable, "-m", "mcp_proxy_conformance", "selftest")
BENT = (sys.executable, str(Path(__file__).parents[1] / "bent.py"))


def done(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return the ended process; TimeoutExpired after 110 s."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)


@pytest.mark.proof(parts=6)
def test_a_fault_that_the_target_has_itself_is_unseeable(tmp_path: Path) -> None:
    """On a target with a fault of its own, a mutant with the same fault is unseeable.

    So is a mutant of an undeclared capability. A third is killed by other checks; exit 0.
    """
    report = tmp_path / "self.json"
    chosen = ("false-spaced", "counts-zeros", "note-of-everyone")

    ended = done(*BENT, "zero-reasons-listed", str(report), *chosen)

    assert ended.returncode == 0, ended.stderr
    document = json.loads(report.read_text(encoding="utf-8"))
    rows = {row["id"]: row for row in document["rows"]}
    assert {name: row["cell"] for name, row in rows.items()} == {
        "unchanged": "violated",
        "false-spaced": "killed",
        "counts-zeros": "unseeable",
        "note-of-everyone": "unseeable",
    }
    assert document["good"]
    assert ", fail: " in rows["counts-zeros"]["reason"]
    assert rows["note-of-everyone"]["reason"].endswith("not_applicable: agents is not declared")
    assert not set(rows["false-spaced"]["by"]) & set(rows["unchanged"]["by"])


@pytest.mark.proof(parts=6)
def test_a_target_of_other_processes_is_tried(tmp_path: Path) -> None:
    """`selftest --target-file` acquits the target and kills a mutant in front of it, exit 0.

    The document is valid, and has the target's kind and capabilities.
    """
    report, file = tmp_path / "self.json", tmp_path / "target.toml"
    file.write_text('kind = "reference"\ncapabilities = ["config", "user"]', encoding="utf-8")

    ended = done(
        *SELFTEST, "--target-file", str(file), "--json", str(report), "--only", "false-spaced"
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = json.loads(report.read_text(encoding="utf-8"))
    schema = json.loads((schemas_dir() / "selftest.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema, cls=jsonschema.Draft202012Validator)
    assert [(row["id"], row["cell"]) for row in document["rows"]] == [
        ("unchanged", "acquitted"),
        ("false-spaced", "killed"),
    ]
    assert document["target"]["kind"] == "reference"
    assert document["target"]["capabilities"] == ["config", "user"]


@pytest.mark.proof
def test_a_target_that_does_not_start_proves_nothing() -> None:
    """`selftest` on an adapter that ends at once exits with 3 and says why it did not start."""
    dead = ("--", sys.executable, "-c", "")

    ended = done(*SELFTEST, "--target", "command", "--only", "false-spaced", *dead)

    assert ended.returncode == 3
    assert "this target lets no mutant be observed" in ended.stdout
    assert "before it answered start" in ended.stdout


@pytest.mark.proof
def test_an_interrupted_selftest_ends_its_targets(tmp_path: Path) -> None:
    """`selftest` that gets SIGTERM once its target runs exits with 130.

    No process of it and no scratch file is left.
    """
    adapter = (sys.executable, "-m", "mcp_proxy_reference.adapter")
    run = subprocess.Popen(
        [*SELFTEST, "--target", "command", "--", *adapter],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 40
    while not living_processes.naming(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    run.send_signal(signal.SIGTERM)
    run.wait(timeout=40)

    assert (run.returncode, living_processes.naming(tmp_path), list(tmp_path.iterdir())) == (
        130,
        [],
        [],
    )


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (["--target", "comand"], "'comand'"),
        (["--target", "reference", "--only", "cap-lets-one-more"], "'cap-lets-one-more'"),
        (["--capabilities", "config"], "--target"),
        (["--target-file", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_a_target_is_described_as_for_a_run(given: list[str], word: str) -> None:
    """`selftest` with a wrong kind, mutant, option or target file exits with 2, and names it."""
    ended = done(*SELFTEST, *given)

    assert (ended.returncode, word in ended.stderr) == (2, True)
