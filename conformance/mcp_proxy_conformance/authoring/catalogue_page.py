"""The catalogue as a Markdown page: requirements, clauses, and their checks, cases and mutants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mcp_proxy_conformance.authoring.explained import (
    Explained,
    explained,
    requirements,
    selected,
)
from mcp_proxy_conformance.catalogue.interpretation import Interpretation
from mcp_proxy_conformance.catalogue.requirement import Profile, Requirement, Source
from mcp_proxy_conformance.report.markdown import code
from mcp_proxy_conformance.report.markup import prose
from mcp_proxy_conformance.selftest.shipped import Shipped

MEANING = {
    "required": "a breach fails the target",
    "advisory": "advisory: a breach is reported, never counted",
}


def page(data: Shipped, wanted: str = "", within: Profile | None = None) -> str:
    """Return the Markdown page of all requirements, or of the one with the id, or clause, `wanted`.

    With `within` it has only what that profile judges. Equal data give equal bytes. Raises
    UnknownClause if no requirement or clause has that id.
    """
    rows = requirements(wanted, within)
    clauses = {
        row.id: [explained(clause.id, data) for clause in selected(row, wanted, within)]
        for row in rows
    }
    entries = [entry for group in clauses.values() for entry in group]
    interpretations = list(
        {row.id: row for entry in entries for row in entry.interpretations}.values()
    )
    cases = sorted({case.id: case.title for entry in entries for case in entry.cases}.items())
    parts = [
        _head(entries, rows, within),
        _contents(rows, clauses, {"Interpretations": interpretations, "Cases": cases}),
        _profiles(entries, within),
        *(_requirement(row, clauses[row.id], entries) for row in rows),
        _interpretations(interpretations),
        _cases(cases),
    ]
    lines = [line for part in parts for line in part]
    return "\n".join([*lines, ""])


def _head(
    entries: Sequence[Explained], rows: Sequence[Requirement], within: Profile | None
) -> Iterator[str]:
    """Yield the lines of the title, the totals of the page, and, unless None, the profile `within`.

    The totals count requirements, clauses by level, and distinct checks and cases.
    """
    firm = sum(entry.clause.level == "required" for entry in entries)
    checks = {f"{check.module}::{check.name}" for entry in entries for check in entry.checks}
    cases = {case.id for entry in entries for case in entry.cases}
    yield "# Requirements, and what proves them"
    yield ""
    yield (
        f"Requirements: {len(rows)}. Clauses: {len(entries)}, of which {firm} are required and"
        f" {len(entries) - firm} advisory. Checks: {len(checks)}. Cases: {len(cases)}."
    )
    if within is not None:
        yield ""
        yield f"Only what the profile {code(within.name)} judges: {prose(within.text)}"
    yield ""


def _contents(
    rows: Sequence[Requirement],
    clauses: Mapping[str, Sequence[Explained]],
    more: Mapping[str, Sequence[object]],
) -> Iterator[str]:
    """Yield the lines of links to the part Profiles, and to each requirement and its clauses.

    `more`: further parts by title, each linked unless it is empty.
    """
    yield "## Contents"
    yield ""
    yield "- [Profiles](#profiles)"
    for row in rows:
        yield f"- {_link(row.id)}: {prose(row.text)}"
        yield from (f"  - {_link(entry.clause.id)}" for entry in clauses[row.id])
    yield from (f"- [{title}](#{title.lower()})" for title, some in more.items() if some)
    yield ""


def _profiles(entries: Sequence[Explained], within: Profile | None) -> Iterator[str]:
    """Yield the lines of a table of `within` and the profiles that hold one of these clauses."""
    named = {profile.name: profile for entry in entries for profile in entry.profiles}
    if within is not None:
        named.setdefault(within.name, within)
    yield from _heading("##", "profiles", "Profiles")
    yield from _table(
        ("profile", "clauses", "what a target that passes does"),
        [
            (code(name), str(len(profile.clauses)), prose(profile.text))
            for name, profile in named.items()
        ],
    )


def _requirement(
    row: Requirement, own: Sequence[Explained], entries: Sequence[Explained]
) -> Iterator[str]:
    """Yield the lines on a requirement: text, what proves it, why it is untested, `own` clauses.

    `entries` are all clauses of the page: a clause that proves it is linked only if among them.
    """
    yield from _heading("##", row.id, prose(row.id))
    yield f"{row.keyword}: {prose(row.text)} (source: {_source(row.source)})"
    yield ""
    shown = {entry.clause.id for entry in entries}
    if row.proved_by:
        links = (_link(name) if name in shown else code(name) for name in row.proved_by)
        yield f"Proved by {', '.join(links)}."
        yield ""
    if row.untested:
        yield f"Untested: {prose(row.untested)}"
        yield ""
    for entry in own:
        yield from _clause(entry)


def _clause(entry: Explained) -> Iterator[str]:
    """Yield the lines on a clause: text, level, source, profiles, interpretations and proofs."""
    clause = entry.clause
    yield from _heading("###", clause.id, prose(clause.id))
    yield prose(clause.text)
    yield ""
    yield f"- Level: **{clause.level}**, {MEANING[clause.level]}."
    yield f"- Source: {_source(entry.source)}"
    yield f"- Observed: {prose(clause.observed)}"
    for label, words in (
        ("Advisory because", clause.advisory),
        ("Only for targets that declare", ", ".join(clause.capability)),
        ("Only with the option", f"--{clause.asked_by}" if clause.asked_by else ""),
        ("Untested", clause.untested),
    ):
        if words:
            yield f"- {label}: {prose(words)}"
    held = ", ".join(code(profile.name) for profile in entry.profiles) or "none"
    yield f"- Profiles: {held}"
    for row in entry.interpretations:
        yield f"- Interpretation {_link(row.id, 'interpretation')}: {prose(row.chosen)}"
    yield ""
    yield from _proofs(entry)


def _proofs(entry: Explained) -> Iterator[str]:
    """Yield the lines on a clause's checks, cases, listed mutants, and further ones.

    A part without content is left out; further mutants are only counted.
    """
    if entry.checks:
        yield from _table(
            ("check", "what it sees"),
            [(code(f"{c.module}::{c.name}"), prose(c.sentence)) for c in entry.checks],
        )
    if entry.cases:
        links = ", ".join(_link(case.id, "case") for case in entry.cases)
        yield f"{len(entry.cases)} cases: {links}"
        yield ""
    if entry.broken:
        yield from _table(
            ("mutant", "what is wrong with it"),
            [(code(mutant.id), prose(mutant.text)) for mutant in entry.broken],
        )
    if entry.others:
        yield f"Further mutants that break it: {entry.others}."
        yield ""


def _interpretations(rows: Sequence[Interpretation]) -> Iterator[str]:
    """Yield the lines on these interpretations; none without any."""
    if not rows:
        return
    yield from _heading("##", "interpretations", "Interpretations")
    for row in rows:
        yield from _heading("###", f"interpretation-{row.id}", prose(row.id))
        yield f"{prose(row.question)} (source: {_source(row.source)})"
        yield ""
        yield from (f"- {prose(reading)}" for reading in row.readings)
        yield ""
        yield f"The reading taken: {prose(row.chosen)}"
        yield ""
        yield f"The suite: {prose(row.suite)}"
        yield ""
        if row.no_variant:
            yield f"No variant takes the other reading: {prose(row.no_variant)}"
            yield ""


def _cases(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a table of cases, given as (id, title); none without any."""
    if rows:
        yield from _heading("##", "cases", "Cases")
        yield from _table(
            ("case", "what it asks"),
            [(f'<a id="case-{name}"></a>{code(name)}', prose(title)) for name, title in rows],
        )


def _heading(level: str, anchor: str, title: str) -> Iterator[str]:
    """Yield the lines of a heading (`level` is its "##"), with an HTML anchor above it."""
    yield f'<a id="{anchor}"></a>'
    yield ""
    yield f"{level} {title}"
    yield ""


def _link(name: str, kind: str = "") -> str:
    """Return a Markdown link whose text is this id.

    Its anchor is the id, after `kind` and a hyphen unless `kind` is empty.
    """
    return f"[{prose(name)}](#{f'{kind}-{name}' if kind else name})"


def _source(source: Source) -> str:
    """Return a source as text: the name of its document, and the place in that."""
    return prose(f"{source.text}, {source.at}")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table with this head and these rows, and an empty line."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
