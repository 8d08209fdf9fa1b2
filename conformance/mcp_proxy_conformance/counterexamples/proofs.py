"""The list of proofs: for each check that convicts, a counterexample that it was seen to kill."""

from __future__ import annotations

from functools import cache

import msgspec

from mcp_proxy_conformance.resources import fixtures_dir

PROOFS = "proofs.toml"


class _Proofs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kills: dict[str, str]


@cache
def proofs() -> dict[str, str]:
    """The counterexample of each check, both by name, from fixtures/proofs.toml."""
    data = (fixtures_dir() / PROOFS).read_bytes()
    return msgspec.toml.decode(data, type=_Proofs).kills
