"""Duels of a selftest: one check that has killed nothing yet, against mutants it should kill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.forked_jobs import forked
from mcp_proxy_conformance.selftest.matrix import LIMIT_S, Trial, killers


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """One check with its clauses, and the trials of mutants that it should kill."""

    check: str
    clauses: frozenset[str]
    trials: tuple[Trial, ...]


def duels(jobs: Sequence[Duel], folder: Path, *, at_once: int = 2) -> Iterator[tuple[str, str]]:
    """Run each check alone on its mutants, until it kills one; yield (check, mutant) as they end.

    The mutant is the id of the first that was killed; "" if none was, or if the check's process
    failed or took over 300 s. Each check has a forked process, `at_once` of them at a time.
    """

    def work(duel: Duel) -> str:
        """Return the id of the first mutant that the check kills; "" if it kills none."""
        for trial in duel.trials:
            wanted = frozenset(trial.clauses)
            place = folder / f"{duel.check}-{trial.changed.id}"
            alone = Selection(clauses=duel.clauses, until=wanted, alone=duel.check)
            if killers(trial.tried(place, alone, narrow=True), wanted):
                return str(trial.changed.id)
        return ""

    for outcome in forked(work, jobs, folder / "duels", at_once=at_once, limit_s=LIMIT_S):
        yield outcome.job.check, outcome.value or ""
