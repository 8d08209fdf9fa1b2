"""Lint rules for requirements, sentences, profiles (also frozen ones) and interpretations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mcp_proxy_conformance.authoring.corpus import Corpus
from mcp_proxy_conformance.authoring.documents import Document
from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.authoring.frozen import fingerprint
from mcp_proxy_conformance.authoring.kinds import REQUIREMENTS
from mcp_proxy_conformance.catalogue.requirement import (
    Catalogue,
    Clause,
    Profile,
    Requirement,
    Source,
    unknown,
)

Place = tuple[str | int, ...]
_NUMBERED = re.compile(r"(FR|SC|EC|US[0-9]+)-[0-9]+")
"""Places that are the id of a requirement; assumptions (AS-1) and headings demand nothing."""


def requirement_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on a file of requirements that is valid under its schema.

    They are on places that the source lacks, clauses misnamed or in no profile, wrong
    `proved_by`, and advisory clauses that no interpretation names.
    """
    value: Catalogue = document.value
    explained = {name for row in known.shipped.interpretations for name in row.clauses}
    for number, row in enumerate(value.requirements):
        at: Place = ("requirement", number)
        yield from _source(document, at, row.source, known)
        yield from _proved(document, at, row, known)
        for place, clause in enumerate(row.clauses):
            yield from _clause(document, (*at, "clause", place), clause, row, known)
            if clause.level == "advisory" and clause.id not in explained:
                fault = f"{clause.id} is advisory, but no interpretation names it"
                repair = "name it in a row of fixtures/*/interpretations.toml"
                yield document.finding_at((*at, "clause", place, "id"), fault, repair)


def _clause(
    document: Document, at: Place, clause: Clause, row: Requirement, known: Corpus
) -> Iterator[LintFinding]:
    """Yield the findings on a clause: its source, its id, and that no profile lists it.

    An `untested` one needs no profile. The id must begin with its requirement's; with a tilde,
    it must be an advisory clause beside a required one.
    """
    if clause.source is not None:
        yield from _source(document, at, clause.source, known)
    if clause.untested is None and clause.id not in known.judged:
        fault = f"no profile lists {clause.id} in its newest version"
        repair = (
            "list it in one, and in discovery-live if an endpoint that is only read can show it;"
            " or say why it is `untested`"
        )
        yield document.finding_at((*at, "id"), fault, repair)
    if not clause.id.startswith(f"{row.id}."):
        fault = f"{clause.id} is listed under {row.id}"
        yield document.finding_at((*at, "id"), fault, f"rename it to {row.id}.…, or move it")
    if "~" in clause.id:
        beside = known.catalogue.clauses.get(clause.id.partition("~")[0])
        if clause.level != "advisory" or beside is None or beside.level != "required":
            fault = f"{clause.id} is not an advisory clause beside a required one"
            repair = "make it advisory, and the clause named before the tilde required"
            yield document.finding_at((*at, "id"), fault, repair)


def _proved(
    document: Document, at: Place, row: Requirement, known: Corpus
) -> Iterator[LintFinding]:
    """Yield a finding for each unknown or untested clause in the requirement's `proved_by`."""
    for name in row.proved_by:
        clause = known.catalogue.clauses.get(name)
        place = (*at, "proved_by")
        if clause is None:
            fault = unknown("clause", name, known.catalogue.clauses)
            yield document.finding_at(place, fault, "name an existing clause")
        elif clause.untested:
            yield document.finding_at(
                place, f"{name} is untested", "name a clause that has a check"
            )


def _source(document: Document, at: Place, source: Source, known: Corpus) -> Iterator[LintFinding]:
    """Yield a finding if the text that the source names is unknown, or has no such place."""
    there = known.places.get(source.text, frozenset())
    if source.at not in there:
        fault = f"{source.text}: {unknown('place', source.at, there)}"
        repair = "name a place of that text; a new sentence is a row of fixtures/*/sentences.toml"
        yield document.finding_at((*at, "source"), fault, repair)


