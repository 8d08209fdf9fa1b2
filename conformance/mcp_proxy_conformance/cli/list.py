"""`list`: clauses, checks, cases, profiles and interpretations, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.report import catalogue_rows

WHAT: dict[str, Callable[[], list[catalogue_rows.ListedRow]]] = {
    "clauses": catalogue_rows.clauses,
    "checks": catalogue_rows.checks,
    "cases": catalogue_rows.cases,
    "profiles": catalogue_rows.profiles,
    "interpretations": catalogue_rows.interpretations,
}


@click.command("list", epilog=examples("list", "list checks", "list cases --json"))
@click.argument("what", type=click.Choice(list(WHAT)), default="clauses", metavar="[WHAT]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as in schemas/list.schema.json.")
def list_(*, what: str, as_json: bool) -> None:
    """List the clauses (default), checks, cases, profiles or interpretations."""
    rows = WHAT[what]()
    if as_json:
        document = {"format": catalogue_rows.FORMAT, what: [row.members for row in rows]}
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        for row in rows:
            click.echo(row.text)
