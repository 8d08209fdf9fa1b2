"""The matrix of a selftest: trials of changed targets, and one row for each with its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.index import checks
from mcp_proxy_conformance.run.request import Selection
from mcp_proxy_conformance.selftest.forked_jobs import JobOutcome, forked
from mcp_proxy_conformance.selftest.row import Cell, Kind, MatrixRow, Source
from mcp_proxy_conformance.selftest.trial import EVERY, LONG_S, Verdicts, trial, tried
from mcp_proxy_conformance.selftest.unchanged_target import CHECK_S, Standing
from mcp_proxy_conformance.selftest.wording import is_plain
from mcp_proxy_conformance.targets.target import Target
from mcp_proxy_conformance.verdict.outcome import BROKEN, FAULT
from mcp_proxy_conformance.verdict.redaction import first_line

LAWS = ("test_scenarios.py", "laws.py")
"""The files of checks that try laws, on scenarios or on generated values."""
LIMIT_S = 900.0
"""Seconds that a trial may take; a variant whose every operation is 3 s late needs the most."""
BAD = ("fail", "inconclusive", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One changed target to try: a mutant, variant or control.

    `make` makes it as a target, `profile` is the one that judges it. `before` puts a mutant of the
    wire before any target, and `base` is the user's target that it is tried before. `of_messages`:
    its findings may hold whole messages.
    """

    kind: Kind
    changed: Any
    make: Callable[[], Target]
    profile: str
    clauses: tuple[str, ...] = ()
    before: Callable[[Target], Target] | None = None
    base: Standing | None = None
    of_messages: bool = False

    @property
    def proves(self) -> frozenset[str]:
        """The clause that a mutant must be convicted of, its first; behind a user's target any."""
        return frozenset(self.clauses if self.base is not None else self.clauses[:1])

    def target(self) -> Target:
        """Return the changed target, made in the process that calls this."""
        if self.base is not None and self.before is not None:
            return self.before(self.base.make())
        return self.make()

    def tried(self, place: Path, selection: Selection = EVERY, *, narrow: bool = False) -> Verdicts:
        """Run the selected checks on the target, with its reports in `place`; return the verdicts.

        `narrow`: few checks are selected, so only one target is started ahead and soaks
        last 1.5 s. Failures are confirmed on a second target only with a `base` (the user's target
        behind a wire mutant) and for variants; checks that do not pass on the base are left out.
        """
        target = self.target()
        if narrow:
            target = target.hurried()
        if self.base is None:
            sure = self.kind == "variant"
            request = trial(target, selection, profile=self.profile, confirm=sure)
            return tried(request, place, check_s=LONG_S if self.kind == "variant" else None)
        selection = replace(selection, without=self.base.without)
        request = trial(target, selection, profile=self.profile, confirm=True)
        return tried(request, place, check_s=CHECK_S)


def rows(
    trials: Sequence[Trial], folder: Path, *, full: bool, at_once: int = 2
) -> Iterator[MatrixRow]:
    """Run each trial in a forked process, `at_once` at a time; yield its row when it is done.

    A mutant is tried with the checks of the clause that it proves, until one kills it, then, if it
    survives and is of the reference, with all checks; with `full` with all at once.
    """

    def work(trial: Trial) -> MatrixRow:
        """Run one trial by its kind, its reports in a folder of its own; return its row."""
        place = folder / f"{trial.kind}-{trial.changed.id}"
        if trial.kind == "control":
            return _control(trial, trial.tried(place, Selection(clauses=trial.changed.clauses)))
        if trial.kind == "variant":
            return _acquittal(trial, trial.tried(place))
        return _kill(trial, place, full=full)

    slowest = max(
        (candidate.base.seconds for candidate in trials if candidate.base is not None), default=0.0
    )
    limit_s = max(LIMIT_S, 3 * slowest)
    for outcome in forked(work, trials, folder, at_once=at_once, limit_s=limit_s):
        yield _row(outcome)


def _row(outcome: JobOutcome[Trial, MatrixRow]) -> MatrixRow:
    """Return a finished job's row, with its duration; `broken`, with the reason, if it failed."""
    if outcome.value is not None:
        return replace(outcome.value, seconds=round(outcome.seconds, 2))
    return row_of(outcome.job, "broken", reason=outcome.failure)


