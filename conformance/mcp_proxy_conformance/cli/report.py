"""`report`: a run told again in another format, from its one JSON report; or several as one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from mcp_proxy_conformance.cli.examples import examples
from mcp_proxy_conformance.report import badge, comparing, github, html, junit, markdown, sarif
from mcp_proxy_conformance.report.outcome import DECLARATION
from mcp_proxy_conformance.report.reading import BadReport, read_report

FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "junit": junit.render,
    "sarif": sarif.render,
    "markdown": markdown.render,
    "badge": badge.render,
    "html": html.render,
    "github": github.render,
}
COMPARED: dict[str, Callable[[comparing.Reports], str]] = {
    "html": comparing.html,
    "markdown": comparing.markdown,
}
_PATH = click.Path(path_type=Path)


@click.command(
    epilog=examples("report mcp-proxy-conformance-out/report.json --format html --out report.html")
)
@click.argument("files", metavar="FILE...", nargs=-1, type=_PATH)
@click.option("--compare", is_flag=True, help="Tell several reports beside each other.")
@click.option(
    "--format",
    "wanted",
    type=click.Choice(list(FORMATS)),
    help="What to make; with --compare html or markdown.  [default with --compare: html]",
)
@click.option("--out", type=_PATH, help="The file to write.  [default: standard output]")
def report(*, files: tuple[Path, ...], compare: bool, wanted: str | None, out: Path | None) -> None:
    """Tell a run again from FILE, the report.json that it wrote.

    With --compare, several: a row for each clause, a column for each report. The same files make
    the same bytes. Exit 0 when it was made, whatever the verdicts in them; 2 when a file is no
    report or --out cannot be written.
    """
    try:
        told = _compared(files, wanted or "html") if compare else _told(files, wanted)
        if out is None:
            click.echo(told.encode(), nl=False)
        else:
            out.write_bytes(told.encode())
    except BadReport as error:
        _stop(str(error))
    except OSError as error:
        _stop(f"{out or 'standard output'} cannot be written: {error.strerror}; name another --out")


def _told(files: tuple[Path, ...], wanted: str | None) -> str:
    if len(files) != 1:
        _stop("`report` tells one FILE, the report.json of a run; name one, or add --compare")
    if wanted is None:
        _stop(f"`report` needs --format; give one of {', '.join(FORMATS)}")
    return FORMATS[wanted](read_report(files[0]))


def _compared(files: tuple[Path, ...], wanted: str) -> str:
    if len(files) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        _stop("--compare tells several reports beside each other; name two files or more")
    if wanted not in COMPARED:
        _stop(f"--compare makes no {wanted}; give --format {' or '.join(COMPARED)}")
    return COMPARED[wanted]([(str(file), read_report(file)) for file in files])


def _stop(sentence: str) -> NoReturn:
    click.echo(sentence, err=True)
    sys.exit(DECLARATION)
