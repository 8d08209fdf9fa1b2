"""The catalogue of requirements, the profiles, and the decorator by which checks cite clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from mcp_proxy_conformance.catalogue.specification import data_files, folders_of

Level = Literal["required", "advisory"]
"""`required`: a breach fails the target. `advisory`: it is reported and never counts."""

Capability = Literal[
    "config", "user", "server_off", "refresh", "agents", "allow_list", "approval", "quarantine",
    "inspect", "counter", "state", "indeterminate", "restart",
    "classifies", "attempts", "warnings", "retries", "stdio",
]  # fmt: skip
"""Features that a target declares can be set up or inspected; the last five are of loaders."""

_Check = TypeVar("_Check", bound=Callable[..., object])


class UnknownClause(LookupError):
    """No catalogue has a clause of this id."""


class UnknownProfile(LookupError):
    """No profile has this id or version, or one profile is named in two versions."""


class MixedLevels(ValueError):
    """A check cites required and advisory clauses together, or no clause at all."""


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of one of the data files; an unknown key is an error."""


class Source(_Row, frozen=True, kw_only=True):
    """The sentence that a row of the data files rests on: its source text, and its place there."""

    text: str
    at: str


class Clause(_Row, frozen=True, kw_only=True):
    """One observable sentence about a target; without a `source`, its requirement's applies.

    `broken` says what is wrong when the clause is broken; a report continues it with the findings.
    """

    id: str
    level: Level
    text: str
    broken: str = ""
    observed: str
    source: Source | None = None
    capability: tuple[Capability, ...] = ()
    asked_by: Literal["soak", "baseline"] | None = None
    advisory: str | None = None
    untested: str | None = None


class Requirement(_Row, frozen=True, kw_only=True, rename={"clauses": "clause"}):
    """One requirement of a source text, and the clauses that it is judged by."""

    id: str
    keyword: Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "—"]
    text: str
    source: Source
    clauses: tuple[Clause, ...] = ()
    proved_by: tuple[str, ...] = ()
    untested: str | None = None


class Catalogue(_Row, frozen=True, kw_only=True, dict=True, rename={"requirements": "requirement"}):
    """The requirements of one file, or of all files."""

    requirements: tuple[Requirement, ...]

    @cached_property
    def clauses(self) -> dict[str, Clause]:
        """Every clause by its id, in the order of the files."""
        return {clause.id: clause for row in self.requirements for clause in row.clauses}

    def clause(self, clause_id: str) -> Clause:
        """Return the clause of this id; raise UnknownClause, with the nearest id, without one."""
        if clause_id not in self.clauses:
            raise UnknownClause(unknown("clause", clause_id, self.clauses))
        return self.clauses[clause_id]

    def source(self, clause_id: str) -> Source:
        """Return the place in a source text that a clause rests on: its own, or its requirement's.

        Raises UnknownClause.
        """
        return self.clause(clause_id).source or self.owner(clause_id).source

    def owner(self, clause_id: str) -> Requirement:
        """Return the requirement that a clause is a part of; raise UnknownClause without one."""
        clause = self.clause(clause_id)
        return next(row for row in self.requirements if clause in row.clauses)

    def meant(self, wanted: str) -> tuple[str, ...]:
        """Return the ids of the clauses meant: all of a requirement, or the one of that id.

        Raises UnknownClause, which names the nearest id, if it is neither.
        """
        for row in self.requirements:
            if row.id == wanted and row.clauses:
                return tuple(clause.id for clause in row.clauses)
        if wanted in self.clauses:
            return (wanted,)
        known = [*(row.id for row in self.requirements if row.clauses), *self.clauses]
        raise UnknownClause(unknown("requirement or clause", wanted, known))


class Floor(_Row, frozen=True, kw_only=True):
    """Minimum for conformance: capabilities to declare, and clauses that must really pass."""

    capabilities: tuple[Capability, ...] = ()
    passes: tuple[str, ...] = ()


BESIDE = "+"
"""Separator between the ids of profiles that are judged together."""
OF_ONES_OWN = "For a check of your own, without a clause of the suite, leave @requirement out."


