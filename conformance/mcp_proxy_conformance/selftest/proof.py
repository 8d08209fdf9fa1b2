"""What a specification brings to the selftest: its mutants, its variants, its controls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.specification import specifications
from mcp_proxy_conformance.selftest.control import Control
from mcp_proxy_conformance.selftest.matrix import Trial
from mcp_proxy_conformance.targets.adapter import Target


def _as_they_are(trials: Sequence[Trial], folder: Path) -> list[Trial]:
    del folder
    return list(trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The trials by which the checks of a specification are proven.

    `mutants` and `variants` have trials of each, `controls` are targets known beforehand.
    `unchanged` makes the reference, for checks that share targets, so that their order may matter.
    `through` is the trial of a user's target behind a server that changes nothing, if mutants can
    be put in front of one. `prepared` is told the trials that will run, and a folder for what they
    need. `warm` does what trials do at first use, before processes are forked.
    """

    mutants: Sequence[Trial] = ()
    variants: Sequence[Trial] = ()
    controls: Sequence[Control] = ()
    unchanged: Callable[[], Target] | None = None
    through: Trial | None = None
    prepared: Callable[[Sequence[Trial], Path], list[Trial]] = _as_they_are
    warm: Callable[[], None] = field(default=lambda: None)

    @property
    def in_front(self) -> list[Trial]:
        """The trials of the mutants that can be put in front of a user's target."""
        return [trial for trial in self.mutants if trial.before is not None]


@cache
def proofs() -> dict[str, Proof]:
    """Return the proof of each installed specification that has one, by its name."""
    return {each.name: each.proof() for each in specifications() if each.proof is not None}


def profile_of(clause: str, profiles: Sequence[str]) -> str:
    """Return the first of these profiles that has the clause; the first of all if none has it."""
    return next((name for name in profiles if clause in profile(name).clauses), profiles[0])
