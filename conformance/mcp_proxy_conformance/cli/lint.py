"""`lint`: faults in cases, stages, requirements, profiles and interpretations."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from mcp_proxy_conformance.authoring.finding import Unreadable, shown
from mcp_proxy_conformance.authoring.linter import lint
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.verdict.outcome import VIOLATED
from mcp_proxy_conformance.verdict.redaction import inert

_PATH = click.Path(path_type=Path)


@click.command("lint", epilog=examples("lint", "lint my-case.json --json"))
@click.argument("paths", nargs=-1, type=_PATH)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
def lint_(*, paths: tuple[Path, ...], as_json: bool) -> None:
    """Check data files for mistakes; without PATHS, those that the suite ships.

    PATHS are cases, stages, requirements, profiles and interpretations. Each file is checked
    together with the shipped ones, and replaces the one of its kind and name. Exit 0 if there is no
    finding, 1 if there is one, 2 if a path cannot be read.
    """
    try:
        linted = lint(paths)
    except Unreadable as error:
        stop(inert(str(error)))
    if as_json:
        over = [shown(path) for path in linted.passed_over]
        document = {"files": linted.files, "findings": linted.findings, "passed_over": over}
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=1))
    else:
        for finding in linted.findings:
            click.echo(finding.in_words())
        for path in linted.passed_over:
            click.echo(
                inert(f"{shown(path)}: not checked, since it is not a known kind of file"), err=True
            )
        click.echo(f"files: {linted.files}; findings: {len(linted.findings)}", err=True)
    sys.exit(VIOLATED if linted.findings else 0)
