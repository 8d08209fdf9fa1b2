"""Register of interpretations: ambiguous sentences of the sources and the readings chosen."""

from __future__ import annotations

from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Source
from mcp_proxy_conformance.catalogue.specification import data_files


class Interpretation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row: an ambiguous sentence of a source, its possible readings, and the chosen one.

    `suite` says how the checks apply it, `no_variant` why no variant of the reference takes the
    other reading.
    """

    id: str
    clauses: tuple[str, ...]
    source: Source
    question: str
    readings: tuple[str, ...]
    chosen: str
    suite: str
    no_variant: str | None = None


class Interpretations(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"rows": "interpretation"},
):
    """The content of the register's file: its rows, in order."""

    rows: tuple[Interpretation, ...]


@cache
def interpretations() -> tuple[Interpretation, ...]:
    """Return the rows of fixtures/*/interpretations.toml, in order, read once."""
    files = data_files("interpretations.toml")
    parts = [msgspec.toml.decode(file.read_bytes(), type=Interpretations) for file in files]
    return tuple(row for part in parts for row in part.rows)
