"""`run`: judge a target and print the verdict of every clause."""

from __future__ import annotations

import gc
import json
import shlex
import sys
from typing import Any

import click
import pytest

from mcp_proxy_conformance.cli.checking import (
    arguments,
    hide_secrets,
    known,
    prepared,
    softened,
)
from mcp_proxy_conformance.cli.endpoint import endpoint
from mcp_proxy_conformance.cli.options import (
    merged,
    run_options,
    target_meant,
    target_options,
)
from mcp_proxy_conformance.report.outcome import BROKEN, DECLARATION, FAULT, INTERRUPTED
from mcp_proxy_conformance.report.progress import Progress
from mcp_proxy_conformance.report.terminal import render
from mcp_proxy_conformance.resilience import builtin as builtins
from mcp_proxy_conformance.target.adapter import AdapterError
from mcp_proxy_conformance.target.description import BadTarget

USAGE_ERROR = 4


@click.group(invoke_without_command=True)
@run_options
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Judge a target. Options may stand before or after the kind.

    Without a kind: the target that ./mcp-proxy-conformance.toml or --target-file describes, else
    the bundled reference proxy.
    """
    context.obj = options
    if context.invoked_subcommand is None:
        sys.exit(judge(None, merged({}, options)))


@run.command()
@run_options
@click.pass_obj
def reference(outer: dict[str, Any], /, **options: Any) -> None:
    """Judge the bundled reference proxy, started as a process."""
    sys.exit(judge("reference", merged(outer, options)))


@run.command()
@click.option("--binary", metavar="PATH", help="The program; it is never told to go online.")
@run_options
@click.pass_obj
def mcpproxy(outer: dict[str, Any], /, **options: Any) -> None:
    """Judge the real Go proxy: smart-mcp-proxy/mcpproxy-go."""
    sys.exit(judge("mcpproxy", merged(outer, options)))


@run.command()
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(outer: dict[str, Any], /, command: tuple[str, ...], **options: Any) -> None:
    """Judge any proxy through an adapter: `run command -- PROGRAM ARGUMENTS`.

    What an adapter is: `mcp-proxy-conformance explain adapter`.
    """
    options["command"] = command or None
    sys.exit(judge("command", merged(outer, options)))


@run.command()
@click.option("--command", "program", metavar="CMD", help="The program that loads, as one string.")
@click.option(
    "--builtin",
    metavar="NAME",
    help="A loader from a package index, in an environment of its own: langchain, …",
)
@click.option("--tool-prefix", metavar="TEXT", help="What it puts before the names of tools.")
@click.option(
    "--timeout-signature",
    "timeout_signatures",
    metavar="TEXT",
    multiple=True,
    help="What in the body of a 403 it takes for a timeout; may be given several times.",
)
@run_options
@click.pass_obj
def loader(
    outer: dict[str, Any], /, program: str | None, builtin: str | None, **options: Any
) -> None:
    """Judge a loader of many MCP servers; without --command the reference's own.

    The program is told to load in lines of JSON: `mcp-proxy-conformance explain loader`. Its
    --capabilities are attempts, classifies, retries, warnings unless fewer are named. A builtin
    has none of them, and is judged by the profile resilience-basic. A target file of kind `loader`
    that is named or lies here is read before the options.
    """
    options["timeout_signatures"] = options["timeout_signatures"] or None
    given = merged(outer, options)
    if builtin is not None:
        given["profile"] = given["profile"] or "resilience-basic"
        sys.exit(judge("loader", given | {"command": _installed(builtin), "capabilities": ""}))
    try:
        words = shlex.split(program) if program else None
    except ValueError as error:
        click.echo(f"--command {program!r} cannot be read: {error}", err=True)
        sys.exit(DECLARATION)
    sys.exit(judge("loader", given | {"command": words}))


run.add_command(endpoint)


def judge(kind: str | None, options: dict[str, Any]) -> int:
    """Run the installed checks against a kind of target; returns the exit code."""
    out = options["out"].resolve()
    report = out / "report.json"
    try:
        log = prepared(out, options["check"])
    except BadTarget as error:
        click.echo(str(error), err=True)
        return DECLARATION
    brought = known(options["deviations"])
    if isinstance(brought, int):
        return brought
    wanted = [
        *arguments(out, options), *_target(kind, options),
        *(["--keep"] if options["keep"] else []),
        *(["--baseline", str(options["baseline"].resolve())] if options["baseline"] else []),
        *(["--case", str(options["case"].resolve())] if options["case"] else []),
        *_given(options, "examples", "seed"),
    ]  # fmt: skip
    # Nearly all that a run makes is kept to its end, so looking for garbage finds none.
    gc.freeze()
    gc.set_threshold(500_000, 50, 100)
    with Progress(log, sys.stderr) as progress:
        code = pytest.main(wanted, plugins=[progress, brought])
    hide_secrets(out)
    if code == USAGE_ERROR:
        click.echo(progress.complaint(), err=True)
        return DECLARATION
    if not report.exists():
        click.echo(f"the run ended without a report; see {progress.log}", err=True)
        return INTERRUPTED if code == pytest.ExitCode.INTERRUPTED else FAULT
    document = json.loads(report.read_text(encoding="utf-8"))
    click.echo(render(document, report))
    return softened(document["exit"], options["fail_on"])


def _given(options: dict[str, Any], *names: str) -> list[str]:
    return [f"--{name}={options[name]}" for name in names if options[name] is not None]


def _installed(name: str) -> list[str]:
    """The command of a builtin loader, installed if it is not there yet; ends when it cannot be."""
    try:
        chosen = builtins.builtin(name)
        return list(builtins.command(chosen))
    except builtins.UnknownBuiltin as error:
        click.echo(str(error), err=True)
        sys.exit(DECLARATION)
    except AdapterError as error:
        click.echo(str(error), err=True)
        sys.exit(BROKEN)


def _target(kind: str | None, options: dict[str, Any]) -> list[str]:
    """The plugin's options that name the target."""
    kind, file = target_meant(kind, options["target_file"])
    told = ["--target-options", json.dumps(target_options(options))]
    told += ["--target", kind] if kind is not None else []
    return [*told, *(["--target-file", str(file.resolve())] if file is not None else [])]
