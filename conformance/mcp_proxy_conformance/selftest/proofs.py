"""Proofs: for each required check, a mutant that it must kill, from fixtures/proofs.toml."""

from __future__ import annotations

from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.resources import fixtures_dir

PROOFS = "proofs.toml"


class Proofs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of proofs.toml: check name to mutant id, in general and for live checks."""

    kills: dict[str, str]
    live: dict[str, str]


def proofs() -> dict[str, str]:
    """Map each required check that is not live to the id of the mutant that it must kill."""
    return _read().kills


def live_proofs() -> dict[str, str]:
    """Map each live check to the id of the mutant that it must kill."""
    return _read().live


@cache
def _read() -> Proofs:
    """Return the content of proofs.toml, read once and kept."""
    return msgspec.toml.decode((fixtures_dir() / PROOFS).read_bytes(), type=Proofs)
