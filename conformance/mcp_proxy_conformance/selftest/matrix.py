"""The kill matrix and the acquittal matrix: what each changed target came to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import folders_of
from mcp_proxy_conformance.resilience.loader_target import embedded_target
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.controls import Control
from mcp_proxy_conformance.selftest.forking import Outcome, forked
from mcp_proxy_conformance.selftest.rewriting import WireFault, rewriting
from mcp_proxy_conformance.selftest.row import Cell, Kind, Row
from mcp_proxy_conformance.selftest.standing import CHECK_S, Standing
from mcp_proxy_conformance.selftest.trial import EVERY, LONG_S, Verdicts, trial, tried
from mcp_proxy_conformance.targets.adapter import Target
from mcp_proxy_conformance.targets.embedded import embedded
from mcp_proxy_conformance.verdict.outcome import BROKEN, FAULT
from mcp_proxy_conformance.verdict.redaction import first_line

SETTLE_S = 0.1
LIMIT_S = 300.0
HURRY = 0.06
"""Of the time that a load may take; a counterexample that never ends is not waited for so long."""
SOAK_S = 1.5
"""How long stages are kept running for the clauses that ask for it."""
BAD = ("fail", "inconclusive", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One row to be; `first` is the check that a counterexample is to be tried with first.

    `profile` is the one that it is judged by; `base` is the target that a fault of the wire stands
    in front of, None for the reference; `baseline` the folder of the recording that its clauses
    ask for, if any does.
    """

    kind: Kind
    changed: Any
    profile: str = "discovery"
    clauses: tuple[str, ...] = ()
    first: str = ""
    base: Standing | None = None
    baseline: Path | None = None

    @property
    def loads(self) -> bool:
        """Whether a loader is tried, not a proxy."""
        return "resilience" in folders_of(self.profile)

    def target(self) -> Target:
        """The changed target, made in the process that tries it."""
        if isinstance(self.changed, Control):
            return self.changed.target()
        if isinstance(self.changed, WireFault):
            own = self.base.make if self.base is not None else reference
            return rewriting(own(), self.changed)
        lacks = self.changed.lacks if self.kind == "variant" else ()
        if self.loads:
            return embedded_target(
                self.changed,
                lacks,
                patience=HURRY if self.kind == "fault" else 1.0,
                tool_prefix=self.changed.tool_prefix,
                timeout_signatures=self.changed.signatures,
            )
        if self.kind != "variant":
            return embedded(self.changed, settle_s=SETTLE_S, baseline=self.baseline)
        made = embedded(self.changed, settle_s=self.changed.settle_s)
        capabilities = made.capabilities.difference(lacks)
        return replace(made, capabilities=capabilities, pins=_pins(self.changed))

    def tried(self, place: Path, selection: Selection = EVERY, *, narrow: bool = False) -> Verdicts:
        """What checks say of it; none of those that fail before the change.

        `narrow`: for a few checks, of which one may ask for time.
        """
        target = self.target()
        if narrow:
            target = replace(target, ahead=1, soak_s=SOAK_S)
        if self.base is None:
            sure = self.loads and self.kind == "variant"
            request = trial(target, selection, profile=self.profile, confirm=sure)
            return tried(request, place, check_s=LONG_S if self.kind == "variant" else None)
        selection = replace(selection, without=self.base.without)
        request = trial(target, selection, profile=self.profile, confirm=True)
        return tried(request, place, check_s=CHECK_S)


def rows(trials: Sequence[Trial], folder: Path, *, full: bool, at_once: int = 2) -> Iterator[Row]:
    """Try each in a process of its own; the rows come as they are done.

    A counterexample is tried with the checks of its clauses until one kills it, with `full` with
    all of them. What survives the first in front of the reference is tried with all of them too.
    """

    def work(trial: Trial) -> Row:
        place = folder / f"{trial.kind}-{trial.changed.id}"
        if trial.kind == "control":
            return _control(trial, trial.tried(place, Selection(clauses=trial.changed.clauses)))
        if trial.kind == "variant":
            return _acquittal(trial, trial.tried(place))
        return _kill(trial, place, full=full)

    slowest = max((one.base.seconds for one in trials if one.base is not None), default=0.0)
    limit_s = max(LIMIT_S, 3 * slowest)
    for outcome in forked(work, trials, folder, at_once=at_once, limit_s=limit_s):
        yield _row(outcome)


