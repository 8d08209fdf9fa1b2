"""A run of the installed checks from the command line: the run, and what it came to."""

from __future__ import annotations

import gc
import json
import os
import sys
from typing import Any

import click
import pytest

from mcp_proxy_conformance.cli.again import again
from mcp_proxy_conformance.cli.checking import (
    arguments,
    hide_secrets,
    in_processes,
    known,
    prepared,
    softened,
)
from mcp_proxy_conformance.cli.options import target_meant, target_options
from mcp_proxy_conformance.cli.telling import detail_of, tell
from mcp_proxy_conformance.discovery.live.endpoint import secrets
from mcp_proxy_conformance.run.progress import Progress
from mcp_proxy_conformance.targets.description import BadTarget
from mcp_proxy_conformance.verdict.outcome import DECLARATION, FAULT, INTERRUPTED
from mcp_proxy_conformance.verdict.redaction import Redactor

USAGE_ERROR = 4


def judge(kind: str | None, options: dict[str, Any]) -> int:
    """Run the installed checks against a kind of target; returns the exit code."""
    out = options["out"].resolve()
    report = out / "report.json"
    detail = detail_of(options)
    try:
        processes = in_processes(options["processes"])
        log = prepared(out, options["check"])
    except BadTarget as error:
        click.echo(str(error), err=True)
        return DECLARATION
    brought = known(options["deviations"])
    if isinstance(brought, int):
        return brought
    wanted = [
        *arguments(out, options), *processes, *_target(kind, options),
        *(["--keep"] if options["keep"] else []),
        *(["--baseline", str(options["baseline"].resolve())] if options["baseline"] else []),
        *(["--case", str(options["case"].resolve())] if options["case"] else []),
        *(["--deviations", str(options["deviations"])] if options["deviations"] else []),
        *_given(options, "examples", "seed", "shard"),
    ]  # fmt: skip
    # Nearly all that a run makes is kept to its end, so looking for garbage finds none.
    gc.freeze()
    gc.set_threshold(500_000, 50, 100)
    with Progress(log, sys.stderr, detail) as progress:
        code = pytest.main(wanted, plugins=[progress, brought])
    hide_secrets(out)
    if code == USAGE_ERROR:
        click.echo(progress.complaint(), err=True)
        return DECLARATION
    if not report.exists():
        click.echo(f"the run ended without a report; see {progress.log}", err=True)
        return INTERRUPTED if code == pytest.ExitCode.INTERRUPTED else FAULT
    document = json.loads(report.read_text(encoding="utf-8"))
    words = options.get("command") or ()
    hidden = Redactor(secrets("", [], os.environ, words)).text
    code = softened(document, options["fail_on"])
    repeated = again(click.get_current_context(), hidden)
    tell(document, report, again=repeated, detail=detail, code=code)
    return code


def _given(options: dict[str, Any], *names: str) -> list[str]:
    return [f"--{name}={options[name]}" for name in names if options[name] is not None]


def _target(kind: str | None, options: dict[str, Any]) -> list[str]:
    """The plugin's options that name the target."""
    kind, file = target_meant(kind, options["target_file"])
    told = ["--target-options", json.dumps(target_options(options))]
    told += ["--target", kind] if kind is not None else []
    return [*told, *(["--target-file", str(file.resolve())] if file is not None else [])]