def sentence_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on a list of sentences that is valid under its schema.

    They are on unknown clauses, on places that look like a requirement's id but are not one,
    and on clauses of its specification that no sentence names.
    """
    clauses = known.catalogue.clauses
    requirements = {row.id for row in known.catalogue.requirements}
    named = {name for row in known.sentences for name in row.clauses}
    folder = document.path.absolute().parent.name
    beside = [each for each in known.of(REQUIREMENTS) if each.path.absolute().parts[-3] == folder]
    owned = [row for each in beside for row in each.value.requirements]
    for number, row in enumerate(document.value.rows):
        at: Place = ("sentence", number)
        for name in row.clauses:
            if name not in clauses:
                fault = unknown("clause", name, clauses)
                yield document.finding_at((*at, "clauses", name), fault, "name an existing clause")
        if _NUMBERED.fullmatch(row.at) and row.at not in requirements:
            fault = f"there is no requirement {row.at}"
            yield document.finding_at((*at, "at"), fault, "write it in fixtures/*/requirements")
    for name in {clause.id for row in owned for clause in row.clauses} - named:
        fault = f"no sentence names the clause {name}"
        yield document.finding_at((), fault, "list it in `clauses` of the sentence that it judges")


def interpretation_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on interpretations that are valid under their schema.

    They are on unknown clauses, and on wrong places of the source.
    """
    for number, row in enumerate(document.value.rows):
        at: Place = ("interpretation", number)
        yield from _source(document, at, row.source, known)
        for name in row.clauses:
            if name not in known.catalogue.clauses:
                fault = unknown("clause", name, known.catalogue.clauses)
                yield document.finding_at((*at, "clauses"), fault, "name an existing clause")


def profile_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield the findings on a profile that is valid under its schema.

    They are on the file's name, on clauses that are unknown or untested (but for `later`), on
    its floor, and on a frozen version that was changed.
    """
    value: Profile = document.value
    if document.path.stem not in (value.id, value.name):
        fault = f"the profile is {value.name}, but the file is {document.path.name}"
        yield document.finding_at(
            ("id",), fault, f"name the file {value.id}.toml, or {value.name}.toml if older"
        )
    clauses = known.catalogue.clauses
    for name in value.clauses:
        if name not in clauses:
            fault = unknown("clause", name, clauses)
            yield document.finding_at(("clauses", name), fault, "name an existing clause")
        elif clauses[name].untested not in (None, "later"):
            yield document.finding_at(("clauses", name), f"{name} is untested", "remove it")
    yield from _floor(document, value, known)
    frozen = known.frozen.get(value.name, "")
    if frozen and frozen != fingerprint(value):
        fault = f"{value.name} is frozen, but its clauses or its floor have changed"
        later = f"make the change in version {value.version + 1}"
        repair = f"undo the change, keep the file as {value.name}.toml, and {later}"
        yield document.finding_at(("version",), fault, repair)


def frozen_findings(document: Document, known: Corpus) -> Iterator[LintFinding]:
    """Yield a finding for each frozen profile version that no profile file contains any more."""
    there = [profile.name for profile in known.profiles]
    for name in document.data["frozen"]:
        if name not in there:
            fault = f"{name} is frozen, but no file of fixtures/*/profiles contains it"
            yield document.finding_at(("frozen", name), fault, f"restore it as {name}.toml")


def _floor(document: Document, value: Profile, known: Corpus) -> Iterator[LintFinding]:
    """Yield a finding for each clause that the profile's floor asks for but cannot.

    It must be in the profile, be required, and need no capability that the floor does not ask
    for.
    """
    for name in value.floor.passes:
        clause = known.catalogue.clauses.get(name)
        at: Place = ("floor", "passes", name)
        if clause is None or name not in value.clauses:
            fault = f"the floor asks for {name}, which is not in the profile"
            yield document.finding_at(
                at, fault, "list it in `clauses`, or remove it from the floor"
            )
        elif clause.level != "required":
            fault = f"the floor asks for {name}, which is only advisory"
            yield document.finding_at(at, fault, "remove it")
        elif not set(clause.capability) <= set(value.floor.capabilities):
            fault = f"{name} needs a capability that the floor does not have"
            repair = "add the capability, or remove the clause from the floor"
            yield document.finding_at(at, fault, repair)


def doubled(known: Corpus) -> Iterator[tuple[str, str]]:
    """Yield (noun, id) for each id that occurs more than once in its kind.

    The kinds are clause (requirements included), interpretation, case and profile.
    """
    rows = known.catalogue.requirements
    ids = [clause.id for row in rows for clause in row.clauses]
    groups = {
        "clause": [*ids, *(row.id for row in rows)],
        "interpretation": [row.id for row in known.shipped.interpretations],
        "case": [case.id for case in known.shipped.cases],
        "profile": [profile.name for profile in known.profiles],
    }
    for noun, names in groups.items():
        for name, count in Counter(names).items():
            if count > 1:
                yield noun, name
