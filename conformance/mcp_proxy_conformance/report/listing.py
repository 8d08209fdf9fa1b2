"""What there is, row by row: as text for people, and as the members of schemas/list.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue import index as checks_index
from mcp_proxy_conformance.catalogue import interpretation, requirement
from mcp_proxy_conformance.catalogue.load_case import load_cases

FORMAT = "mcp-proxy-conformance-list/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing: its line or lines, and its members."""

    text: str
    members: dict[str, Any]


def clauses() -> list[Row]:
    """Every clause of every requirement."""
    owners = requirement.catalogue().requirements
    return [_clause(one, owner) for owner in owners for one in owner.clauses]


def checks() -> list[Row]:
    """Every check, with the clauses that it proves."""
    return [
        Row(
            text=f"{one.module}::{one.name}\n    {', '.join(one.clauses)}\n    {one.sentence}",
            members={
                "name": one.name,
                "module": one.module,
                "clauses": list(one.clauses),
                "sentence": one.sentence,
            },
        )
        for one in checks_index.checks()
    ]


def cases() -> list[Row]:
    """Every case of discovery, then those of loaders."""
    every = [("discovery", one) for one in checks_index.cases()]
    return [_case(kind, one) for kind, one in [*every, *(("load", one) for one in load_cases())]]


def profiles() -> list[Row]:
    """Every profile in its version."""
    return [
        Row(
            text=f"{f'{one.id}@{one.version}':24} {len(one.clauses)} clauses\n    {one.text}",
            members={
                "id": one.id,
                "version": one.version,
                "text": one.text,
                "clauses": list(one.clauses),
                "rulings": list(one.rulings),
                "floor": {
                    "capabilities": list(one.floor.capabilities),
                    "passes": list(one.floor.passes),
                },
            },
        )
        for one in requirement.profiles()
    ]


def interpretations() -> list[Row]:
    """Every ruling on a sentence that can be read in more than one way."""
    return [
        Row(
            text=f"{one.id:36} {', '.join(one.clauses)}\n    {one.question}\n    {one.ruling}",
            members={
                "id": one.id,
                "clauses": list(one.clauses),
                "source": {"text": one.source.text, "at": one.source.at},
                "question": one.question,
                "readings": list(one.readings),
                "ruling": one.ruling,
                "suite": one.suite,
            },
        )
        for one in interpretation.interpretations()
    ]


def _clause(one: requirement.Clause, owner: requirement.Requirement) -> Row:
    note = f"  (untested: {one.untested})" if one.untested else ""
    source = one.source or owner.source
    return Row(
        text=f"{one.judgement}  {one.id:36} {one.text}{note}",
        members={
            "id": one.id,
            "requirement": owner.id,
            "judgement": one.judgement,
            "text": one.text,
            "observed": one.observed,
            "source": {"text": source.text, "at": source.at},
            "capabilities": list(one.capability),
            "asked_by": one.asked_by,
            "advisory": one.advisory,
            "untested": one.untested,
            "profiles": [p.id for p in requirement.profiles() if one.id in p.clauses],
        },
    )


def _case(kind: str, one: Any) -> Row:
    return Row(
        text=f"{one.id:44} {', '.join(one.clauses)}\n    {one.title}",
        members={
            "id": one.id,
            "kind": kind,
            "area": one.area,
            "title": one.title,
            "clauses": list(one.clauses),
        },
    )
