"""The proof of fidelity: changed reference relays, each a program of its own."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import msgspec

from mcp_proxy_conformance.fidelity.profiles import OF_RELAYS
from mcp_proxy_conformance.fidelity.relay_target import OF_ANOTHER, OF_ONE, RelayFacts, relay_target
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.proof import Proof
from mcp_proxy_conformance.targets.target import Target


def proof() -> Proof:
    """Return the proof of fidelity."""
    from mcp_proxy_mutants.fidelity.mutants import relay_mutants  # noqa: PLC0415 - others do without
    from mcp_proxy_mutants.fidelity.variants import relay_variants  # noqa: PLC0415

    return Proof(
        mutants=[
            Trial(kind="fault", changed=mutant, make=partial(_made, mutant), profile=OF_RELAYS,
                  clauses=mutant.breaks, of_messages=True)
            for mutant in relay_mutants()
        ],
        variants=[
            Trial(kind="variant", changed=variant, make=partial(_made, variant), profile=OF_RELAYS,
                  clauses=variant.takes)
            for variant in relay_variants()
        ],
    )  # fmt: skip


def _made(changed: Any) -> Target:
    """Return a changed relay as a target: the program that serves mutants by their ids."""
    command = [sys.executable, "-m", "mcp_proxy_mutants.fidelity", *OF_ONE]
    facts = {"several": [*command, *OF_ANOTHER, changed.id], **changed.facts}
    return relay_target([*command, changed.id], msgspec.convert(facts, RelayFacts))
