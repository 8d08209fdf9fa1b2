"""The proof of resilience: changed reference loaders, and controls."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp_proxy_conformance.resilience.loader_controls import LOADER_CONTROLS
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.resilience.scenarios import space
from mcp_proxy_conformance.resilience.triggered_loaders import killed
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.proof import Proof
from mcp_proxy_conformance.selftest.triggered import TriggeredMutants
from mcp_proxy_conformance.targets.target import Target

HURRY = 0.4
"""Share of the time that a load may take: a mutant that never ends must not cost all of it."""


def proof() -> Proof:
    """Return the proof of resilience."""
    from mcp_proxy_mutants.resilience.mutants import load_mutants  # noqa: PLC0415 - others do without
    from mcp_proxy_mutants.resilience.triggered import BASES  # noqa: PLC0415
    from mcp_proxy_mutants.resilience.variants import load_variants  # noqa: PLC0415

    return Proof(
        mutants=[
            Trial(kind="fault", changed=mutant, make=partial(_made, mutant, patience=HURRY),
                  profile="resilience", clauses=mutant.breaks)
            for mutant in load_mutants()
        ],
        variants=[
            Trial(kind="variant", changed=variant, make=partial(_made, variant, variant.lacks),
                  profile=variant.profile, clauses=variant.takes)
            for variant in load_variants()
        ],
        controls=LOADER_CONTROLS,
        triggered=TriggeredMutants(space=space, bases=lambda: BASES, killed=killed),
    )  # fmt: skip


def _made(changed: Any, lacks: tuple[str, ...] = (), *, patience: float = 1.0) -> Target:
    """Return a changed loader, in this process; `patience` is its share of the time of a load."""
    return embedded_target(
        changed,
        lacks,
        patience=patience,
        tool_prefix=changed.tool_prefix,
        timeout_signatures=changed.signatures,
    )
