"""Kinds of data files that authors write, each with its schema, type and distinctive members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any

from mcp_proxy_conformance.authoring.finding import LintFinding
from mcp_proxy_conformance.catalogue.grid import Grid
from mcp_proxy_conformance.catalogue.interpretation import Interpretations
from mcp_proxy_conformance.catalogue.requirement import Catalogue, Profile
from mcp_proxy_conformance.catalogue.sentence import Sentences
from mcp_proxy_conformance.catalogue.specification import at, specifications

RULES = "mcp_proxy_conformance.authoring.catalogue_rules"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file: its schema, where such files are shipped, and its distinctive members.

    `type` is the type its data are converted to, None if only the schema is validated. A kind of
    cases has the decorator `giving` them to checks. `named`: an id is the file's name, if the file
    holds one. `rules` yield findings on a sound Document, given the Corpus.
    """

    noun: str
    schema: str
    shipped: str
    marks: frozenset[str]
    type: Any = None
    giving: str = ""
    named: bool = False
    rules: Callable[[Any, Any], Iterator[LintFinding]] | None = None

    @property
    def suffix(self) -> str:
        """The suffix of files of this kind: `.json` or `.toml`, as its shipped example has it."""
        return PurePath(self.shipped).suffix

    def is_one(self, data: Any, suffix: str) -> bool:
        """Whether data are of this kind, by their file's suffix and a member that is in `marks`."""
        return suffix == self.suffix and isinstance(data, dict) and not self.marks.isdisjoint(data)


AREA = Kind("file of cases", "cases", "*.json", frozenset({"cases"}))
"""What holds cases of one of the kinds above."""
REQUIREMENTS = Kind(
    "catalogue", "requirement", "requirements/*.toml", frozenset({"requirement"}), Catalogue,
    rules=at(f"{RULES}:requirement_findings"),
)  # fmt: skip
INTERPRETATIONS = Kind(
    "register of interpretations", "interpretation", "interpretations.toml",
    frozenset({"interpretation"}), Interpretations, rules=at(f"{RULES}:interpretation_findings"),
)  # fmt: skip
PROFILE = Kind(
    "profile", "profile", "profiles/*.toml", frozenset({"clauses", "interpretations", "floor"}),
    Profile, rules=at(f"{RULES}:profile_findings"),
)  # fmt: skip
SENTENCES = Kind(
    "list of sentences", "sentences", "sentences.toml", frozenset({"sentence"}), Sentences,
    rules=at(f"{RULES}:sentence_findings"),
)  # fmt: skip
FROZEN = Kind(
    "list of frozen profiles", "frozen", "frozen.toml", frozenset({"frozen"}),
    rules=at(f"{RULES}:frozen_findings"),
)  # fmt: skip
PICTURE = Kind(
    "picture", "picture", "pictures/*.toml", frozenset({"column", "cells"}), Grid, named=True,
    rules=at("mcp_proxy_conformance.authoring.picture_rules:picture_findings"),
)  # fmt: skip

OWN = (
    REQUIREMENTS,
    INTERPRETATIONS,
    PROFILE,
    SENTENCES,
    FROZEN,
    PICTURE,
)


@cache
def kinds() -> tuple[Kind, ...]:
    """Return the kinds of files of each installed specification, then those that all have."""
    return (*(kind for each in specifications() for kind in each.linted()), *OWN)
