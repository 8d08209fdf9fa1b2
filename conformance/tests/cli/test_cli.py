"""The command line on the reference: list, explain, run, bad usage, a signal, and exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jsonschema
import living_processes
import pytest
from click.testing import CliRunner, Result

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.catalogue.specification import judging
from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.discovery.targets import kinds
from mcp_proxy_conformance.discovery.targets.launch import REFERENCE

COMMAND = [sys.executable, "-m", "mcp_proxy_conformance"]


def invoke(*arguments: str) -> Result:
    """Run the command line with these words in this process, and return its result."""
    return CliRunner().invoke(main, arguments)


def run_process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line as a process in that folder; return the ended process with its output.

    TimeoutExpired after 110 s.
    """
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=110
    )


@pytest.mark.proof(parts=6)
def test_the_reference_is_conformant(tmp_path: Path) -> None:
    """A run on the reference, as a process, exits with 0 and the headline `conformant`.

    Its report fits the schema, no required clause is open, and beside it there is only its log.
    A conftest.py of the working folder is not loaded.
    """
    (tmp_path / "conftest.py").write_text("raise SystemExit", encoding="utf-8")
    done = run_process("run", cwd=tmp_path)

    out = tmp_path / "mcp-proxy-conformance-out"
    report = json.loads((out / "report.json").read_bytes())
    schema = json.loads((schemas_dir() / "report.schema.json").read_bytes())
    jsonschema.validate(report, schema, cls=jsonschema.Draft202012Validator)
    unsettled = [
        clause
        for clause in report["clauses"]
        if clause["verdict"] not in ("pass", "not_applicable")
    ]
    assert [clause for clause in unsettled if clause["level"] == "required"] == []
    assert done.stdout.splitlines()[-1].startswith("conformant: ")
    assert (done.returncode, report["exit"]) == (0, 0)
    assert {path.name for path in out.iterdir()} == {"report.json", "run.log"}


def test_a_target_that_does_not_start_is_reported_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`run` on a target that crashes at its start exits with 3 and prints its traceback."""
    broken = replace(REFERENCE, command=(sys.executable, "-c", "print(1/0)"), host=())
    monkeypatch.setattr(kinds, "REFERENCE", broken)

    name = "test_as_many_locked_matches_are_listed_as_the_cap_allows"
    done = invoke("run", "--out", str(tmp_path), "--check", name, "reference")

    assert done.exit_code == 3
    assert "ZeroDivisionError" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--profile", "discover"),
        ("run", "--profile=--help"),
        ("run", "refrence"),
        ("run", "--check", "test_no_such_check"),
        ("run", "--timeout", "-1"),
        ("run", "--out", "/dev/null/x"),
        ("run", "--only", "FR-06"),
        ("run", "--onyl", "FR-006"),
        ("run", "--soak", "nan"),
        ("run", "mcpproxy", "--binary"),
        ("run", "reference", "an\x1b[31m extra\nword"),
        ("report", "report.json"),
        ("completion", "tcsh"),
        ("explain",),
        ("rnu",),
        ("explain", "FR-06.cap"),
        ("list", "nonsense"),
    ],
)
def test_bad_usage_is_exit_2(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each unusable command line exits with 2 and prints one line, on standard error.

    That line has no escape of the terminal, even if a word of the command has.
    """
    monkeypatch.chdir(tmp_path)

    done = invoke(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert (done.stderr.count("\n"), "\x1b" in done.stderr) == (1, False)


def test_a_header_that_cannot_be_sent_is_exit_2(tmp_path: Path) -> None:
    """`run endpoint` with a header that HTTP cannot carry exits with 2 and a line that names it."""
    words = ("endpoint", "--url", "http://127.0.0.1:1", "--header", "A: b\u2026")

    done = run_process("run", *words, cwd=tmp_path)

    assert (done.returncode, done.stdout.count("\n")) == (2, 1)
    assert "the header 'A' contains a character" in done.stdout


def test_a_check_that_breaks_is_a_fault_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of checks that cannot be imported ends `run` with 70 and prints the import error."""
    checks = tmp_path / "checks"
    checks.mkdir()
    (checks / "test_broken.py").write_text("import nothing_of_that_name\n", encoding="utf-8")
    broken = replace(judging("reference"), root=tmp_path)
    monkeypatch.setattr(
        "mcp_proxy_conformance.catalogue.specification.specifications", lambda: (broken,)
    )

    done = invoke("run", "--profile=discovery", "--out", str(tmp_path / "out"))

    assert (done.exit_code, "nothing_of_that_name" in done.output) == (70, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_targets_and_reports(
    number: signal.Signals, tmp_path: Path
) -> None:
    """SIGINT or SIGTERM, once a check has passed, ends `run` with 130 and prints `interrupted`.

    The report is written as incomplete, and no process is left.
    """
    run = subprocess.Popen(
        [*COMMAND, "run"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    log = tmp_path / "mcp-proxy-conformance-out" / "run.log"
    deadline = time.monotonic() + 30
    while not (log.exists() and ".py ." in log.read_text(encoding="utf-8")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(number)
    printed, _ = run.communicate(timeout=30)

    report = json.loads((log.parent / "report.json").read_bytes())
    assert (run.returncode, report["exit"], report["complete"]) == (130, 130, False)
    assert printed.decode().splitlines()[-1].startswith("interrupted: ")
    assert living_processes.naming(tmp_path) == []


def test_list_and_explain_print_what_there_is() -> None:
    """`list` prints clauses, checks and cases.

    `explain FR-006.cap` its source, check, observation.
    """
    listed = {what: invoke("list", what).output for what in ("clauses", "checks", "cases")}
    explained = invoke("explain", "FR-006.cap").output

    assert "FR-006.cap" in listed["clauses"]
    assert "test_as_many_locked_matches" in listed["checks"]
    assert listed["cases"]
    for word in ("source: discovery-spec, FR-006", "check: ", "observed: "):
        assert word in explained


def test_a_case_is_explained_as_text_only() -> None:
    """`explain CASE --format markdown` ends with exit 2 and a sentence that names the repair."""
    refused = invoke("explain", "limits-1-at-1", "--format", "markdown")

    assert refused.exit_code == 2
    assert "is explained as text only; leave --format out" in refused.output


def test_help_names_the_exit_codes() -> None:
    """`--help` lists every exit code of a run: 0 to 5, 70 and 130."""
    text = invoke("--help").output

    for code in ("0", "1", "2", "3", "4", "5", "70", "130"):
        assert f"  {code}  " in text
