"""Sentences of the specification texts: place and gist of each, and the clauses that judge it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.resources import fixtures_dir


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
    data = (fixtures_dir() / "sentences.toml").read_bytes()
    return msgspec.toml.decode(data, type=Sentences).rows


def places(rows: Iterable[Sentence]) -> dict[str, frozenset[str]]:
    """Map each source text's name to the places of its sentences, to which a Source may point."""
    known: dict[str, set[str]] = {}
    for row in rows:
        known.setdefault(row.text, set()).add(row.at)
    return {text: frozenset(names) for text, names in known.items()}
