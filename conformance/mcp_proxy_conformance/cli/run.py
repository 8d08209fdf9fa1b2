"""`run`: judge a target; one command per kind."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.catalogue.resources import target_files
from mcp_proxy_conformance.cli.groups import Complaining, examples
from mcp_proxy_conformance.cli.options import merged, run_options
from mcp_proxy_conformance.verdict.outcome import DECLARATION

KINDS = {"endpoint": "Judge what a live endpoint says about locked tools."}
"""Kinds with a module of their own."""


@click.group(
    cls=Complaining,
    lazily=KINDS,
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


@run.command(epilog=examples("run reference --verbose"))
@run_options
@click.pass_obj
def reference(outer: dict[str, Any], /, **options: Any) -> None:
    """Judge the bundled reference proxy, started as a process."""
    sys.exit(judge("reference", merged(outer, options)))


@run.command(epilog=examples("run mcpproxy --binary ./mcpproxy"))
@click.option(
    "--binary", metavar="PATH", help="Path of the program; telemetry and update checks are off."
)
@run_options
@click.pass_obj
def mcpproxy(outer: dict[str, Any], /, **options: Any) -> None:
    """Judge the Go proxy smart-mcp-proxy/mcpproxy-go."""
    sys.exit(judge("mcpproxy", merged(outer, options)))


@run.command(epilog=examples("run command --settle 2 -- python my_adapter.py"))
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(outer: dict[str, Any], /, command: tuple[str, ...], **options: Any) -> None:
    """Judge any proxy through an adapter: `run command -- PROGRAM ARGUMENTS`.

    `mcp-proxy-conformance explain adapter` says what an adapter has to do.
    """
    options["command"] = command or None
    sys.exit(judge("command", merged(outer, options)))


@run.command(
    epilog=examples(
        "run relay",
        "run relay -- my-relay --port {port} {upstream_url}",
        "run relay -- mcp-proxy --port {port} -- {upstream}",
        "run relay --known fastmcp",
    )
)
@click.option(
    "--known",
    metavar="NAME",
    help=f"A published relay, installed from a package index: {', '.join(target_files('relay'))}.",
)
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def relay(
    outer: dict[str, Any], /, known: str | None, command: tuple[str, ...], **options: Any
) -> None:
    """Judge a relay of one MCP server; without a command, the bundled one.

    In the command, {port} is the port to serve at (its endpoint is then /mcp), {upstream_url} the
    server's URL, {upstream} its command line; without {port} the relay speaks over stdio. What it
    changes on purpose, and that it serves HTTP+SSE, is declared in the table [relay] of a target
    file.
    """
    options["command"] = command or None
    values = merged(outer, options)
    if known is not None:
        if values.get("command") or values["target_file"]:
            click.echo("--known has a command and a target file; name no others", err=True)
            sys.exit(DECLARATION)
        values["target_file"] = _file_of("relay", "published relay", known)
    sys.exit(judge("relay", values))


@run.command(
    epilog=examples(
        "run loader", "run loader --command 'python my_loader.py'", "run loader --builtin mcp-sdk"
    )
)
@click.option(
    "--command", "program", metavar="CMD", help="Command line of the loader, as one string."
)
@click.option(
    "--builtin",
    metavar="NAME",
    help=f"A known loader, installed from a package index: {', '.join(target_files('loader'))}.",
)
@click.option(
    "--tool-prefix", metavar="TEXT", help="Prefix that the loader adds to names of tools."
)
@click.option(
    "--timeout-signature",
    "timeout_signatures",
    metavar="TEXT",
    multiple=True,
    help="Text in the body of a 403 that the loader treats as a timeout; repeatable.",
)
@run_options
@click.pass_obj
def loader(
    outer: dict[str, Any], /, program: str | None, builtin: str | None, **options: Any
) -> None:
    """Judge a loader of many MCP servers: that of --command, of --builtin, or of the reference.

    The program gets its loads as lines of JSON: see `mcp-proxy-conformance explain loader`. It is
    judged by the capabilities that it declares in its answer to `hello`: attempts, classifies,
    retries, stdio, warnings; --capabilities or the target file override them. Without classifies
    or retries the profile is resilience-basic, unless --profile names another. Options override
    those of a target file of kind `loader`, whether --target-file names it or it is in the working
    folder.
    """
    options["timeout_signatures"] = options["timeout_signatures"] or None
    values = merged(outer, options)
    if builtin is not None:
        others = {
            "--command": program,
            "--capabilities": values.get("capabilities"),
            "--target-file": values["target_file"],
        }
        if own := [name for name, value in others.items() if value is not None]:
            click.echo(f"--builtin {builtin} names a known loader; leave {own[0]} out", err=True)
            sys.exit(DECLARATION)
        values["target_file"] = _file_of("loader", "builtin loader", builtin)
    try:
        words = shlex.split(program) if program else None
    except ValueError as error:
        click.echo(f"--command cannot be read: {error}; quote its words as for a shell", err=True)
        sys.exit(DECLARATION)
    sys.exit(judge("loader", values | {"command": words}))


def judge(kind: str | None, options: dict[str, Any]) -> int:
    """Run the installed checks as `installed_checks.judge`, imported now; return the exit code."""
    # Judging imports pytest, which --help and completion have no need of.
    from mcp_proxy_conformance.cli import installed_checks  # noqa: PLC0415

    return installed_checks.judge(kind, options)


def _file_of(kind: str, noun: str, name: str) -> Path:
    """Return the target file of a known loader or relay; exit with 2 if none has that name."""
    files = target_files(kind)
    if name not in files:
        click.echo(f"no {noun} is named {name!r}; choose one of {', '.join(files)}", err=True)
        sys.exit(DECLARATION)
    return files[name]
