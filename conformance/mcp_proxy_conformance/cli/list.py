"""`list`: clauses, checks and cases."""

from __future__ import annotations

import click

from mcp_proxy_conformance.checks_index import cases, checks
from mcp_proxy_conformance.requirement import catalogue


@click.command("list")
@click.argument("what", type=click.Choice(["clauses", "checks", "cases"]), default="clauses")
def list_(what: str) -> None:
    """List the clauses (default), the checks or the cases, one a line."""
    if what == "clauses":
        for clause in catalogue().clauses.values():
            note = f"  (untested: {clause.untested})" if clause.untested else ""
            click.echo(f"{clause.judgement}  {clause.id:36} {clause.text}{note}")
    elif what == "checks":
        for check in checks():
            click.echo(
                f"{check.module}::{check.name}\n    {', '.join(check.clauses)}\n"
                f"    {check.sentence}"
            )
    else:
        for case in cases():
            click.echo(f"{case.id:44} {', '.join(case.clauses)}\n    {case.title}")
