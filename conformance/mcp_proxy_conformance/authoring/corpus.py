"""Data files as the linter sees them: all the shipped ones, some replaced by an author's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.authoring.documents import Document, read
from mcp_proxy_conformance.authoring.kinds import (
    FROZEN,
    INTERPRETATIONS,
    OWN,
    PROFILE,
    REQUIREMENTS,
    SENTENCES,
    Kind,
    kinds,
)
from mcp_proxy_conformance.catalogue.case_file import Place
from mcp_proxy_conformance.catalogue.index import checks_of
from mcp_proxy_conformance.catalogue.requirement import Catalogue, Profile
from mcp_proxy_conformance.catalogue.sentence import Sentence, places
from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.selftest.shipped import Shipped, shipped_with

Key = tuple[str, str, Place]


@dataclass(frozen=True)
class Corpus:
    """Every data document by its key; `own` are the keys of those to lint."""

    documents: Mapping[Key, Document]
    own: frozenset[Key]

    def of(self, kind: Kind, *, own: bool = False) -> list[Document]:
        """Return the documents of a kind that could be converted to its type, sorted by name.

        With `own`, only those to lint, without the shipped ones they are checked with.
        """
        keys = sorted(key for key in self.documents if key[0] == kind.noun)
        documents = [self.documents[key] for key in keys if not own or key in self.own]
        return [document for document in documents if document.value is not None]

    def values(self, kind: Kind) -> list[Any]:
        """Return the values of the documents of a kind that could be converted, sorted by name."""
        return [document.value for document in self.of(kind)]

    @cached_property
    def catalogue(self) -> Catalogue:
        """The requirements of all files as one catalogue."""
        parts = self.values(REQUIREMENTS)
        return Catalogue(requirements=tuple(row for part in parts for row in part.requirements))

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Every sentence of the source texts."""
        return tuple(row for part in self.values(SENTENCES) for row in part.rows)

    @cached_property
    def places(self) -> Mapping[str, frozenset[str]]:
        """The places that a pointer to the source may name, by the name of the source text."""
        return places(self.sentences)

    @cached_property
    def stages(self) -> dict[str, World]:
        """Every stage of the corpus by its name."""
        of = [kind for kind in kinds() if kind.schema == "stage"]
        return {stage.id: stage for kind in of for stage in self.values(kind)}

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """Every profile in every version, in order of id and version."""
        return tuple(
            sorted(self.values(PROFILE), key=lambda profile: (profile.id, profile.version))
        )

    @cached_property
    def newest(self) -> dict[str, Profile]:
        """The newest version of each profile, by its id."""
        return {profile.id: profile for profile in self.profiles}

    @cached_property
    def judged(self) -> frozenset[str]:
        """The clauses that some profile lists in its newest version."""
        return frozenset(name for profile in self.newest.values() for name in profile.clauses)

    @cached_property
    def frozen(self) -> dict[str, str]:
        """The fingerprints that files hold for frozen profile versions, by name: `discovery@1`.

        Files with faults are left out.
        """
        keys = [key for key in self.documents if key[0] == FROZEN.noun]
        parts = [self.documents[key].data for key in keys if not self.documents[key].faults]
        return {name: fingerprint for part in parts for name, fingerprint in part["frozen"].items()}

    @cached_property
    def shipped(self) -> Shipped:
        """The corpus as a Shipped, in which `shipped.gaps` searches for gaps.

        It has the newest versions of the proven profiles.
        """
        cases = {kind.giving: self.values(kind) for kind in kinds() if kind.giving}
        return shipped_with(
            clauses=self.catalogue.clauses,
            proven=tuple(
                self.newest[name]
                for each in specifications()
                for name in each.proven
                if name in self.newest
            ),
            profiles=self.profiles,
            interpretations=tuple(
                row for register in self.values(INTERPRETATIONS) for row in register.rows
            ),
            checks=checks_of(cases),
            cases=[case for values in cases.values() for case in values],
        )


def corpus(own: Iterable[Document]) -> Corpus:
    """Return the corpus to lint: these documents, and the shipped ones they do not replace.

    Shipped ones that cannot be parsed are left out.
    """
    mine = {document.key: document for document in own}
    read_already = {document.path.absolute() for document in mine.values()}
    others = [path for path in installed() if path.absolute() not in read_already]
    replaced = {name for document in mine.values() for name in document.names}
    there = {
        document.key: document
        for path in others
        for document in _known(path)
        if replaced.isdisjoint(document.names)
    }
    return Corpus(documents={**there, **mine}, own=frozenset(mine))


def installed() -> list[Path]:
    """Return the paths of all shipped files of the kinds that authors write, sorted."""
    return sorted(
        path
        for each in specifications()
        for kind in (*each.linted(), *OWN)
        for path in each.fixtures.glob(kind.shipped)
    )


@cache
def _known(path: Path) -> list[Document]:
    """Read the documents of a shipped file, without schema validation; they are kept.

    Those of no known kind are left out. Raises Unreadable if the file cannot be opened.
    """
    return [part for part in read(path, whole=False) if isinstance(part, Document)]
