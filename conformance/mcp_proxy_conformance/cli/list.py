"""`list`: clauses, checks, cases, profiles and interpretations, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from mcp_proxy_conformance.cli.groups import examples
from mcp_proxy_conformance.report import listing

WHAT: dict[str, Callable[[], list[listing.ListedRow]]] = {
    "clauses": listing.clauses,
    "checks": listing.checks,
    "cases": listing.cases,
    "profiles": listing.profiles,
    "interpretations": listing.interpretations,
}


@click.command("list", epilog=examples("list", "list checks", "list cases --json"))
@click.argument("what", type=click.Choice(list(WHAT)), default="clauses", metavar="[WHAT]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as in schemas/list.schema.json.")
def list_(*, what: str, as_json: bool) -> None:
    """List the clauses (default), checks, cases, profiles or interpretations."""
    rows = WHAT[what]()
    if as_json:
        document = {"format": listing.FORMAT, what: [row.members for row in rows]}
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        for row in rows:
            click.echo(row.text)
