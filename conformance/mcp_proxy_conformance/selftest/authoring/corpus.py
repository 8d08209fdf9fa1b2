"""The shipped data with an author's files in the place of those of the same kind and name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.index import checks_of
from mcp_proxy_conformance.catalogue.requirement import Catalogue, Profile
from mcp_proxy_conformance.catalogue.resources import fixtures_dir
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.selftest.authoring.documents import Document, read
from mcp_proxy_conformance.selftest.authoring.kinds import (
    CASE,
    FROZEN,
    KINDS,
    LOAD_CASE,
    PROFILE,
    PROOFS,
    REQUIREMENTS,
    RULINGS,
    STAGE,
    Kind,
)
from mcp_proxy_conformance.selftest.gather import JUDGING
from mcp_proxy_conformance.selftest.shipped import Shipped, shipped_with


@dataclass(frozen=True)
class Corpus:
    """Every document by kind and name; `own` are those that are asked about."""

    documents: Mapping[tuple[str, str], Document]
    own: frozenset[tuple[str, str]]

    def of(self, kind: Kind, *, own: bool = False) -> list[Document]:
        """The readable documents of a kind, in order of name; with `own` those asked about."""
        keys = sorted(key for key in self.documents if key[0] == kind.noun)
        found = [self.documents[key] for key in keys if not own or key in self.own]
        return [one for one in found if one.value is not None]

    def values(self, kind: Kind) -> list[Any]:
        """What the documents of a kind hold."""
        return [one.value for one in self.of(kind)]

    @cached_property
    def catalogue(self) -> Catalogue:
        """Every requirement."""
        parts = self.values(REQUIREMENTS)
        return Catalogue(requirements=tuple(row for one in parts for row in one.requirements))

    @cached_property
    def stages(self) -> dict[str, World]:
        """Every stage by its name."""
        return {one.id: one for one in self.values(STAGE)}

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """Every profile in every version."""
        return tuple(sorted(self.values(PROFILE), key=lambda one: (one.id, one.version)))

    @cached_property
    def newest(self) -> dict[str, Profile]:
        """Every profile by its id, in its newest version."""
        return {one.id: one for one in self.profiles}

    @cached_property
    def judged(self) -> frozenset[str]:
        """The clauses that some profile lists in its newest version."""
        return frozenset(name for one in self.newest.values() for name in one.clauses)

    @cached_property
    def frozen(self) -> dict[str, str]:
        """What frozen versions of profiles come to."""
        keys = [key for key in self.documents if key[0] == FROZEN.noun]
        parts = [self.documents[key].data for key in keys if not self.documents[key].faults]
        return {name: told for one in parts for name, told in one["frozen"].items()}

    @cached_property
    def shipped(self) -> Shipped:
        """All that judges and all that proves it."""
        proofs = self.values(PROOFS)
        return shipped_with(
            clauses=self.catalogue.clauses,
            proven=tuple(self.newest[name] for name in JUDGING if name in self.newest),
            profiles=self.profiles,
            rulings=tuple(row for one in self.values(RULINGS) for row in one.rows),
            checks=checks_of(self.values(CASE), self.values(LOAD_CASE)),
            cases=(*self.values(CASE), *self.values(LOAD_CASE)),
            proofs=reduce(dict.__or__, (one.kills for one in proofs), {}),
            live=reduce(dict.__or__, (one.live for one in proofs), {}),
        )


def corpus(own: Iterable[Document]) -> Corpus:
    """The installed documents, overlaid by these."""
    mine = {one.key: one for one in own}
    read_already = {one.path.absolute() for one in mine.values()}
    others = [path for path in installed() if path.absolute() not in read_already]
    there = {one.key: one for path in others if (one := _known(path)) is not None}
    return Corpus(documents={**there, **mine}, own=frozenset(mine))


def installed() -> list[Path]:
    """The files of the kinds that authors write, where they are shipped."""
    found = [path for kind in KINDS for path in fixtures_dir().glob(kind.shipped)]
    return sorted(found)


@cache
def _known(path: Path) -> Document | None:
    """A shipped document; none if it cannot be read, which is told where it is asked about."""
    told = read(path, whole=False)
    return told if isinstance(told, Document) else None
