"""The list of proofs: for each check that convicts, a mutant that it kills."""

from __future__ import annotations

from functools import cache

import msgspec

from mcp_proxy_conformance.catalogue.resources import fixtures_dir

PROOFS = "proofs.toml"


class Proofs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file: mutants by the names of checks, and of checks of live endpoints."""

    kills: dict[str, str]
    live: dict[str, str]


def proofs() -> dict[str, str]:
    """Return the mutant of each check, both by name, from fixtures/proofs.toml."""
    return _read().kills


def live_proofs() -> dict[str, str]:
    """Return the mutant of each check of live endpoints, both by name."""
    return _read().live


@cache
def _read() -> Proofs:
    return msgspec.toml.decode((fixtures_dir() / PROOFS).read_bytes(), type=Proofs)
