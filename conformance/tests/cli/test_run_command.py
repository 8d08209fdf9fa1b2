"""`run command`: broken adapters, the shipped one, replaced folders, logs, and secret tokens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import needs
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.targets.line_program import LineProgram
from mcp_proxy_conformance.targets.process import Spawned
from mcp_proxy_conformance.targets.state_folder import keep_logs
from mcp_proxy_conformance.targets.target import TargetNotStarted
from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET

pytestmark = needs.discovery


def test_a_link_among_the_logs_is_left(tmp_path: Path) -> None:
    """`keep_logs` copies a target's regular log files, and no symbolic links."""
    target = tmp_path / "scratch" / "a1" / "target"
    target.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("not the target's")
    (target / "a.log").symlink_to(tmp_path / "nowhere")
    (target / "b.log").symlink_to(tmp_path / "elsewhere")
    (target / "c.log").write_text("printed")

    keep_logs(target.parent, tmp_path, NOTHING_SECRET)

    assert [path.name for path in (tmp_path / "logs" / "a1").iterdir()] == ["c.log"]


def run(tmp_path: Path, *arguments: str) -> Any:
    """Run `run command` with one check and these words, into `tmp_path`; return its result."""
    check = "test_the_cap_holds_on_every_endpoint"
    own = ("run", "command", "--check", check, "--out", str(tmp_path))
    return CliRunner().invoke(main, [*own, *arguments])


def test_a_command_that_the_system_does_not_take_is_no_fault_of_the_suite(tmp_path: Path) -> None:
    """A command with a NUL byte raises TargetNotStarted in LineProgram and in Spawned."""
    log = tmp_path / "log"
    with pytest.raises(TargetNotStarted, match=r"cannot start 'a\\x00b': embedded null byte"):
        LineProgram(["a\0b"], log=log)
    with pytest.raises(TargetNotStarted, match="embedded null byte"):
        Spawned(["a\0b"], env={}, log=log)


def test_an_output_folder_that_a_target_replaces_is_written_to_no_more(tmp_path: Path) -> None:
    """If an adapter replaces the output folder by a link, `run` exits with 2 and says so.

    Nothing is written where the link leads.
    """
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = f"import os; os.rename({str(out)!r}, '{out}-'); os.symlink({str(elsewhere)!r}, '{out}')"

    done = run(out, "--", sys.executable, "-c", code)

    assert done.exit_code == 2
    assert f"{out} was replaced while the run used it; name another --out" in done.output
    assert not (elsewhere / "report.json").exists()


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["/no/such/program"], "cannot start '/no/such/program'"),
        ([sys.executable, "-c", "print('hello')"], "'hello'"),
        ([sys.executable, "-c", "raise SystemExit(5)"], "ended with exit code 5"),
    ],
)
def test_a_run_without_a_working_adapter_exits_with_3(
    tmp_path: Path, command: list[str], complaint: str
) -> None:
    """An adapter that is missing, prints nonsense or ends makes `run command` exit with 3.

    The last line says which.
    """
    done = run(tmp_path, "--", *command)

    assert done.exit_code == 3
    assert complaint in done.output.splitlines()[-1]


def test_the_worked_adapter_drives_the_reference(tmp_path: Path) -> None:
    """The reference's shipped adapter passes the one check, exit 0.

    The report has the capabilities that it declares, `config` and `user`.
    """
    done = run(tmp_path, "--", sys.executable, "-m", "mcp_proxy_reference.adapter")

    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [result["verdict"] for result in report["results"]] == ["pass"]
    assert report["target"]["capabilities"] == ["config", "user"]
    assert (done.exit_code, report["headline"]) == (0, "partial")


@pytest.mark.parametrize("broken", [True, False])
def test_a_credential_of_the_environment_is_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, broken: bool
) -> None:
    """An adapter prints and answers a token of its environment: no output or file has it; exit 3.

    Its log is kept.
    """
    token = "operator-Canary/4711+x"  # noqa: S105 - made up
    monkeypatch.setenv("MY_PROXY_TOKEN", token)
    error = "token" if broken else "'nothing'"
    program = (
        "import json, os, sys\n"
        "token = os.environ['MY_PROXY_TOKEN']\n"
        "print('with', token, file=sys.stderr, flush=True)\n"
        "for line in sys.stdin:\n"
        f"    print(json.dumps({{'id': json.loads(line)['id'], 'error': {error}}}), flush=True)\n"
    )

    done = run(tmp_path, "--", sys.executable, "-c", program)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert done.exit_code == 3
    assert "(redacted)" in done.output or not broken
    assert "adapter.log" in {path.name for path in files}
    assert [path for path in files if token.encode() in path.read_bytes()] == []
    assert token not in done.output


@pytest.mark.parametrize("known", [True, False])
def test_a_credential_in_a_command_that_cannot_be_read_is_not_printed(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command in the environment that cannot be split exits with 2, quoted without its token.

    So it is whether or not another variable names that token as a secret.
    """
    token = "operator-Canary/4711+x"  # noqa: S105 - made up
    if known:
        monkeypatch.setenv("MY_PROXY_TOKEN", token)
    monkeypatch.setenv("MCP_PROXY_CONFORMANCE_COMMAND", f"adapter --token '{token}")

    done = CliRunner().invoke(main, ["run", "command", "--out", str(tmp_path / "out")])

    assert (done.exit_code, "(redacted)" in done.output, token in done.output) == (2, True, False)


@pytest.mark.parametrize(
    ("there", "why"),
    [("run.log", "cannot be written"), ("logs", "has a folder `logs` that is of no run")],
)
def test_a_report_folder_that_cannot_be_written_is_reported(
    there: str, why: str, tmp_path: Path
) -> None:
    """`run --out` with a folder that it can only harm exits with 2, says why and leaves it."""
    (tmp_path / there).mkdir()

    done = CliRunner().invoke(main, ["run", "reference", "--out", str(tmp_path)])

    assert (done.exit_code, why in done.output, (tmp_path / there).is_dir()) == (2, True, True)
