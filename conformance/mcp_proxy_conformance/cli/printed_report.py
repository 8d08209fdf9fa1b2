"""Printing of a report on the terminal: level of detail, colours and width for its rendering."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mcp_proxy_conformance.cli.groups import stop
from mcp_proxy_conformance.report.colour import has_colour
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.terminal import Detail, render


def detail_of(options: dict[str, Any]) -> Detail:
    """Return the level of detail that --quiet or --verbose asks for, else `usual`.

    Exit with 2 if both are given.
    """
    if options["quiet"] and options["verbose"]:
        stop("--quiet and --verbose contradict each other; leave one out")
    if options["quiet"]:
        return "quiet"
    return "verbose" if options["verbose"] else "usual"


def print_report(
    report: Report,
    path: Path,
    *,
    detail: Detail,
    code: int,
    hidden: Callable[[str], str] = lambda text: text,
) -> None:
    """Print a report's outcome on the terminal, with this exit code; `hidden` redacts the text."""
    colour = has_colour(sys.stdout)
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    text = render(report, path, detail=detail, colour=colour, code=code, columns=columns)
    click.echo(hidden(text), color=colour)
