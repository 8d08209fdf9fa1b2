"""Engine of property tests (laws): tries them on examples, confirms and shrinks their breaches."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from mcp_proxy_conformance.targets.waits import Repetition, during
from mcp_proxy_conformance.verdict.comparison import Comparison, Open, same
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive

E = TypeVar("E")
Found = Mapping[tuple[str, tuple[str, ...]], Finding]
"""Findings by path and clauses."""
CONFIRMED, LOOKED_AT = 2, 4
"""Repetitions that confirm a breach, and the most examples whose breach is repeated."""
LAPSES = 2
"""Breaches, each shown by no repetition, that are more than a lapse of a busy machine."""
AT_ONCE = 4
"""Broken laws whose breaches are confirmed and shrunk at once."""
SHRINK_S = 8.0
"""Seconds for shrinking the breaches of one law."""
FOLDER = "laws"
"""The folder beside the report into which the cases of breaches are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Generic[E]):
    """One trial of a law (a property of the target) on one generated example.

    `found`: the findings; `observed`: how often each clause was observed; `broken`: the clauses
    broken at any time in it; `asked`: the request of each finding, by the finding's path;
    `is_answered`: whether the target gave answers that the law can judge.
    """

    example: E
    found: Found
    observed: Counter[str]
    broken: Collection[str]
    asked: Mapping[str, Any] = field(default_factory=dict)
    is_answered: bool = True


class Examples(Protocol[E]):
    """The generated examples of one subject: worlds of a proxy, loads of a loader, relays' values.

    `noun` names one example, `subject` the kind of target; `seed` is the seed of the generator.
    `again`: whether a breach is confirmed and shrunk; `is_timed`: whether a single breach that no
    repetition shows is blamed on a busy machine; `shrink_s`: seconds for shrinking the breaches of
    all laws.
    """

    noun: str
    subject: str
    seed: int
    again: bool
    is_timed: bool
    shrink_s: float

    def tried_on_all(self, law: str) -> Sequence[Tried[E]]:
        """Try the law on all examples, without `again` until one breaks it; return the trials."""

    def broken(self) -> Collection[str]:
        """Return the laws known by now to be broken: their breaches may be confirmed side by side.

        Empty for a subject whose laws are tried one after another.
        """

    def tried(self, law: str, examples: Sequence[E]) -> Sequence[Tried[E]]:
        """Return a trial of the law on each example, as many at once as the subject allows."""

    def seen_again(self, law: str, example: E) -> Sequence[Tried[E]]:
        """Return further trials of the example, as many as a confirmation needs."""

    def size(self, example: E) -> tuple[int, ...]:
        """Return the sort key by which the smallest example is reported."""

    def smaller(self, tried: Tried[E]) -> Iterator[Sequence[E]]:
        """Yield batches of examples smaller than the tried one that may break the law too."""

    def is_of_one(self, law: str) -> bool:
        """Whether a breach of the law must be shrunk to a single server."""

    def elsewhere(self, law: str, example: E) -> str:
        """Return why a breach in this example counts for another law instead; "" if it counts."""

    def expect_control(self) -> None:
        """Raise Inconclusive if no example could have shown a breach: if, say, none was loaded."""

    def in_words(self, example: E) -> str:
        """Return the example in one line, for the evidence in a report."""

    def written(self, law: str, tried: Tried[E], *, in_time: bool) -> Sequence[str]:
        """Write the breach as a case file; return lines on the example and how to run it again.

        `in_time`: whether there is time left to try the case.
        """

    def close(self) -> None:
        """End the targets on which examples are tried."""


@dataclass(slots=True)
class _Settled:
    """Result of confirming and shrinking the breaches of one law.

    `findings` are confirmed, `evidence` describes the breach; `unsteady` are the examples, in
    words, whose breach was not seen again; `elsewhere` is why a breach does not concern this law.
    """

    findings: list[Finding] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    elsewhere: str = ""
    evidence: tuple[str, ...] = ()


