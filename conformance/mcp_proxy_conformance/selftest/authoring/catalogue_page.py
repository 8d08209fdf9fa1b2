"""The catalogue as one Markdown document: every requirement, and what proves it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mcp_proxy_conformance.catalogue.interpretation import Interpretation
from mcp_proxy_conformance.catalogue.requirement import Profile, Requirement, Source
from mcp_proxy_conformance.report.markdown import code
from mcp_proxy_conformance.report.markup import prose
from mcp_proxy_conformance.selftest.authoring.explained import (
    Explained,
    asked,
    explained,
    requirements,
)
from mcp_proxy_conformance.selftest.shipped import Shipped

MEANING = {"F": "a breach fails the target", "A": "advisory: a breach is reported, never counted"}


def page(data: Shipped, wanted: str = "", within: Profile | None = None) -> str:
    """The document, of one requirement or clause if one is wanted; the same data, the same bytes.

    Raises:
        UnknownClause: No requirement and no clause is called so.
    """
    rows = requirements(wanted, within)
    clauses = {
        row.id: [explained(clause.id, data) for clause in asked(row, wanted, within)]
        for row in rows
    }
    every = [one for told in clauses.values() for one in told]
    rulings = list({row.id: row for one in every for row in one.rulings}.values())
    cases = sorted({case.id: case.title for one in every for case in one.cases}.items())
    parts = [
        _head(every, rows, within),
        _contents(rows, clauses, {"Interpretations": rulings, "Cases": cases}),
        _profiles(every, within),
        *(_requirement(row, clauses[row.id], every) for row in rows),
        _rulings(rulings),
        _cases(cases),
    ]
    lines = [line for part in parts for line in part]
    return "\n".join([*lines, ""])


def _head(
    every: Sequence[Explained], rows: Sequence[Requirement], within: Profile | None
) -> Iterator[str]:
    firm = sum(one.clause.judgement == "F" for one in every)
    checks = {f"{check.module}::{check.name}" for one in every for check in one.checks}
    cases = {case.id for one in every for case in one.cases}
    yield "# Requirements, and what proves them"
    yield ""
    yield (
        f"Requirements: {len(rows)}. Clauses: {len(every)}, of which {firm} convict and"
        f" {len(every) - firm} are advisory. Checks: {len(checks)}. Cases: {len(cases)}."
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
    yield "## Contents"
    yield ""
    yield "- [Profiles](#profiles)"
    for row in rows:
        yield f"- {_link(row.id)}: {prose(row.text)}"
        yield from (f"  - {_link(one.clause.id)}" for one in clauses[row.id])
    yield from (f"- [{title}](#{title.lower()})" for title, some in more.items() if some)
    yield ""


def _profiles(every: Sequence[Explained], within: Profile | None) -> Iterator[str]:
    named = {one.name: one for told in every for one in told.profiles}
    if within is not None:
        named.setdefault(within.name, within)
    yield from _heading("##", "profiles", "Profiles")
    yield from _table(
        ("profile", "clauses", "what a target that passes does"),
        [(code(name), str(len(one.clauses)), prose(one.text)) for name, one in named.items()],
    )


def _requirement(
    row: Requirement, told: Sequence[Explained], every: Sequence[Explained]
) -> Iterator[str]:
    yield from _heading("##", row.id, prose(row.id))
    yield f"{row.keyword}: {prose(row.text)} (source: {_source(row.source)})"
    yield ""
    shown = {one.clause.id for one in every}
    if row.proved_by:
        links = (_link(one) if one in shown else code(one) for one in row.proved_by)
        yield f"Proved by {', '.join(links)}."
        yield ""
    if row.untested:
        yield f"Untested: {prose(row.untested)}"
        yield ""
    for one in told:
        yield from _clause(one)


def _clause(one: Explained) -> Iterator[str]:
    clause = one.clause
    yield from _heading("###", clause.id, prose(clause.id))
    yield prose(clause.text)
    yield ""
    yield f"- Judgement: **{clause.judgement}**, {MEANING[clause.judgement]}."
    yield f"- Source: {_source(one.source)}"
    yield f"- Observed: {prose(clause.observed)}"
    for label, words in (
        ("Advisory because", clause.advisory),
        ("Only for targets declaring", ", ".join(clause.capability)),
        ("Only when asked for by", f"--{clause.asked_by}" if clause.asked_by else ""),
        ("Untested", clause.untested),
    ):
        if words:
            yield f"- {label}: {prose(words)}"
    held = ", ".join(code(profile.name) for profile in one.profiles) or "none"
    yield f"- Profiles: {held}"
    for row in one.rulings:
        yield f"- Ruling {_link(row.id, 'ruling')}: {prose(row.ruling)}"
    yield ""
    yield from _proofs(one)


def _proofs(one: Explained) -> Iterator[str]:
    if one.checks:
        yield from _table(
            ("check", "what it sees"),
            [(code(f"{c.module}::{c.name}"), prose(c.sentence)) for c in one.checks],
        )
    if one.cases:
        links = ", ".join(_link(case.id, "case") for case in one.cases)
        yield f"{len(one.cases)} cases: {links}"
        yield ""
    if one.broken:
        yield from _table(
            ("counterexample", "what is wrong with it", "killed by"),
            [(code(b.id), prose(b.text), ", ".join(map(code, b.killers))) for b in one.broken],
        )
    if one.others:
        yield f"Further counterexamples that break it: {one.others}."
        yield ""


def _rulings(rows: Sequence[Interpretation]) -> Iterator[str]:
    if not rows:
        return
    yield from _heading("##", "interpretations", "Interpretations")
    for row in rows:
        yield from _heading("###", f"ruling-{row.id}", prose(row.id))
        yield f"{prose(row.question)} (source: {_source(row.source)})"
        yield ""
        yield from (f"- {prose(reading)}" for reading in row.readings)
        yield ""
        yield f"Ruling: {prose(row.ruling)}"
        yield ""
        yield f"The suite: {prose(row.suite)}"
        yield ""
        if row.no_variant:
            yield f"No variant takes the other reading: {prose(row.no_variant)}"
            yield ""


def _cases(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield from _heading("##", "cases", "Cases")
        yield from _table(
            ("case", "what it asks"),
            [(f'<a id="case-{name}"></a>{code(name)}', prose(title)) for name, title in rows],
        )


def _heading(level: str, anchor: str, title: str) -> Iterator[str]:
    """A heading, and before it an anchor that every renderer keeps as it stands."""
    yield f'<a id="{anchor}"></a>'
    yield ""
    yield f"{level} {title}"
    yield ""


def _link(name: str, kind: str = "") -> str:
    return f"[{prose(name)}](#{f'{kind}-{name}' if kind else name})"


def _source(source: Source) -> str:
    return prose(f"{source.text}, {source.at}")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""
