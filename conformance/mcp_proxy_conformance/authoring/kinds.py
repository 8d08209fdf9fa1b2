"""Kinds of data files that authors write, each with its schema, type and distinctive members."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from mcp_proxy_conformance.catalogue.case import Case
from mcp_proxy_conformance.catalogue.grid import Grid
from mcp_proxy_conformance.catalogue.interpretation import Interpretations
from mcp_proxy_conformance.catalogue.load_case import LoadCase
from mcp_proxy_conformance.catalogue.requirement import Catalogue, Profile
from mcp_proxy_conformance.catalogue.sentence import Sentences
from mcp_proxy_conformance.catalogue.world import World


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file: its schema, where such files are shipped, and its distinctive members.

    `type` is the type its data are converted to, None if only the schema is validated.
    """

    noun: str
    schema: str
    shipped: str
    marks: frozenset[str]
    type: Any = None

    @property
    def suffix(self) -> str:
        """The suffix of files of this kind: `.json` or `.toml`, as its shipped example has it."""
        return PurePath(self.shipped).suffix

    def is_one(self, data: Any, suffix: str) -> bool:
        """Whether data are of this kind, by their file's suffix and a member that is in `marks`."""
        return suffix == self.suffix and isinstance(data, dict) and not self.marks.isdisjoint(data)


CASE = Kind("case", "case", "discovery/*.json", frozenset({"when"}), Case)
LOAD_CASE = Kind(
    "load case", "load-case", "resilience/*.json", frozenset({"given", "again"}), LoadCase
)
RELAY_CASE = Kind(
    "relay case",
    "relay-case",
    "fidelity/*.json",
    frozenset({"arguments", "result", "error", "at"}),
)
AREA = Kind("file of cases", "cases", "discovery/*.json", frozenset({"cases"}))
"""What holds cases of one of the kinds above."""
STAGE = Kind("stage", "stage", "stages/*.json", frozenset({"servers", "steps"}), World)
WORDS = Kind(
    "table of words", "remediation-words", "remediation/words.json", frozenset({"harmless"})
)
CONVICTING = Kind(
    "list of convicting texts",
    "remediation-convicting",
    "remediation/convicting.json",
    frozenset({"told"}),
)
REQUIREMENTS = Kind(
    "catalogue", "requirement", "requirements/*.toml", frozenset({"requirement"}), Catalogue
)
INTERPRETATIONS = Kind(
    "register of interpretations",
    "interpretation",
    "interpretations.toml",
    frozenset({"interpretation"}),
    Interpretations,
)
PROFILE = Kind(
    "profile",
    "profile",
    "profiles/*.toml",
    frozenset({"clauses", "interpretations", "floor"}),
    Profile,
)
SENTENCES = Kind(
    "list of sentences", "sentences", "sentences.toml", frozenset({"sentence"}), Sentences
)
FROZEN = Kind("list of frozen profiles", "frozen", "frozen.toml", frozenset({"frozen"}))

PICTURE = Kind("picture", "picture", "pictures/*.toml", frozenset({"column", "cells"}), Grid)

KINDS = (
    CASE,
    LOAD_CASE,
    RELAY_CASE,
    STAGE,
    WORDS,
    CONVICTING,
    REQUIREMENTS,
    INTERPRETATIONS,
    PROFILE,
    SENTENCES,
    FROZEN,
    PICTURE,
)
