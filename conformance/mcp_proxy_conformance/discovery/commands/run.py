"""`run` of proxies: the reference, the real Go proxy, and any other by an adapter."""

from __future__ import annotations

import sys
from typing import Any

import click

from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.cli.options import merged, run_options
from mcp_proxy_conformance.cli.run import judge


@click.command(epilog=examples("run reference --verbose"))
@run_options
@click.pass_obj
def reference(outer: dict[str, Any], /, **options: Any) -> None:
    """Judge the bundled reference proxy, started as a process."""
    sys.exit(judge("reference", merged(outer, options)))


@click.command(epilog=examples("run mcpproxy --binary ./mcpproxy"))
@click.option(
    "--binary", metavar="PATH", help="Path of the program; telemetry and update checks are off."
)
@run_options
@click.pass_obj
def mcpproxy(outer: dict[str, Any], /, **options: Any) -> None:
    """Judge the Go proxy smart-mcp-proxy/mcpproxy-go."""
    sys.exit(judge("mcpproxy", merged(outer, options)))


@click.command(epilog=examples("run command --settle 2 -- python my_adapter.py"))
@run_options
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(outer: dict[str, Any], /, command: tuple[str, ...], **options: Any) -> None:
    """Judge any proxy through an adapter: `run command -- PROGRAM ARGUMENTS`.

    `mcp-proxy-conformance explain adapter` says what an adapter has to do.
    """
    options["command"] = command or None
    sys.exit(judge("command", merged(outer, options)))
