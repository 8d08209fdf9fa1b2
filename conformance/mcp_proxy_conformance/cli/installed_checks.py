"""A run of the installed checks from the command line, with its outcome printed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from mcp_proxy_conformance.cli.again import command_line
from mcp_proxy_conformance.cli.options import target_meant, target_options
from mcp_proxy_conformance.cli.printed_report import detail_of, print_report
from mcp_proxy_conformance.cli.run_setup import alone, expect_part, processes_of, softened
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.terminal import Detail
from mcp_proxy_conformance.run.invocation import collect_garbage_rarely, invoke
from mcp_proxy_conformance.run.progress import Progress
from mcp_proxy_conformance.run.request import Judged, RunRequest, Selection
from mcp_proxy_conformance.targets.description import BadTarget, describe
from mcp_proxy_conformance.targets.environments import NotInstalled, installed
from mcp_proxy_conformance.verdict.credentials import credentials
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.outcome import BROKEN, DECLARATION, FAULT, INTERRUPTED
from mcp_proxy_conformance.verdict.redaction import Redactor, first_line

USAGE_ERROR = 4


def judge(kind: str | None, options: dict[str, Any]) -> int:
    """Run the installed checks by these options, print the outcome, and return the exit code.

    `options` are complete, as `merged` returns them.
    """
    try:
        return alone(options, partial(_judged, kind, options))
    except BadTarget as error:
        click.echo(str(error), err=True)
        return DECLARATION


def _judged(
    kind: str | None,
    options: dict[str, Any],
    out: Path,
    log: Path,
    deviations: tuple[Deviation, ...],
) -> int:
    """Run the checks on the target that the options describe, show progress, print the report.

    Return the exit code, after --fail-on. If there is no report, print the reason; the code is then
    2, 3 if the target cannot be installed, 130 if interrupted, or 70.
    """
    try:
        kind, file = target_meant(kind, options["target_file"])
        file = _resolved(file)
        described = describe(
            kind=kind, file=file, given=target_options(options), environment=os.environ
        )
        processes = processes_of(options, described.kind)
        expect_part(options, described.kind)
        described = installed(described)
    except NotInstalled as error:
        click.echo(str(error), err=True)
        return BROKEN
    except BadTarget as error:
        words = [
            word.strip("'\"`,;:") for word in str(error).split()
        ]  # of a command, if it has one
        click.echo(Redactor(credentials(words=words)).text(first_line(str(error))), err=True)
        return DECLARATION
    redactor = Redactor(credentials(words=described.command))
    request = replace(request_for(described, options, out, deviations, redactor), file=file)
    collect_garbage_rarely()
    ended = ran(request, log, redactor, detail_of(options), processes)
    return ended if isinstance(ended, int) else _printed(ended, options, out)


def judge_subject(subject: Judged, options: dict[str, Any], secrets: Iterable[str] = ()) -> int:
    """Run the checks on what a command of a specification has made; return the exit code.

    `options` are complete, as `merged` returns them; `secrets` are never printed. Raises BadTarget.
    """
    redactor = Redactor(secrets)

    def judged(out: Path, log: Path, deviations: tuple[Deviation, ...]) -> int:
        request = request_for(subject, options, out, deviations, redactor)
        ended = ran(request, log, redactor, detail_of(options))
        return ended if isinstance(ended, int) else _printed(ended, options, out, redactor.text)

    return alone(options, judged)


def request_for(
    subject: Judged,
    options: dict[str, Any],
    out: Path,
    deviations: tuple[Deviation, ...],
    redactor: Redactor,
) -> RunRequest:
    """Return the request that these complete options make."""
    return RunRequest(
        subject=subject,
        profile=options["profile"],
        out=out,
        selection=selection_of(options),
        shard=options["shard"],
        case=_resolved(options["case"]),
        examples=options["examples"],
        seed=options["seed"] or 0,
        space=options["space"],
        soak_s=options["soak"],
        baseline=_resolved(options["baseline"]),
        deviations=deviations,
        within_s=options["timeout"],
        keep=options["keep"],
        command=command_line(click.get_current_context(), redactor.text),
    )


def ran(
    request: RunRequest,
    log: Path,
    redactor: Redactor,
    detail: Detail,
    processes: str | None = None,
) -> Report | int:
    """Run the checks and show progress; return the report or, without one, the exit code.

    Why there is none is then printed. That is 2 for what cannot be used, 130 if interrupted, or 70.
    """
    report = request.out / "report.json"
    with Progress(log, sys.stderr, redactor, detail) as progress:
        code = invoke(request, processes=processes, plugins=[progress])
    if code == USAGE_ERROR:
        click.echo(progress.complaint(), err=True)
        return DECLARATION
    if not report.exists():
        click.echo(f"the run ended without a report; see {progress.log}", err=True)
        return INTERRUPTED if code == pytest.ExitCode.INTERRUPTED else FAULT
    document: Report = msgspec.json.decode(report.read_bytes(), type=Report)
    return document


def _printed(
    document: Report,
    options: dict[str, Any],
    out: Path,
    hidden: Callable[[str], str] = lambda text: text,
) -> int:
    """Print a report as the options ask for; return the exit code, after --fail-on."""
    code = softened(document, options["fail_on"])
    detail = detail_of(options)
    print_report(document, out / "report.json", detail=detail, code=code, hidden=hidden)
    return code


def _resolved(path: Path | None) -> Path | None:
    """Return the absolute path; None for None."""
    return None if path is None else path.resolve()


def selection_of(options: dict[str, Any]) -> Selection:
    """Return the Selection that --check, --only, --quick and --fail-fast describe."""
    return Selection(
        checks=tuple(options["check"]),
        only=tuple(options["only"]),
        quick=options["quick"],
        fail_fast=options["fail_fast"],
    )
