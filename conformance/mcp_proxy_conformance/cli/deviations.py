"""`deviations`: create a file of known failures from a report, or validate one."""

from __future__ import annotations

import shlex
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NoReturn

import click

from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.run_setup import known
from mcp_proxy_conformance.report.reader import BadReport, read_report
from mcp_proxy_conformance.verdict.deviations.deviation import FILE, today
from mcp_proxy_conformance.verdict.deviations.draft import begun, broken
from mcp_proxy_conformance.verdict.redaction import inert

DAYS = 90
_PATH = click.Path(path_type=Path)


@click.group(epilog=examples("deviations check", "run --deviations known.toml"))
def deviations() -> None:
    """Create or validate a file of known failures, each of which does not count until a date.

    A run reads the file with `run --deviations FILE`.
    """


@deviations.command(
    epilog=examples("deviations init mcp-proxy-conformance-out/report.json --expires 2030-01-31")
)
@click.argument("report", type=_PATH)
@click.option("--out", type=_PATH, default=FILE, show_default=True, help="The file to write.")
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help=f"Last day on which the entries apply.  [default: in {DAYS} days]",
)
def init(report: Path, out: Path, expires: datetime | None) -> None:
    """Write a file with an entry for each cause of failures in a report, naming what it breaks.

    REPORT is the report.json of a run. Fill in the reason and the issue of each entry: a run
    refuses the file until then. An existing file is never overwritten.
    """
    try:
        document = read_report(report)
    except BadReport as error:
        _stop(str(error))
    clauses = broken(document.clauses, document.results)
    if not clauses:
        _stop(f"{report} has no failure that can be waived; no file is needed")
    text = begun(clauses, document.causes, _last_day(expires))
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _stop(f"{out} exists; name another --out, or move it away")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        _stop(f"{out} cannot be written: {why}; name another --out")
    named = "" if out == Path(FILE) else f" --deviations {shlex.quote(str(out))}"
    repair = f"{out}: fill in each reason and issue, then run: mcp-proxy-conformance run{named}"
    click.echo(inert(repair))


@deviations.command(epilog=examples("deviations check known.toml"))
@click.argument("file", type=_PATH, default=FILE)
def check(file: Path) -> None:
    """Validate FILE without a run.

    Exit 2 if it is malformed, 5 if an entry has expired or names nothing that can be waived.
    """
    entries = known(file)
    first = min((entry.expires for entry in entries), default=None)
    until = f", the first expires on {first}" if first else ""
    click.echo(f"{file}: deviations: {len(entries)}{until}")


def _last_day(expires: datetime | None) -> date:
    """Return the date of `expires`, or that in 90 days for None; exit with 2 if it is past."""
    if expires is None:
        return today() + timedelta(days=DAYS)
    if expires.date() < today():
        _stop(f"--expires {expires.date()} is in the past; give today or a later day")
    return expires.date()


def _stop(sentence: str) -> NoReturn:
    """Print the sentence, escaped, to standard error and exit with 2."""
    stop(inert(sentence))
