"""A run of the live checks from the command line: the plan, the run, what it came to."""

from __future__ import annotations

import json
import sys
from typing import Any

import click
import pytest

from mcp_proxy_conformance.cli.again import again
from mcp_proxy_conformance.cli.checking import arguments, known, prepared, softened
from mcp_proxy_conformance.cli.options import DEFAULTS
from mcp_proxy_conformance.cli.telling import detail_of, tell
from mcp_proxy_conformance.discovery.live.endpoint import BadEndpoint, Endpoint
from mcp_proxy_conformance.discovery.live.plan import plan
from mcp_proxy_conformance.discovery.presence import cut
from mcp_proxy_conformance.report.summary import ending
from mcp_proxy_conformance.run.asked import LiveGiven
from mcp_proxy_conformance.run.live_run import LIVE
from mcp_proxy_conformance.run.progress import Progress
from mcp_proxy_conformance.verdict.escaping import inert
from mcp_proxy_conformance.verdict.outcome import FAULT, INTERRUPTED
from mcp_proxy_conformance.verdict.redaction import Redactor

LONGEST = 1200
JUDGING_S = 10
"""Seconds to judge what was seen, after the last request."""


def judge_live(endpoint: Endpoint, options: dict[str, Any]) -> int:
    """Print the plan, run the checks, print what they came to; returns the exit code."""
    options = DEFAULTS | {"profile": LIVE} | options
    if options["profile"].partition("@")[0] != LIVE:
        raise BadEndpoint(f"`run endpoint` judges by the profile {LIVE}; leave --profile out")
    out = options["out"].resolve()
    log = prepared(out, options["check"])
    brought = known(options["deviations"])
    if isinstance(brought, int):
        return brought
    redactor = Redactor(endpoint.secrets)
    detail = detail_of(options)
    for line in plan(endpoint) if detail != "quiet" else ():
        click.echo(redactor.text(inert(line)), err=True)
    judging = options | {"timeout": endpoint.within_s + JUDGING_S}
    with Progress(log, sys.stderr, detail) as progress:
        plugins = [progress, LiveGiven(endpoint), brought]
        code = pytest.main(arguments(out, judging), plugins=plugins)
    log.write_text(redactor.text(log.read_text(encoding="utf-8")), encoding="utf-8")
    report = out / "report.json"
    if not report.exists():
        click.echo(redactor.text(progress.complaint()), err=True)
        return INTERRUPTED if code == pytest.ExitCode.INTERRUPTED else FAULT
    document = json.loads(report.read_text(encoding="utf-8"))
    if detail != "quiet":
        used = document["timing"]["requests"]
        click.echo(f"{used} of {endpoint.max_requests} requests were used", err=True)
    code = softened(document, options["fail_on"])
    if all(one["check"] == "presence" for one in document["results"]):
        told = cut(" ".join(inert(document["why"]).split()), LONGEST)
        click.echo(
            redactor.text(told if code == document["exit"] else f"{told}; {ending(document, code)}")
        )
    else:
        repeated = again(click.get_current_context(), redactor.text)
        tell(document, report, again=repeated, detail=detail, code=code, hidden=redactor.text)
    return code
