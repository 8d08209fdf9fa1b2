"""The kill matrix and the acquittal matrix: what each changed target came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mcp_proxy_conformance.counterexamples.controls import Control
from mcp_proxy_conformance.counterexamples.forking import Outcome, forked
from mcp_proxy_conformance.counterexamples.rewriting import WireFault, rewriting
from mcp_proxy_conformance.counterexamples.trial import Verdicts, tried
from mcp_proxy_conformance.counterexamples.unconvicted import UNCONVICTED
from mcp_proxy_conformance.given import Given
from mcp_proxy_conformance.target.adapter import Target
from mcp_proxy_conformance.target.embedded import Changed, embedded

SETTLE_S = 0.1
LIMIT_S = 180.0
Kind = Literal["fault", "wire", "variant", "control"]
Cell = Literal[
    "killed", "killed for another reason", "survived", "acquitted", "accused", "behaved",
    "misbehaved", "broken", "open",
]  # fmt: skip
BAD = ("fail", "inconclusive", "error")
GOOD = ("killed", "acquitted", "behaved", "open")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One changed target: what it came to, by which checks, and what it was to come to."""

    id: str
    kind: Kind
    text: str
    clauses: tuple[str, ...]
    cell: Cell
    by: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether the suite behaved."""
        return self.cell in GOOD


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One row to be; `first` is the check that a counterexample is to be tried with first."""

    kind: Kind
    changed: Any
    clauses: tuple[str, ...] = ()
    first: str = ""
    base: Target | None = None

    def target(self) -> Target:
        """The changed target, made in the process that tries it."""
        if isinstance(self.changed, Control):
            return self.changed.target()
        if isinstance(self.changed, WireFault):
            return rewriting(self.base or embedded(_unchanged(), settle_s=SETTLE_S), self.changed)
        if self.kind != "variant":
            return embedded(self.changed, settle_s=SETTLE_S)
        made, declared = embedded(self.changed, settle_s=self.changed.settle_s), self.changed
        return replace(
            made, capabilities=made.capabilities.difference(declared.lacks), pins=_pins(declared)
        )


def rows(trials: Sequence[Trial], folder: Path, *, full: bool, at_once: int = 2) -> Iterator[Row]:
    """Try each in a process of its own; the rows come as they are done."""

    def work(trial: Trial) -> Row:
        place = folder / f"{trial.kind}-{trial.changed.id}"
        if trial.kind == "control":
            return _control(trial, tried(Given(target=trial.target()), place))
        if trial.kind == "variant":
            return _acquittal(trial, tried(Given(target=trial.target()), place))
        return _kill(trial, place, full=full)

    for outcome in forked(work, trials, folder, at_once=at_once, limit_s=LIMIT_S):
        yield _row(outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """One check that has killed nothing yet, and the counterexamples that it ought to kill."""

    check: str
    clauses: frozenset[str]
    trials: tuple[Trial, ...]


def duels(jobs: Sequence[Duel], folder: Path, *, at_once: int = 2) -> Iterator[tuple[str, str]]:
    """Try each check alone; yields its name and the first counterexample it kills, or ""."""

    def work(duel: Duel) -> str:
        for trial in duel.trials:
            wanted = frozenset(trial.clauses)
            alone = Given(
                target=replace(trial.target(), ahead=1),
                clauses=duel.clauses,
                until=wanted,
                only=duel.check,
            )
            if _killers(tried(alone, folder / f"{duel.check}-{trial.changed.id}"), wanted):
                return str(trial.changed.id)
        return ""

    for outcome in forked(work, jobs, folder / "duels", at_once=at_once, limit_s=LIMIT_S):
        yield outcome.job.check, outcome.value or ""


def _row(outcome: Outcome[Trial, Row]) -> Row:
    if outcome.value is not None:
        return replace(outcome.value, seconds=round(outcome.seconds, 2))
    return _made(outcome.job, "broken", reason=outcome.failure)


def _kill(trial: Trial, place: Path, *, full: bool) -> Row:
    wanted = frozenset(trial.clauses)
    if not full:
        narrow = replace(trial.target(), ahead=1)
        citing = Given(target=narrow, clauses=wanted, until=wanted, first=trial.first)
        found = tried(citing, place / "citing")
        if killers := _killers(found, wanted):
            return _made(trial, "killed", found, killers)
    found = tried(Given(target=trial.target()), place / "whole")
    if killers := _killers(found, wanted):
        return _made(trial, "killed", found, killers)
    others = tuple(dict.fromkeys(one["check"] for one in found.failed()))
    if trial.changed.id in UNCONVICTED:
        return _made(trial, "open", found, others)
    if others:
        return _made(trial, "killed for another reason", found, others)
    return _made(trial, "survived", found)


def _killers(found: Verdicts, wanted: frozenset[str]) -> tuple[str, ...]:
    convicting = [one for one in found.failed() if wanted.intersection(one["clauses"])]
    return tuple(dict.fromkeys(one["check"] for one in convicting))


def _acquittal(trial: Trial, found: Verdicts) -> Row:
    if found.exit == 0:
        return _made(trial, "acquitted")
    accusing = [one for one in found.results if one["verdict"] != "not_applicable"]
    firm = [one for one in accusing if one["judgement"] == "F"]
    return _made(trial, "accused", found, tuple(dict.fromkeys(one["check"] for one in firm)))


def _control(trial: Trial, found: Verdicts) -> Row:
    missed = trial.changed.misses(found)
    made = _made(trial, "misbehaved" if missed else "behaved")
    return replace(made, reason=missed)


def _made(
    trial: Trial,
    cell: Cell,
    found: Verdicts | None = None,
    by: tuple[str, ...] = (),
    reason: str = "",
) -> Row:
    if found is not None and cell != "killed":
        told = [r["reason"] for r in found.results if r["check"] in by and r["verdict"] in BAD]
        reason = next(iter(told), found.why).partition("\n")[0]
    return Row(
        id=trial.changed.id,
        kind=trial.kind,
        text=trial.changed.text,
        clauses=trial.clauses,
        cell=cell,
        by=by,
        reason=reason,
    )


def _unchanged() -> Changed:
    from mcp_proxy_reference.changed import Changed as Unchanged  # noqa: PLC0415

    return Unchanged(id="unchanged", text="The reference itself.")


def _pins(declared: Any) -> dict[str, frozenset[str]]:
    """The texts that a variant declares, each with every status that it tells it for."""
    told = declared.change.get("remediation", {})
    return {
        text: frozenset({status, *(word for word, own in told.items() if own == text)})
        for text, status in declared.pins.items()
    }
