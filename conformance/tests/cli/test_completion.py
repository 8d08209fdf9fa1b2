"""Shell completion in bash: commands, options and ids; scripts of three shells, others refused."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.cli import main

PROGRAM = Path(sys.executable).with_name("mcp-proxy-conformance")
BASH = """\
eval "$(mcp-proxy-conformance completion bash)"
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_mcp_proxy_conformance_completion mcp-proxy-conformance
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
COMPLETED = [
    (["ex"], {"explain"}),
    (["run", "com"], {"command"}),
    (["run", "--fail"], {"--fail-fast"}),
    (["explain", "FR-006.c"], {"FR-006.cap", "FR-006.callables", "FR-006.callables~bytes"}),
    (["run", "--only", "FR-01"], {"FR-010", "FR-011", "FR-012", "FR-013", "FR-014"}),
    (["run", "endpoint", "--check", "limits-11-at-1"], {"limits-11-at-10", "limits-11-at-11"}),
    (["run", "--check", "test_as_many_lock"], {"test_as_many_locked_matches_are_listed"}),
    (["run", "--profile", "resilience-"], {"resilience-basic"}),
    (["list", "inter"], {"interpretations"}),
]


def in_shell(*command: str) -> str:
    """Run a command with the program's folder first on PATH; return its standard output.

    It must exit with 0 and print nothing on standard error, within 60 s.
    """
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@needs.discovery
@needs.resilience
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(("words", "completed"), COMPLETED)
def test_bash_completes(words: list[str], completed: set[str]) -> None:
    """For the beginning of a word, bash offers the expected words; all that it offers begin so."""
    output = in_shell("bash", "-c", BASH.format(words=shlex.join([PROGRAM.name, *words])))

    offered = set(output.split())

    assert [word for word in completed if not any(each.startswith(word) for each in offered)] == []
    assert [word for word in offered if not word.startswith(words[-1])] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one_that_it_can_read(shell: str) -> None:
    """`completion SHELL` prints a script that names the program, for bash, zsh and fish.

    If the shell is installed, it can parse the script.
    """
    script = CliRunner().invoke(main, ["completion", shell]).stdout

    if shutil.which(shell) is not None:
        in_shell(shell, "-n", "-c", script)
    assert "_MCP_PROXY_CONFORMANCE_COMPLETE" in script
    assert PROGRAM.name in script


def test_another_shell_is_refused() -> None:
    """`completion tcsh` exits with 2 and lists the known shells."""
    done = CliRunner().invoke(main, ["completion", "tcsh"])

    assert (done.exit_code, "'bash', 'zsh', 'fish'" in done.output) == (2, True)
