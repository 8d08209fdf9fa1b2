"""`explain`: one clause, where it comes from, how it is observed, and what proves it."""

from __future__ import annotations

import sys

import click

from mcp_proxy_conformance.checks_index import cases, checks
from mcp_proxy_conformance.report.outcome import DECLARATION
from mcp_proxy_conformance.requirement import UnknownClause, catalogue, interpretations
from mcp_proxy_conformance.resources import schemas_dir

PAGES = {"adapter": "ADAPTER.md", "loader": "LOADER.md"}


@click.command()
@click.argument("clause_id", metavar="CLAUSE")
def explain(clause_id: str) -> None:
    """Explain a clause, e.g. FR-006.cap; or how an `adapter` or a `loader` is driven."""
    if clause_id in PAGES:
        click.echo((schemas_dir() / PAGES[clause_id]).read_text(encoding="utf-8"))
        return
    try:
        clause = catalogue().clause(clause_id)
    except UnknownClause as error:
        click.echo(str(error), err=True)
        sys.exit(DECLARATION)
    source = catalogue().source(clause_id)
    meaning = "a breach fails the target" if clause.judgement == "F" else "advisory"
    click.echo(f"{clause.id}  ({meaning})\n  {clause.text}")
    click.echo(f"\nsource: {source.text}, {source.at}\nobserved: {clause.observed}")
    for label, words in (
        ("only for targets declaring", ", ".join(clause.capability)),
        ("only when asked for by", f"--{clause.asked_by}" if clause.asked_by else ""),
        ("advisory because", clause.advisory),
        ("not part of this version", clause.untested),
    ):
        if words:
            click.echo(f"{label}: {words}")
    proving = [check for check in checks() if clause_id in check.clauses]
    for check in proving:
        click.echo(f"\ncheck: {check.module}::{check.name}\n  {check.sentence}")
    for row in (row for row in interpretations() if clause_id in row.clauses):
        click.echo(f"\ninterpretation: {row.id}\n  {row.question}")
        for reading in row.readings:
            click.echo(f"  - {reading}")
        click.echo(f"  ruling: {row.ruling}\n  here: {row.suite}")
    proving_cases = [case.id for case in cases() if clause_id in case.clauses]
    if proving_cases:
        click.echo(f"\n{len(proving_cases)} cases: {', '.join(proving_cases)}")