class Laws(Generic[E]):
    """The laws of one run, and the generated examples on which they are tried.

    `evidence` describes the breach of the last law compared, `basis` the trials of its verdict.
    """

    def __init__(self, examples: Examples[E]) -> None:
        """Keep the examples and the seconds for shrinking; nothing is generated or tried yet."""
        self._examples = examples
        self._left = examples.shrink_s
        self._crew = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="breaches")
        self._begun: dict[str, Future[_Settled]] = {}
        self.evidence: tuple[str, ...] = ()
        self.basis: tuple[str, ...] = ()

    def compared(self, law: str) -> Comparison:
        """Try a law on all examples, confirm its breaches, and return a Comparison.

        It has the confirmed findings and what was observed of unbroken clauses; other broken
        clauses, and breaches seen only once, are open. `evidence` and `basis` are set. Raises
        Inconclusive if no example led to what the law is about, or no example could have shown a
        breach (`expect_control`).
        """
        examples, self.evidence = self._examples, ()
        trials = examples.tried_on_all(law)
        observed = sum((trial.observed for trial in trials), Counter[str]())
        made = f"{len(trials)} {examples.noun}s generated from seed {examples.seed}"
        if lost := sum(not trial.is_answered for trial in trials):
            made += f", of which {lost} have no answer to look at"
        self.basis = (f"{made}, {observed.total()} observations",)
        broken = {clause for trial in trials for clause in trial.broken}
        held = Counter({clause: n for clause, n in observed.items() if clause not in broken})
        with during(Repetition(law=law)):
            settled = self._concluded(law, trials)
        self.evidence = settled.evidence
        if settled.findings or settled.elsewhere:
            others = (
                f"another generated {examples.noun} breaks it too; first fix what is reported here"
            )
            compared = Comparison(findings=settled.findings, observed=held)
            return compared.leaving_open(broken, settled.elsewhere or others)
        if settled.unsteady:
            reason = (
                f"the {examples.subject} is not deterministic; a failure was seen only once: "
                f"{settled.unsteady[0]}"
            )
            unsettled = Open(clauses=tuple(sorted(broken)), reason=reason, cause="disagrees")
            return Comparison(observed=held, open=[unsettled])
        examples.expect_control()
        if not observed:
            missing = f"no generated {examples.noun} led to what the law is about"
            raise Inconclusive(missing, cause="too_few_generated")
        return Comparison(observed=observed)

    def close(self) -> None:
        """End the targets that examples are tried on; drop confirmations that have not begun.

        Those that have are waited for.
        """
        self._examples.close()
        self._crew.shutdown(cancel_futures=True)

    def _concluded(self, law: str, trials: Sequence[Tried[E]]) -> _Settled:
        """Confirm and shrink the breaches of a law; wait for the result and return it.

        This is done once: a later call returns the same result. Breaches of other laws known to be
        broken are begun at the same time, four at once. Without `again` nothing is confirmed: the
        smallest breach is returned.
        """
        if not self._examples.again:
            return self._as_seen(law, self._wrong(trials))
        for name in (law, *self._examples.broken()):
            if name not in self._begun:
                wrong = self._wrong(trials if name == law else self._examples.tried_on_all(name))
                self._begun[name] = self._crew.submit(self._settled, name, wrong)
        return self._begun[law].result()

    def _wrong(self, trials: Iterable[Tried[E]]) -> list[Tried[E]]:
        """Return the trials that have findings, those of the smallest examples first."""
        found = (trial for trial in trials if trial.found)
        return sorted(found, key=lambda trial: self._examples.size(trial.example))

    def _as_seen(self, law: str, wrong: Sequence[Tried[E]]) -> _Settled:
        """Return the first of these trials' findings, unconfirmed, and write its example as a case.

        Without any trial the result is empty.
        """
        for trial in wrong:
            evidence = tuple(self._examples.written(law, trial, in_time=False))
            return _Settled(findings=[*trial.found.values()], evidence=evidence)
        return _Settled()

    def _settled(self, law: str, wrong: Sequence[Tried[E]]) -> _Settled:
        """Confirm at most four of these breaking trials, given smallest first, and shrink them.

        After the first confirmed one, only those that break further clauses are looked at, and they
        are shrunk only for a law on single servers. A breach that no repetition showed is
        `unsteady`, unless the examples are timed, no repetition broke anything, and there is no
        second breach like it.
        """
        examples, settled, tries, lapses = self._examples, _Settled(), 0, list[str]()
        alone, until = examples.is_of_one(law), 0.0
        for trial in wrong:
            late = alone and until and time.monotonic() > until
            if tries == LOOKED_AT or late or not {*trial.broken} - _clauses(settled.findings):
                continue
            tries += 1
            again = examples.seen_again(law, trial.example)
            if not (common := _common(trial.found, again)):
                lapsed = examples.is_timed and not any(other.found for other in again)
                (lapses if lapsed else settled.unsteady).append(examples.in_words(trial.example))
                continue
            if settled.findings and not alone:
                settled.findings += _beyond(common, settled.findings)
                continue
            with self._spending() as left:
                until = until or time.monotonic() + min(SHRINK_S, left)
                small = self._smallest(law, replace(trial, found=common), until)
            if elsewhere := examples.elsewhere(law, small.example):
                settled.elsewhere = elsewhere
                continue
            if not settled.findings:
                with self._spending() as left:
                    settled.evidence = tuple(examples.written(law, small, in_time=left > 0))
            settled.findings += _beyond(small.found, settled.findings)
            settled.findings += [] if alone else _beyond(common, settled.findings)
        settled.unsteady += lapses if len(lapses) >= LAPSES else []
        return settled

    def _smallest(self, law: str, whole: Tried[E], until: float) -> Tried[E]:
        """Return the smallest trial found before the time `until` that breaks a clause of `whole`.

        It keeps only findings that repetitions show too; `whole` is returned if no smaller
        example breaks such a clause again.
        """
        examples, accused, small = self._examples, _clauses(whole.found.values()), whole
        best: Tried[E] | None = whole
        while best is not None:
            small, best = best, None
            for several in examples.smaller(small):
                if time.monotonic() > until:
                    break
                tried = examples.tried(law, several)
                broken = [trial for trial in tried if accused & _clauses(trial.found.values())]
                best = min(broken, key=lambda trial: examples.size(trial.example), default=None)
                if best is not None:
                    break
        if small is whole:
            return whole
        common = _common(small.found, examples.seen_again(law, small.example))
        return replace(small, found=common) if accused & _clauses(common.values()) else whole

    @contextmanager
    def _spending(self) -> Iterator[float]:
        """Yield the seconds left for shrinking; subtract the block's duration, down to 0."""
        began = time.monotonic()
        yield self._left
        self._left = max(0.0, self._left - (time.monotonic() - began))


def run_again(case: Path) -> str:
    """Return the sentence that says how to run a written case alone, with --case."""
    return f"run it again with the same command and --case {shlex.quote(str(case))}"


def _common(first: Found, again: Iterable[Tried[E]]) -> Found:
    """Return the findings of `first` that each repetition shows: same path, clauses, observed."""
    others = [trial.found for trial in again]
    return {
        place: finding
        for place, finding in first.items()
        if all(place in other and same(other[place].observed, finding.observed) for other in others)
    }


def _clauses(findings: Iterable[Finding]) -> set[str]:
    """Return the set of all clauses that the findings name."""
    return {clause for finding in findings for clause in finding.clauses}


def _beyond(findings: Found, others: Iterable[Finding]) -> list[Finding]:
    """Return the findings that break at least one clause that none of `others` breaks."""
    known = _clauses(others)
    return [finding for finding in findings.values() if not {*finding.clauses} <= known]
