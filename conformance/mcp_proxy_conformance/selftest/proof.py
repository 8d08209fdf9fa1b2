"""What a specification brings to the selftest: its mutants, its variants, its controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mcp_proxy_conformance.catalogue.specification import Specification, specifications
from mcp_proxy_conformance.selftest.control import Control
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.selftest.triggered import TriggeredMutants
from mcp_proxy_conformance.targets.target import Target


def _as_they_are(trials: Sequence[Trial], folder: Path) -> list[Trial]:
    del folder
    return list(trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The trials by which the checks of a specification are proven.

    `mutants` and `variants` have trials of each, `controls` are targets known beforehand.
    `triggered` are mutants that show only at values of its space. `unchanged` makes the reference,
    for checks that share targets, so that their order may matter. `through` puts a server that
    changes nothing in front of a user's target, if mutants can be put there. `prepared` is told the
    trials that will run, and a folder for what they need. `warm` does what trials do at first use,
    before processes are forked.
    """

    mutants: Sequence[Trial] = ()
    variants: Sequence[Trial] = ()
    controls: Sequence[Control] = ()
    triggered: TriggeredMutants | None = None
    unchanged: Callable[[], Target] | None = None
    through: Callable[[Target], Target] | None = None
    prepared: Callable[[Sequence[Trial], Path], list[Trial]] = _as_they_are
    warm: Callable[[], None] = field(default=lambda: None)

    @property
    def in_front(self) -> list[Trial]:
        """The trials of the mutants that can be put in front of a user's target."""
        return [trial for trial in self.mutants if trial.before is not None]


@cache
def proofs() -> dict[str, Proof]:
    """Return the proof of each installed specification, by its name."""
    return {each.name: proof_of(each) for each in specifications()}


def proof_of(specification: Specification) -> Proof:
    """Return the proof of a specification, an empty one if it brings none."""
    proof: Proof = specification.proof() if specification.proof is not None else Proof()
    return proof
