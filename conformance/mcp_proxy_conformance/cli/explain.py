"""`explain`: requirements and clauses, their sources, and what proves them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from mcp_proxy_conformance.authoring.case_page import case_page
from mcp_proxy_conformance.authoring.catalogue_page import MEANING, page
from mcp_proxy_conformance.authoring.explained import (
    Explained,
    explained,
    requirements,
    selected,
)
from mcp_proxy_conformance.authoring.sentence_page import sentence_page
from mcp_proxy_conformance.catalogue.requirement import (
    Profile,
    UnknownClause,
    UnknownProfile,
    profile,
)
from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.cli.groups import examples, stop
from mcp_proxy_conformance.cli.ids import explained_ids, profile_ids
from mcp_proxy_conformance.selftest.shipped import Shipped, shipped

PAGES = {"adapter": "ADAPTER.md", "loader": "LOADER.md"}
_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command(
    epilog=examples(
        "explain FR-006.cap",
        "explain limits-1-at-1",
        "explain adapter",
        "explain --all --format markdown --out all.md",
    )
)
@click.argument("wanted", metavar="[ID]", default="", shell_complete=explained_ids)
@click.option("--all", "every", is_flag=True, help="Explain every requirement.")
@click.option(
    "--profile",
    "named",
    metavar="PROFILE",
    shell_complete=profile_ids,
    help="With --all: only what this profile judges.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="Format of requirements and clauses; a case has text only.",
)
@click.option("--out", type=_PATH, help="The file to write.  [default: standard output]")
def explain(*, wanted: str, every: bool, named: str | None, form: str, out: Path | None) -> None:
    """Explain a clause, e.g. FR-006.cap, or a requirement, e.g. FR-006; or --all of them.

    For the id of a case: its request, and the servers, tools and locks of its world that matter to
    it. For `adapter` or `loader` instead of an id: the protocol by which the suite drives one. For
    `sentences`: every sentence of the source texts, and the clauses that judge it.
    """
    if every == bool(wanted) or (named and not every):
        stop("name one clause, requirement or case, or give --all; --profile needs --all")
    try:
        text = _explanation(wanted, profile(named) if named else None, form)
    except (UnknownClause, UnknownProfile) as error:
        stop(str(error))
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        stop(f"{out} cannot be written: {error.strerror}; name another --out")


def _explanation(wanted: str, within: Profile | None, form: str) -> str:
    """Return the page for an id, for `sentences`, for a protocol or, for "", everything.

    A case is explained as text only, and another `form` exits with 2; `sentences` and a protocol
    ignore `form`. `within` limits everything to a profile. Raises UnknownClause.
    """
    if wanted == "sentences":
        return sentence_page()
    if wanted in PAGES:
        return (schemas_dir() / PAGES[wanted]).read_text(encoding="utf-8")
    data = shipped()
    if case := next((c for c in data.cases if c.id == wanted), None):
        if form != "text":
            stop(f"the case {wanted} is explained as text only; leave --format out")
        return "".join(f"{line}\n" for line in case_page(case))
    if form == "markdown":
        return page(data, wanted, within)
    return "".join(f"{line}\n" for line in _text(data, wanted, within))


def _text(data: Shipped, wanted: str, within: Profile | None) -> Iterator[str]:
    """Yield the lines on the wanted requirement or clause; "" is all requirements of `within`.

    A clause comes without its requirement. Raises UnknownClause.
    """
    for number, row in enumerate(requirements(wanted, within)):
        if row.id == wanted or not wanted:
            yield from ([""] if number else [])
            yield f"{row.id}  ({row.keyword}; {row.source.text}, {row.source.at})\n  {row.text}"
            yield from ([f"\nproved by: {', '.join(row.proved_by)}"] if row.proved_by else [])
            yield from ([f"\nuntested: {row.untested}"] if row.untested else [])
            yield ""
        for place, clause in enumerate(selected(row, wanted, within)):
            yield from ([""] if place else [])
            yield from _clause(explained(clause.id, data))


def _clause(facts: Explained) -> Iterator[str]:
    """Yield the lines on a clause: source, conditions, profiles, checks, interpretations, cases.

    Also the first mutants that break it.
    """
    clause = facts.clause
    yield f"{clause.id}  ({MEANING[clause.level].partition(':')[0]})\n  {clause.text}"
    yield f"\nsource: {facts.source.text}, {facts.source.at}\nobserved: {clause.observed}"
    for label, words in (
        ("only for targets that declare", ", ".join(clause.capability)),
        ("only judged with", f"--{clause.asked_by}" if clause.asked_by else ""),
        ("advisory because", clause.advisory),
        ("not part of this version", clause.untested),
        ("profiles", ", ".join(held.name for held in facts.profiles)),
    ):
        if words:
            yield f"{label}: {words}"
    for check in facts.checks:
        yield f"\ncheck: {check.module}::{check.name}\n  {check.sentence}"
    for row in facts.interpretations:
        yield f"\ninterpretation: {row.id}\n  {row.question}"
        yield from (f"  - {reading}" for reading in row.readings)
        yield f"  chosen: {row.chosen}\n  in the suite: {row.suite}"
    for broken in facts.broken:
        yield f"\nmutant: {broken.id}"
        yield f"  {broken.text}"
    if facts.cases:
        yield f"\n{len(facts.cases)} cases: {', '.join(case.id for case in facts.cases)}"
