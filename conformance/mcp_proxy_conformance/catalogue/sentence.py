"""Sentences of the specification texts: place and gist of each, and the clauses that judge it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.specification import data_files


class Sentence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One sentence of a source text, in the suite's words, and the clauses that judge it.

    `partial` says what of it no clause judges; `unjudged` why no clause judges it at all.
    """

    text: str
    at: str
    says: str
    clauses: tuple[str, ...] = ()
    partial: str | None = None
    unjudged: str | None = None


class Sentences(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"rows": "sentence"},
):
    """The sentences of all source texts, in the order of the texts."""

    rows: tuple[Sentence, ...]


@cache
def sentences() -> tuple[Sentence, ...]:
    """Return every sentence of the source texts, in the order of their file, read once."""
    files = data_files("sentences.toml")
    parts = [msgspec.toml.decode(file.read_bytes(), type=Sentences) for file in files]
    return tuple(row for part in parts for row in part.rows)


def places(rows: Iterable[Sentence]) -> dict[str, frozenset[str]]:
    """Map each source text's name to the places of its sentences, to which a Source may point."""
    known: dict[str, set[str]] = {}
    for row in rows:
        known.setdefault(row.text, set()).add(row.at)
    return {text: frozenset(names) for text, names in known.items()}