def _kill(trial: Trial, place: Path, *, full: bool) -> MatrixRow:
    """Run checks on a mutant, which they must kill; return its row.

    Without `full`, those that cite the clause that it proves run first, until one kills it; then,
    or at once with `full`, all run, but not in front of a user's target unless `full`. Without a
    killer, the row's cell and reason say what is known: broken, unseeable, unread, killed for
    another reason, or survived.
    """
    wanted, verdicts = trial.proves, None
    if not full:
        citing = Selection(clauses=wanted, until=wanted)
        verdicts = trial.tried(place / "citing", citing, narrow=True)
        if convicting := killers(verdicts, wanted):
            return _killed(trial, verdicts, convicting)
    if verdicts is None or trial.base is None:
        verdicts = trial.tried(place / "whole")
    if convicting := killers(verdicts, wanted):
        return _killed(trial, verdicts, convicting)
    if trial.base is not None and verdicts.exit in (BROKEN, FAULT):
        return row_of(trial, "broken", reason=verdicts.why)
    others = tuple(dict.fromkeys(result["check"] for result in verdicts.failed()))
    if trial.base is not None and (why := trial.base.doubt(trial.clauses)):
        return row_of(trial, "unseeable", reason=why)
    if asking := _asking(verdicts, wanted):
        return row_of(trial, "unread", verdicts, asking)
    if others:
        return row_of(trial, "killed for another reason", verdicts, others)
    return row_of(trial, "survived", verdicts)


def _killed(trial: Trial, verdicts: Verdicts, by: tuple[str, ...]) -> MatrixRow:
    """Return a mutant's row as `killed`, with the checks `by` that killed it.

    It is `badly worded` instead if the reason of any failure shows Python code.
    """
    reasons = [result["reason"] for result in verdicts.failed()]
    odd = next((r for r in reasons if not is_plain(r, of_messages=trial.of_messages)), "")
    cell: Cell = "badly worded" if odd else "killed"
    row = row_of(trial, cell, by=by, reason=odd)
    return replace(row, convicted=verdicts.convicted(), sources=_sources(by))


def _sources(by: tuple[str, ...]) -> tuple[Source, ...]:
    """Return the kinds of these checks, sorted."""
    laws = {check.name for check in checks() if check.module.endswith(LAWS)}
    of_cases = {check.name for check in checks() if check.areas}
    kinds: set[Source] = {
        "laws" if name in laws else "cases" if name in of_cases else "checks" for name in by
    }
    return tuple(sorted(kinds))


def _asking(verdicts: Verdicts, wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the names, once each, of checks of wanted clauses that did not recognise a text."""
    unread = [r for r in verdicts.results if r["cause"] == "unread_text"]
    citing = [r["check"] for r in unread if wanted.intersection(r["clauses"])]
    return tuple(dict.fromkeys(citing))


def killers(verdicts: Verdicts, wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the names, once each, of the required checks that failed with a wanted clause."""
    convicting = [result for result in verdicts.failed() if wanted.intersection(result["clauses"])]
    return tuple(dict.fromkeys(result["check"] for result in convicting))


def _acquittal(trial: Trial, verdicts: Verdicts) -> MatrixRow:
    """Return the row of a conforming variant: `acquitted` if its run ended with 0, else `accused`.

    An accused one names the required checks with any verdict but pass or not applicable.
    """
    if verdicts.exit == 0:
        return row_of(trial, "acquitted")
    accusing = [result for result in verdicts.results if result["verdict"] != "not_applicable"]
    firm = [result for result in accusing if result["level"] == "required"]
    return row_of(
        trial, "accused", verdicts, tuple(dict.fromkeys(result["check"] for result in firm))
    )


def _control(trial: Trial, verdicts: Verdicts) -> MatrixRow:
    """Return the row of a control: `behaved` if its own `misses` returns "" for the verdicts.

    Else `misbehaved`, with what it returned as the reason.
    """
    missed = trial.changed.misses(verdicts)
    return row_of(trial, "misbehaved" if missed else "behaved", reason=missed)


def row_of(
    trial: Trial,
    cell: Cell,
    verdicts: Verdicts | None = None,
    by: tuple[str, ...] = (),
    *,
    reason: str = "",
) -> MatrixRow:
    """Return the row of a trial with the outcome `cell`, as decided by the checks `by`.

    With `verdicts`, unless it was killed, `reason` is not used: the reason is the first one of a
    bad result of these checks, else why the run ended so ("" in front of a user's target).
    """
    if verdicts is not None and cell != "killed":
        reasons = [
            r["reason"] for r in verdicts.results if r["check"] in by and r["verdict"] in BAD
        ]
        why = verdicts.why if trial.base is None else ""  # there, only a part was run
        reason = first_line(next(iter(reasons), why))
    return MatrixRow(
        id=trial.changed.id,
        kind=trial.kind,
        text=trial.changed.text,
        clauses=trial.clauses,
        cell=cell,
        by=by,
        convicted=verdicts.convicted() if verdicts is not None else (),
        reason=reason,
    )
