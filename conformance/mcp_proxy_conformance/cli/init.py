"""`init`: write a commented target file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.targets.description import FILE
from mcp_proxy_conformance.verdict.outcome import DECLARATION


@click.command(epilog=examples("init", "init targets/new.toml"))
@click.argument("path", type=click.Path(path_type=Path), default=FILE)
def init(path: Path) -> None:
    """Write a commented target file; never over one that is there."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write((schemas_dir() / FILE).read_text(encoding="utf-8"))
    except FileExistsError:
        click.echo(f"{path} exists; name another file, or move it away", err=True)
        sys.exit(DECLARATION)
    except OSError as error:
        click.echo(f"{path} cannot be written: {error.strerror}; name another file", err=True)
        sys.exit(DECLARATION)
    click.echo(f"{path}: name your proxy in it, then: mcp-proxy-conformance run")
