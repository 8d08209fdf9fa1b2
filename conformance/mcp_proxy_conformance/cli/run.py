"""`run`: judge a target; one command per kind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.catalogue.specification import Command, specifications, target_files
from mcp_proxy_conformance.cli.groups import Complaining, examples, stop
from mcp_proxy_conformance.cli.options import merged, run_options


def runs() -> dict[str, Command]:
    """Return the commands of the installed specifications that judge targets, by their kinds."""
    return {kind: command for each in specifications() for kind, command in each.runs.items()}


@click.group(
    cls=Complaining,
    lazily=runs(),
    invoke_without_command=True,
    epilog=examples("run", "run --only FR-006 --fail-fast", "run --target-file proxy.toml --quiet"),
)
@run_options
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Judge a target. Options may come before or after the kind.

    The target file, --target-file or ./mcp-proxy-conformance.toml, gives what the command line
    leaves out: names, capabilities, times, and the kind. Without both, the bundled reference proxy
    is judged.
    """
    context.obj = options
    if context.invoked_subcommand is None:
        sys.exit(judge(None, merged({}, options)))


def judge(kind: str | None, options: dict[str, Any]) -> int:
    """Run the installed checks as `installed_checks.judge`, imported now; return the exit code."""
    # Judging imports pytest, which --help and completion have no need of.
    from mcp_proxy_conformance.cli import installed_checks  # noqa: PLC0415

    return installed_checks.judge(kind, options)


def file_of(kind: str, noun: str, name: str) -> Path:
    """Return the target file of a known loader or relay; exit with 2 if none has that name."""
    files = target_files(kind)
    if name not in files:
        stop(f"no {noun} is named {name!r}; choose one of {', '.join(files)}")
    return files[name]
