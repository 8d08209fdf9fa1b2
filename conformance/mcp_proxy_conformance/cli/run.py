"""`run`: judge a target and print the verdict of every clause."""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from mcp_proxy_conformance.checks_index import names_like
from mcp_proxy_conformance.cli.endpoint import endpoint
from mcp_proxy_conformance.report.outcome import DECLARATION, FAULT, INTERRUPTED
from mcp_proxy_conformance.report.progress import Progress
from mcp_proxy_conformance.report.terminal import render
from mcp_proxy_conformance.resources import checks_dir

INI = """\
[pytest]
python_files = test_*.py
markers =
timeout_func_only = true
filterwarnings =
    ignore::pytest.PytestConfigWarning
"""
CHECK_S = 60
USAGE_ERROR = 4


@click.group(invoke_without_command=True)
@click.option("--profile", default="discovery", show_default=True, help="The profile of clauses.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("mcp-proxy-conformance-out"),
    show_default=True,
    help="Folder of the report.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(1, 86_400),
    default=600.0,
    show_default=True,
    help="Seconds in all.",
)
@click.option(
    "--check",
    metavar="NAME",
    help="Only this check, or this case: a partial run.",
)
@click.option("--keep", is_flag=True, help="Keep the targets' scratch folders.")
@click.pass_context
def run(context: click.Context, /, **options: Any) -> None:
    """Judge a target; without a kind, the bundled reference proxy."""
    context.obj = options
    if context.invoked_subcommand is None:
        sys.exit(judge("reference", options))


@run.command()
@click.pass_obj
def reference(options: dict[str, Any]) -> None:
    """Judge the bundled reference proxy, started as a process."""
    sys.exit(judge("reference", options))


run.add_command(endpoint)


def judge(kind: str, options: dict[str, Any]) -> int:
    """Run the installed checks against a kind of target; returns the exit code."""
    out = options["out"].resolve()
    report, ini = out / "report.json", out / "checks.ini"
    if options["check"] is not None and not names_like(options["check"])[0]:
        near = names_like(options["check"])[1]
        click.echo(
            f"there is no check or case {options['check']!r}; the nearest is {near!r}", err=True
        )
        return DECLARATION
    try:
        out.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        ini.write_text(INI, encoding="utf-8")
        log = out / "run.log"
        log.touch()
    except OSError as error:
        click.echo(
            f"--out {out} cannot be written: {error.strerror}; name another folder", err=True
        )
        return DECLARATION
    os.environ.pop("PYTEST_ADDOPTS", None)
    folder, _, _ = options["profile"].partition("@")
    arguments = [
        str(checks_dir() / folder), "-c", str(ini), "--rootdir", str(out),
        "-p", "no:cacheprovider", "-p", "no:unraisableexception", "--tb=native",
        "--disable-plugin-autoload", "-p", "pytest_timeout",
        "-p", "mcp_proxy_conformance.plugin", "--target", kind, "--profile", options["profile"],
        "--out", str(out), f"--timeout={CHECK_S}", f"--session-timeout={options['timeout']}",
        *(["--keep"] if options["keep"] else []),
        *(["--check", options["check"]] if options["check"] else []),
    ]  # fmt: skip
    # Nearly all that a run makes is kept to its end, so looking for garbage finds none.
    gc.set_threshold(50_000, 20, 100)
    with Progress(log, sys.stderr) as progress:
        code = pytest.main(arguments, plugins=[progress])
    if code == USAGE_ERROR:
        click.echo(progress.complaint(), err=True)
        return DECLARATION
    if not report.exists():
        click.echo(f"the run ended without a report; see {progress.log}", err=True)
        return INTERRUPTED if code == pytest.ExitCode.INTERRUPTED else FAULT
    document = json.loads(report.read_text(encoding="utf-8"))
    click.echo(render(document, report))
    return int(document["exit"])
