"""`gate`: one run for a CI, with every report, annotations, a summary and outputs."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from mcp_proxy_conformance.cli.gate_inputs import (
    BadInput,
    Inputs,
    fails_on,
    run_words,
    with_out,
)
from mcp_proxy_conformance.cli.gate_job import REPORT, Job, cleared, files_of
from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.cli.options import DEFAULTS
from mcp_proxy_conformance.cli.run import run
from mcp_proxy_conformance.cli.run_setup import softened
from mcp_proxy_conformance.report.document import Report, plain, written
from mcp_proxy_conformance.report.reader import BadReport, read_report
from mcp_proxy_conformance.report.summary import ending
from mcp_proxy_conformance.targets.description import FILE
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, DECLARATION, FAULT, INCOMPLETE
from mcp_proxy_conformance.verdict.redaction import inert

F = TypeVar("F", bound=Callable[..., Any])
PREFIX = "MCP_PROXY_CONFORMANCE_GATE_"
HELP = {
    "target": "Kind of target: reference, mcpproxy, command, loader, relay or endpoint."
    "  [default: implied by the other options]",
    "url": "URL of a live endpoint.",
    "target_file": "The target file.  [default: mcp-proxy-conformance.toml in the working folder]",
    "command": "The adapter (or loader, relay, stdio endpoint) and its arguments, as one string.",
    "binary": "The program of kind mcpproxy.",
    "headers": "Headers for the endpoint, one per line; pass secrets by the environment.",
    "profile": "The profile of clauses.",
    "deviations": "The file of known failures.",
    "baseline": "The folder of a recording to compare answers with: see `baseline record`.",
    "fail_on": "`violated`: a run that is only incomplete passes.  [default: incomplete]",
    "space": "The version of the space of scenarios.  [default: the newest]",
    "options": "Further options of `run`, as one string.",
}


def _inputs(command: F) -> F:
    """Decorate the command with an option per entry of HELP, which the environment can set too."""
    for name, text in reversed(HELP.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(
            option, name, default="", envvar=PREFIX + name.upper(), help=text, metavar="TEXT"
        )(command)
    return command


@click.command(
    epilog=examples(
        "gate --target-file proxy.toml", "gate --url http://127.0.0.1:8080/mcp --fail-on violated"
    )
)
@_inputs
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULTS["out"],
    envvar=f"{PREFIX}OUT",
    show_default=True,
    help="Folder of the reports.",
)
def gate(*, out: Path, **values: str) -> None:
    """Judge a target in CI: run, write every report, end with the exit code of the run.

    Each option can also be set in the environment: --url by MCP_PROXY_CONFORMANCE_GATE_URL, and so
    on. The reports are report.json, junit.xml, report.html, report.sarif and report.md; on GitHub
    the step also gets annotations, a summary and outputs.
    """
    for name in HELP:
        os.environ.pop(PREFIX + name.upper(), None)  # no target needs them, and one is a secret
    job, folder = Job.of(os.environ, Path.cwd()), out.resolve()
    try:
        inputs = Inputs(**values)
        code = _judged(inputs, folder, job)
        report = None
        if (folder / REPORT).exists():
            found = read_report(folder / REPORT)
            report = _covered(found)
            if report is not found:
                code = softened(report, fails_on(inputs))
                (folder / REPORT).write_bytes(written(plain(report)))
                click.echo(inert(f"incomplete: {report.why}; {ending(report, code)}"), err=True)
            files_of(report, folder)
        click.echo(job.publish(code, report, folder), nl=False)
    except OSError as error:
        click.echo(
            f"{error.filename} cannot be written: {error.strerror}; name another place", err=True
        )
        code = DECLARATION
    except BadReport as error:
        click.echo(str(error), err=True)
        code = FAULT
    sys.exit(code)


def _judged(inputs: Inputs, out: Path, job: Job) -> int:
    """Run what the inputs describe, after removing old files from `out`; return the exit code.

    It is 2 for unusable inputs, and never 0 if there is no report. Raises OSError if an old
    file cannot be removed.
    """
    cleared(out)
    try:
        words = with_out(run_words(inputs, described=Path(FILE).exists()), str(out))
    except BadInput as error:
        click.echo(" ".join(inert(str(error)).split()), err=True)
        return DECLARATION
    with _quiet(job):
        try:
            run.main(words, prog_name="mcp-proxy-conformance run")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
    if code or (out / REPORT).exists():
        return code
    click.echo("these options start no run; take --help and similar ones out", err=True)
    return DECLARATION


def _covered(report: Report) -> Report:
    """Return the report; that of an incomplete run if a conformant one left out pairs."""
    seen = report.coverage
    left_out = seen.missed["left_out"] if seen and report.complete else 0
    if seen is None or not left_out or report.exit != CONFORMANT:
        return report
    why = (
        f"{left_out:,} pairs of the space of {seen.space} {seen.version} were left out;"
        " give the run a longer --timeout"
    )
    return msgspec.structs.replace(report, headline="incomplete", exit=INCOMPLETE, why=why)


@contextmanager
def _quiet(job: Job) -> Iterator[None]:
    """Have a GitHub job ignore workflow commands during the block, which prints the target's words.

    It does nothing outside of such a job.
    """
    mark = secrets.token_hex(16)
    if job.annotated:
        click.echo(f"::stop-commands::{mark}")
    try:
        yield
    finally:
        if job.annotated:
            click.echo(f"::{mark}::")
