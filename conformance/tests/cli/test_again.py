"""The command line that reproduces one check of a run: same target and options, no credential."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import needs
import pytest
from click.testing import CliRunner
from hand_written_reports import ONE, typed

from mcp_proxy_conformance.cli import installed_checks, main
from mcp_proxy_conformance.cli.again import command_line
from mcp_proxy_conformance.report.phrases import again
from mcp_proxy_conformance.verdict.redaction import Redactor

pytestmark = needs.discovery
NAME = "test_x[it's a case]"
AGAIN = "--check 'test_x[it'\"'\"'s a case]'"


def repeated(halves: tuple[str, str], name: str = NAME) -> str:
    """Return the command that runs the check `name` again, made of a run's command line.

    The two halves of that are what precedes and what follows the place of `--check`.
    """
    return again(name, typed(ONE | {"timing": {"command": list(halves)}}))


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Replace every run by one that only records; return the list of its records.

    A record is (command that repeats the check NAME, (kind, options)), for an endpoint (command,
    options).
    """
    commands: list[tuple[str, Any]] = []

    def judge(kind: str | None, options: dict[str, Any]) -> int:
        """Record (command that repeats the check NAME, (kind, options)); return exit code 0."""
        line = repeated(command_line(click.get_current_context()))
        commands.append((line, (kind, options)))
        return 0

    def judge_live(endpoint: Any, options: dict[str, Any]) -> int:
        """Record (command without the endpoint's credentials, options); return exit code 0."""
        hidden = Redactor(endpoint.secrets).text
        halves = command_line(click.get_current_context(), hidden)
        commands.append((repeated(halves), options))
        return 0

    monkeypatch.setattr(installed_checks, "judge", judge)
    monkeypatch.setattr("mcp_proxy_conformance.discovery.commands.endpoint.judge_live", judge_live)
    return commands


@needs.resilience
@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("run", f"run {AGAIN}"),
        ("run -v --only FR-006 --fail-fast --check test_y", f"run {AGAIN}"),
        ("run reference --soak 40", f"run reference --soak 40.0 {AGAIN}"),
        ("run --profile discovery mcpproxy --binary './my proxy'",
         f"run --profile discovery mcpproxy --binary './my proxy' {AGAIN}"),
        ("run command --settle 2 -- python 'my adapter.py' --fast",
         f"run command --settle 2.0 {AGAIN} -- python 'my adapter.py' --fast"),
        ("run command --capabilities '' --settle 0 -- a",
         f"run command --capabilities '' --settle 0.0 {AGAIN} -- a"),
        ("run loader --command 'python l.py' --timeout-signature a",
         f"run loader --command 'python l.py' --timeout-signature a {AGAIN}"),
        ("run endpoint --url http://127.0.0.1:1 --query a --query b",
         f"run endpoint --url http://127.0.0.1:1 --query a --query b {AGAIN}"),
        ("run endpoint --url http://127.0.0.1:1 --header 'Authorization: Bearer abcdefgh'",
         f"run endpoint --url http://127.0.0.1:1 --header '(redacted)' {AGAIN}"),
    ],
)  # fmt: skip
def test_a_command_to_repeat_a_check_keeps_target_and_options(
    given: str, line: str, recorded: list[tuple[str, Any]], tmp_path: Path, monkeypatch: Any
) -> None:
    """The command that repeats one check keeps the target and its own options, quoted for a shell.

    `-v`, `--only`, `--fail-fast` and an earlier `--check` are dropped, a credential is redacted.
    """
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(main, shlex.split(given))

    assert done.exit_code == 0, done.output
    assert recorded[0][0] == f"mcp-proxy-conformance {line}"


def test_what_is_no_check_is_seen_again_by_any_run(tmp_path: Path, monkeypatch: Any) -> None:
    """A result that is not of a check is repeated by the run's own command, without --check."""
    lines = []
    monkeypatch.chdir(tmp_path)

    def judge(*_: object) -> int:
        """Record the command that repeats the result `presence`; return exit code 0."""
        lines.append(repeated(command_line(click.get_current_context()), "presence"))
        return 0

    monkeypatch.setattr(installed_checks, "judge", judge)
    CliRunner().invoke(main, ["run", "command", "--settle", "1", "--", "a"])

    assert lines == ["mcp-proxy-conformance run command --settle 1.0 -- a"]


@needs.resilience
@pytest.mark.parametrize(
    "given",
    [
        "run --out there reference --soak 40 --seed 3",
        "run command --capabilities config,user --upstream-transport stdio -- a 'b c' --d",
        "run --keep loader --tool-prefix x_ --examples 7",
    ],
)
def test_a_command_to_repeat_a_check_means_the_same_run(
    given: str, recorded: list[tuple[str, Any]], tmp_path: Path, monkeypatch: Any
) -> None:
    """The command that repeats one check, run itself, has the same kind and options as the first.

    Only the check is added to its options.
    """
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(main, shlex.split(given))
    program, *words = shlex.split(recorded[0][0])

    CliRunner().invoke(main, words)

    (_, (kind, first)), (_, (same, second)) = recorded
    assert (program, kind) == ("mcp-proxy-conformance", same)
    assert second == first | {"check": (NAME,)}
