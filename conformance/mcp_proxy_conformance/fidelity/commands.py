"""`run relay`."""

from __future__ import annotations

import sys
from typing import Any

import click

from mcp_proxy_conformance.catalogue.specification import target_files
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.options import merged, run_options
from mcp_proxy_conformance.cli.run import file_of, judge


@click.command(
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
            stop("--known has a command and a target file; name no others")
        values["target_file"] = file_of("relay", "published relay", known)
    sys.exit(judge("relay", values))
