"""`run server --url URL`."""

import sys
from typing import Any

import click

from mcp_proxy_conformance.cli.installed_checks import judge_subject
from mcp_proxy_conformance.cli.options import merged, run_options
from unique_names import server


@click.command("server")
@click.option("--url", required=True, help="The server, e.g. http://127.0.0.1:8080/mcp")
@run_options
@click.pass_obj
def command(outer: dict[str, Any], /, url: str, **options: Any) -> None:
    """Judge the names of a server's tools."""
    sys.exit(judge_subject(server(url), merged(outer, options)))
