"""`run loader`."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from mcp_proxy_conformance.catalogue.specification import target_files
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.options import merged, run_options
from mcp_proxy_conformance.cli.run import file_of, judge


@click.command(
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
            stop(f"--builtin {builtin} names a known loader; leave {own[0]} out")
        values["target_file"] = file_of("loader", "builtin loader", builtin)
    try:
        words = shlex.split(program) if program else None
    except ValueError as error:
        stop(f"--command cannot be read: {error}; quote its words as for a shell")
    sys.exit(judge("loader", values | {"command": words}))
