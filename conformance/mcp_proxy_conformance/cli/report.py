"""`report`: a run told again in another format, from its one JSON report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from mcp_proxy_conformance.report import badge, html, junit, markdown, sarif
from mcp_proxy_conformance.report.outcome import DECLARATION
from mcp_proxy_conformance.report.reading import BadReport, read_report

FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "junit": junit.render,
    "sarif": sarif.render,
    "markdown": markdown.render,
    "badge": badge.render,
    "html": html.render,
}
_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("file", type=_PATH)
@click.option(
    "--format", "wanted", type=click.Choice(list(FORMATS)), required=True, help="What to make."
)
@click.option("--out", type=_PATH, help="The file to write.  [default: standard output]")
def report(*, file: Path, wanted: str, out: Path | None) -> None:
    """Tell a run again from FILE, the report.json that it wrote.

    The same file makes the same bytes. Exit 0 when it was made, whatever the verdict in it; 2
    when FILE is no report or --out cannot be written.
    """
    try:
        made = FORMATS[wanted](read_report(file)).encode()
        if out is None:
            click.echo(made, nl=False)
        else:
            out.write_bytes(made)
    except BadReport as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"{out or 'standard output'} cannot be written: {error.strerror}; name another --out")


def _stop(sentence: str) -> NoReturn:
    click.echo(sentence, err=True)
    sys.exit(DECLARATION)