class Profile(_Row, frozen=True, kw_only=True):
    """A frozen, versioned set of clauses, and the ids of the interpretations that it rests on.

    `versions` are those of several profiles judged as one; no file contains them.
    """

    id: str
    version: int
    text: str
    clauses: tuple[str, ...]
    interpretations: tuple[str, ...]
    floor: Floor
    versions: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Its id and version, as in `discovery@1`; of several joined by `+`, each with its own."""
        return BESIDE.join(map("{}@{}".format, self.ids, self.versions or (self.version,)))

    @property
    def holds(self) -> frozenset[str]:
        """Its clauses as a set, for membership tests."""
        return frozenset(self.clauses)

    @property
    def ids(self) -> tuple[str, ...]:
        """Its id, or those of the profiles that it is made of."""
        return tuple(self.id.split(BESIDE))

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that hold the checks of the profile."""
        return folders_of(self.ids)

    def beside(self, other: Profile) -> Profile:
        """Return one profile of this and another, with the clauses and floors of both.

        Its `version` is this one's; `versions` has both.
        """
        return Profile(
            id=f"{self.id}{BESIDE}{other.id}",
            version=self.version,
            versions=(*(self.versions or (self.version,)), other.version),
            text=f"{self.text} {other.text}",
            clauses=(*self.clauses, *other.clauses),
            interpretations=(*self.interpretations, *other.interpretations),
            floor=Floor(
                capabilities=(*self.floor.capabilities, *other.floor.capabilities),
                passes=(*self.floor.passes, *other.floor.passes),
            ),
        )


@cache
def catalogue() -> Catalogue:
    """Return the requirements of every file in fixtures/*/requirements, by file name, read once."""
    files = data_files("requirements/*.toml")
    parts = [msgspec.toml.decode(file.read_bytes(), type=Catalogue) for file in files]
    return Catalogue(requirements=tuple(row for part in parts for row in part.requirements))


@cache
def profile(wanted: str) -> Profile:
    """Return the profile of this id; of several, such as `discovery+robustness`, all as one.

    The newest version of each, unless one is named: `discovery@1`. Raises UnknownProfile if an
    id or version is unknown, or one profile is named in two versions.
    """
    chosen = tuple(dict.fromkeys(_version(part) for part in wanted.split(BESIDE)))
    twice = [
        name for name, count in Counter(candidate.id for candidate in chosen).items() if count > 1
    ]
    if twice:
        raise UnknownProfile(f"{wanted} names the profile {twice[0]} in two versions; keep one.")
    return reduce(Profile.beside, chosen)


def _version(wanted: str) -> Profile:
    profile_id, at, version = wanted.partition("@")
    known = {candidate.id: candidate for candidate in profiles()}
    if profile_id not in known:
        raise UnknownProfile(unknown("profile", profile_id, known))
    if not at:
        return known[profile_id]
    there = {candidate.name: candidate for candidate in versions() if candidate.id == profile_id}
    if wanted not in there:
        names = ", ".join(there)
        raise UnknownProfile(f"There is no version {version!r} of {profile_id}; known: {names}.")
    return there[wanted]


@cache
def profiles() -> tuple[Profile, ...]:
    """Return every profile in its newest version, in order of id."""
    return tuple({version.id: version for version in versions()}.values())


@cache
def versions() -> tuple[Profile, ...]:
    """Return every profile in every version that is kept, in order of id and version."""
    files = data_files("profiles/*.toml")
    rows = [msgspec.toml.decode(file.read_bytes(), type=Profile) for file in files]
    return tuple(sorted(rows, key=lambda row: (row.id, row.version)))


def requirement(*ids: str) -> Callable[[_Check], _Check]:
    """Return a decorator that marks a check with the clauses that it judges.

    Raises UnknownClause for an unknown id, MixedLevels if the clauses are not of one level or
    none is given.
    """
    known = catalogue().clauses
    for clause_id in ids:
        if clause_id not in known:
            raise UnknownClause(f"{unknown('clause', clause_id, known)} {OF_ONES_OWN}")
    levels = {clause_id: known[clause_id].level for clause_id in ids}
    if len(set(levels.values())) != 1:
        cited = ", ".join(f"{name} ({kind})" for name, kind in levels.items()) or "nothing"
        raise MixedLevels(
            f"A check must cite clauses of one level, and this one cites {cited}; split it.",
        )

    import pytest  # noqa: PLC0415 - checks alone are marked; `list` and `explain` go without

    def mark(check: _Check) -> _Check:
        """Return the check with a pytest marker that holds the ids of the clauses."""
        marked: _Check = pytest.mark.requirement(*ids)(check)
        return marked

    return mark


def unknown(noun: str, wanted: str, known: Iterable[str]) -> str:
    """Return the sentence for an unknown id, with the nearest known one, if any.

    `noun` says what it is not an id of.
    """
    near = nearest(wanted, known)
    hint = f"the nearest is {near!r}" if near else "there are none"
    return f"There is no {noun} {wanted!r}; {hint}."


def nearest(wanted: str, known: Iterable[str]) -> str:
    """Return the known id most like `wanted`, of its own requirement if that has any; else ""."""
    ids, owner = list(known), wanted
    while owner := owner.rpartition(".")[0]:
        if kin := [name for name in ids if f"{name}.".startswith(f"{owner}.")]:
            return get_close_matches(wanted, kin, 1, 0.0)[0]
    return next(iter(get_close_matches(wanted, ids, 1, 0.0)), "")
