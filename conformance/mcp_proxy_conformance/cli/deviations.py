"""`deviations`: create a file of known failures from a report, or validate one."""

from __future__ import annotations

import shlex
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import click

from mcp_proxy_conformance.cli.checking import known
from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.report.reading import BadReport, read_report
from mcp_proxy_conformance.verdict.deviations.deviation import FILE, today
from mcp_proxy_conformance.verdict.deviations.writing import begun, broken
from mcp_proxy_conformance.verdict.outcome import DECLARATION
from mcp_proxy_conformance.verdict.redaction import inert

DAYS = 90
_PATH = click.Path(path_type=Path)


@click.group(epilog=examples("deviations check", "run --deviations known.toml"))
def deviations() -> None:
    """Failures that are known and do not count, until a date: `run --deviations FILE`."""


@deviations.command(
    epilog=examples("deviations init mcp-proxy-conformance-out/report.json --expires 2030-01-31")
)
@click.argument("report", type=_PATH)
@click.option("--out", type=_PATH, default=FILE, show_default=True, help="The file to write.")
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help=f"The last day on which the entries hold.  [default: in {DAYS} days]",
)
def init(report: Path, out: Path, expires: datetime | None) -> None:
    """Write an entry for each clause that fails in REPORT, the report.json of a run.

    The reason and the issue of each are left to be filled in; a run refuses the file until they
    are. An existing file is never overwritten.
    """
    try:
        document = read_report(report)
    except BadReport as error:
        _stop(str(error))
    clauses = broken(document.clauses, document.results)
    if not clauses:
        _stop(f"{report} has no failure that can be waived; no file is needed")
    text = begun(clauses, _last_day(expires))
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _stop(f"{out} exists; name another --out, or move it away")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        _stop(f"{out} cannot be written: {why}; name another --out")
    named = "" if out == Path(FILE) else f" --deviations {shlex.quote(str(out))}"
    repair = f"{out}: fill in each reason and issue, then: mcp-proxy-conformance run{named}"
    click.echo(inert(repair))


@deviations.command(epilog=examples("deviations check known.toml"))
@click.argument("file", type=_PATH, default=FILE)
def check(file: Path) -> None:
    """Validate FILE without a run: exit 2 if it is malformed, 5 if an entry is of no use."""
    entries = known(file)
    if isinstance(entries, int):
        sys.exit(entries)
    first = min((entry.expires for entry in entries), default=None)
    until = f", the first until {first}" if first else ""
    click.echo(f"{file}: deviations: {len(entries)}{until}")


def _last_day(expires: datetime | None) -> date:
    if expires is None:
        return today() + timedelta(days=DAYS)
    if expires.date() < today():
        _stop(f"--expires {expires.date()} is past; give a day to come")
    return expires.date()


def _stop(sentence: str) -> NoReturn:
    click.echo(inert(sentence), err=True)
    sys.exit(DECLARATION)