def _row(outcome: Outcome[Trial, Row]) -> Row:
    if outcome.value is not None:
        return replace(outcome.value, seconds=round(outcome.seconds, 2))
    return made(outcome.job, "broken", reason=outcome.failure)


def _kill(trial: Trial, place: Path, *, full: bool) -> Row:
    wanted, found = frozenset(trial.clauses), None
    if not full:
        citing = Selection(clauses=wanted, until=wanted, first=trial.first)
        found = trial.tried(place / "citing", citing, narrow=True)
        if convicting := killers(found, wanted):
            return made(trial, "killed", found, convicting)
    if found is None or trial.base is None:
        found = trial.tried(place / "whole")
    if convicting := killers(found, wanted):
        return made(trial, "killed", found, convicting)
    if trial.base is not None and found.exit in (BROKEN, FAULT):
        return made(trial, "broken", reason=found.why)
    others = tuple(dict.fromkeys(one["check"] for one in found.failed()))
    if trial.base is not None and (why := trial.base.doubt(trial.clauses)):
        return made(trial, "unseeable", reason=why)
    if asking := _asking(found, wanted):
        return made(trial, "unread", found, asking)
    if others:
        return made(trial, "killed for another reason", found, others)
    return made(trial, "survived", found)


def _asking(found: Verdicts, wanted: frozenset[str]) -> tuple[str, ...]:
    """The checks of these clauses that settle nothing before a text is pinned by its author."""
    unread = [r for r in found.results if r["cause"] == "unread_text"]
    citing = [r["check"] for r in unread if wanted.intersection(r["clauses"])]
    return tuple(dict.fromkeys(citing))


def killers(found: Verdicts, wanted: frozenset[str]) -> tuple[str, ...]:
    """The checks that found one of the wanted clauses broken."""
    convicting = [one for one in found.failed() if wanted.intersection(one["clauses"])]
    return tuple(dict.fromkeys(one["check"] for one in convicting))


def _acquittal(trial: Trial, found: Verdicts) -> Row:
    if found.exit == 0:
        return made(trial, "acquitted")
    accusing = [one for one in found.results if one["verdict"] != "not_applicable"]
    firm = [one for one in accusing if one["judgement"] == "F"]
    return made(trial, "accused", found, tuple(dict.fromkeys(one["check"] for one in firm)))


def _control(trial: Trial, found: Verdicts) -> Row:
    missed = trial.changed.misses(found)
    return made(trial, "misbehaved" if missed else "behaved", reason=missed)


def made(
    trial: Trial,
    cell: Cell,
    found: Verdicts | None = None,
    by: tuple[str, ...] = (),
    *,
    reason: str = "",
) -> Row:
    """The row of a trial; its reason is given, or the first that the checks `by` found."""
    if found is not None and cell != "killed":
        told = [r["reason"] for r in found.results if r["check"] in by and r["verdict"] in BAD]
        why = found.why if trial.base is None else ""  # there, only a part was run
        reason = first_line(next(iter(told), why))
    return Row(
        id=trial.changed.id,
        kind=trial.kind,
        text=trial.changed.text,
        clauses=trial.clauses,
        cell=cell,
        by=by,
        reason=reason,
    )


def reference() -> Target:
    """The unchanged reference, in this process."""
    from mcp_proxy_mutants.proxy.changed import Changed  # noqa: PLC0415 - as in targets/embedded.py

    return embedded(Changed(id="unchanged", text="The reference itself."), settle_s=SETTLE_S)


def _pins(declared: Any) -> dict[str, frozenset[str]]:
    """The texts that a variant declares, each with every status that it tells it for."""
    told = declared.change.get("remediation", {})
    return {
        text: frozenset({status, *(word for word, own in told.items() if own == text)})
        for text, status in declared.pins.items()
    }
