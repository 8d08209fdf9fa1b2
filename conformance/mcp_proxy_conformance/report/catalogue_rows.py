"""Rows of the command `list`: the catalogue as text, and as members of schemas/list.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue import index as checks_index
from mcp_proxy_conformance.catalogue import interpretation, requirement
from mcp_proxy_conformance.catalogue.specification import specifications

FORMAT = "mcp-proxy-conformance-list/2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRow:
    """One row of a list: its text of one or more lines, and its JSON members."""

    text: str
    members: dict[str, Any]


def clauses() -> list[ListedRow]:
    """Return a row for each clause of each requirement, in the catalogue's order."""
    owners = requirement.catalogue().requirements
    return [_clause(clause, owner) for owner in owners for clause in owner.clauses]


def checks() -> list[ListedRow]:
    """Return a row for each check: file and name, cited clauses, and sentence."""
    return [
        ListedRow(
            text=f"{check.module}::{check.name}\n    {', '.join(check.clauses)}"
            f"\n    {check.sentence}",
            members={
                "name": check.name,
                "module": check.module,
                "clauses": list(check.clauses),
                "sentence": check.sentence,
            },
        )
        for check in checks_index.checks()
    ]


def cases() -> list[ListedRow]:
    """Return a row for each case, those of one specification after those of another."""
    return [
        ListedRow(
            text=f"{case.id:44} {', '.join(case.clauses)}\n    {case.title}",
            members={
                "id": case.id,
                "kind": each.name,
                "area": case.area,
                "title": case.title,
                "clauses": list(case.clauses),
            },
        )
        for each in specifications()
        for case in each.cases()
    ]


def profiles() -> list[ListedRow]:
    """Return a row for each profile: its id@version, number of clauses and text.

    Its JSON members have its clauses, interpretations and floor too.
    """
    return [
        ListedRow(
            text=f"{f'{profile.id}@{profile.version}':24} {len(profile.clauses)} clauses"
            f"\n    {profile.text}",
            members={
                "id": profile.id,
                "version": profile.version,
                "text": profile.text,
                "clauses": list(profile.clauses),
                "interpretations": list(profile.interpretations),
                "floor": {
                    "capabilities": list(profile.floor.capabilities),
                    "passes": list(profile.floor.passes),
                },
            },
        )
        for profile in requirement.profiles()
    ]


def interpretations() -> list[ListedRow]:
    """Return a row for each interpretation of a sentence that can be read in more than one way."""
    return [
        ListedRow(
            text=f"{entry.id:36} {', '.join(entry.clauses)}\n    {entry.question}"
            f"\n    {entry.chosen}",
            members={
                "id": entry.id,
                "clauses": list(entry.clauses),
                "source": {"text": entry.source.text, "at": entry.source.at},
                "question": entry.question,
                "readings": list(entry.readings),
                "chosen": entry.chosen,
                "suite": entry.suite,
            },
        )
        for entry in interpretation.interpretations()
    ]


def _clause(clause: requirement.Clause, owner: requirement.Requirement) -> ListedRow:
    """Return a clause's row: level, id, text and, if it is untested, why.

    Its JSON members also have its source (or its requirement's), profiles and capabilities.
    """
    note = f"  (untested: {clause.untested})" if clause.untested else ""
    source = clause.source or owner.source
    return ListedRow(
        text=f"{clause.level}  {clause.id:36} {clause.text}{note}",
        members={
            "id": clause.id,
            "requirement": owner.id,
            "level": clause.level,
            "text": clause.text,
            "observed": clause.observed,
            "source": {"text": source.text, "at": source.at},
            "capabilities": list(clause.capability),
            "asked_by": clause.asked_by,
            "advisory": clause.advisory,
            "untested": clause.untested,
            "profiles": [p.id for p in requirement.profiles() if clause.id in p.clauses],
        },
    )
