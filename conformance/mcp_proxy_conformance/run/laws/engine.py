"""The laws engine: a law tried on every generated example; breaches are seen again, made small."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.verdict.comparison import Comparison, Open, same
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive

E = TypeVar("E")
Found = Mapping[tuple[str, tuple[str, ...]], Finding]
"""Findings by path and clauses."""
CONFIRMED, LOOKED_AT = 2, 4
"""How often a breach is seen again before it counts, and of how many examples that is tried."""
SHRINK_S = 8.0
"""Seconds for making the breaches of one law smaller."""
FOLDER = "laws"
"""The folder beside the report that cases of breaches are written into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Generic[E]):
    """What a law found in one example, and what it observed there.

    `broken` are the clauses that any of its looks broke; `asked` is the request that the finding of
    a path is of.
    """

    example: E
    found: Found
    observed: Counter[str]
    broken: Collection[str]
    asked: Mapping[str, When] = field(default_factory=dict)


class Examples(Protocol[E]):
    """The generated examples of one subject: worlds of a proxy, loads of a loader.

    `noun` is what one is called, `subject` what is judged by it, `seed` what they are made from.
    `again`: whether a breach is to be seen again, and made smaller; `is_timed`: whether one that is
    not seen again at all is the work of a busy machine; `shrink_s`: the seconds for making smaller
    what breaks any law.
    """

    noun: str
    subject: str
    seed: int
    again: bool
    is_timed: bool
    shrink_s: float

    def every(self, law: str) -> Sequence[Tried[E]]:
        """All of them, tried; until one breaks the law where nothing is to be seen again."""

    def tried(self, law: str, examples: Sequence[E]) -> Sequence[Tried[E]]:
        """These, tried as many at once as the subject allows."""

    def seen_again(self, law: str, example: E) -> Sequence[Tried[E]]:
        """The example, tried anew so many times as a breach is confirmed."""

    def size(self, example: E) -> tuple[int, ...]:
        """What two examples are compared by: the smaller one is told."""

    def smaller(self, tried: Tried[E]) -> Iterator[Sequence[E]]:
        """Smaller examples that may break the law too, several at a time."""

    def is_of_one(self, law: str) -> bool:
        """Whether every breach must be made so small that it is seen alone."""

    def elsewhere(self, law: str, example: E) -> str:
        """Why a breach in this example says nothing of this law; empty if it does."""

    def expect_control(self) -> None:
        """Raise Inconclusive where nothing could have been seen."""

    def in_words(self, example: E) -> str:
        """The example in one line."""

    def written(self, law: str, tried: Tried[E], *, in_time: bool) -> Sequence[str]:
        """Write the breach as a case; lines that tell how it is run again.

        `in_time`: whether there is time to try the case.
        """

    def close(self) -> None:
        """End what examples are tried on."""


@dataclass(slots=True)
class _Settled:
    """What was seen again: findings, the examples that were not, and why some say nothing here."""

    findings: list[Finding] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    elsewhere: str = ""


class Laws(Generic[E]):
    """The laws of one run.

    Of the law asked for last `evidence` tells of its breach, `basis` what the verdict rests on.
    """

    def __init__(self, examples: Examples[E]) -> None:
        """Nothing is generated or tried yet."""
        self._examples = examples
        self._left = examples.shrink_s
        self.evidence: tuple[str, ...] = ()
        self.basis: tuple[str, ...] = ()

    def compared(self, law: str) -> Comparison:
        """The findings of the smallest example that breaks the law, and what all of them showed.

        Further examples are looked at for the clauses that no smaller one was seen to break.

        Raises:
            Inconclusive: What the law is about was not seen at all.
        """
        given, self.evidence = self._examples, ()
        every = given.every(law)
        observed = sum((one.observed for one in every), Counter[str]())
        made = f"{len(every)} {given.noun}s generated from seed {given.seed}"
        self.basis = (f"{made}, {observed.total()} observations",)
        wrong = sorted((one for one in every if one.found), key=lambda one: given.size(one.example))
        broken = {clause for one in every for clause in one.broken}
        held = Counter({clause: n for clause, n in observed.items() if clause not in broken})
        settled = self._settled(law, wrong) if given.again else self._as_seen(law, wrong)
        if settled.findings or settled.elsewhere:
            others = (
                f"broken in another generated {given.noun} too; first mend what this one breaks"
            )
            compared = Comparison(findings=settled.findings, observed=held)
            return compared.leaving_open(broken, settled.elsewhere or others)
        if settled.unsteady:
            reason = (
                f"the {given.subject} does not agree with itself, it is not deterministic: "
                f"{settled.unsteady[0]}"
            )
            found = Open(clauses=tuple(sorted(broken)), reason=reason, cause="disagrees")
            return Comparison(observed=held, open=[found])
        given.expect_control()
        if not observed:
            told = f"no generated {given.noun} showed what the law is about"
            raise Inconclusive(told, cause="too_few_generated")
        return Comparison(observed=observed)

    def close(self) -> None:
        """End what examples are tried on."""
        self._examples.close()

    def _as_seen(self, law: str, wrong: Sequence[Tried[E]]) -> _Settled:
        """The first breach as it was seen, not seen again."""
        for one in wrong:
            self.evidence = tuple(self._examples.written(law, one, in_time=False))
            return _Settled(findings=[*one.found.values()])
        return _Settled()

    def _settled(self, law: str, wrong: Sequence[Tried[E]]) -> _Settled:
        """What is seen again in the smallest examples that break the law."""
        given, settled, tries = self._examples, _Settled(), 0
        alone, until = given.is_of_one(law), 0.0
        for one in wrong:
            late = alone and until and time.monotonic() > until
            if tries == LOOKED_AT or late or not {*one.broken} - _clauses(settled.findings):
                continue
            tries += 1
            again = given.seen_again(law, one.example)
            if not (common := _common(one.found, again)):
                if not given.is_timed or any(other.found for other in again):
                    settled.unsteady.append(given.in_words(one.example))
                continue
            if settled.findings and not alone:
                settled.findings += _beyond(common, settled.findings)
                continue
            with self._spending() as left:
                until = until or time.monotonic() + min(SHRINK_S, left)
                small = self._smallest(law, replace(one, found=common), until)
            if told := given.elsewhere(law, small.example):
                settled.elsewhere = told
                continue
            if not settled.findings:
                with self._spending() as left:
                    self.evidence = tuple(given.written(law, small, in_time=left > 0))
            settled.findings += _beyond(small.found, settled.findings)
            settled.findings += [] if alone else _beyond(common, settled.findings)
        return settled

    def _smallest(self, law: str, whole: Tried[E], until: float) -> Tried[E]:
        """The smallest example found by then that breaks a clause of the whole, seen again too."""
        given, accused, small = self._examples, _clauses(whole.found.values()), whole
        found: Tried[E] | None = whole
        while found is not None:
            small, found = found, None
            for several in given.smaller(small):
                if time.monotonic() > until:
                    break
                tried = given.tried(law, several)
                broken = [one for one in tried if accused & _clauses(one.found.values())]
                found = min(broken, key=lambda one: given.size(one.example), default=None)
                if found is not None:
                    break
        if small is whole:
            return whole
        common = _common(small.found, given.seen_again(law, small.example))
        return replace(small, found=common) if accused & _clauses(common.values()) else whole

    @contextmanager
    def _spending(self) -> Iterator[float]:
        """What is done meanwhile is taken from the seconds that are left."""
        began = time.monotonic()
        yield self._left
        self._left = max(0.0, self._left - (time.monotonic() - began))


def run_again(case: Path) -> str:
    """How a written case is tried by itself."""
    return f"run it again: the same command and --case {shlex.quote(str(case))}"


def _common(first: Found, again: Iterable[Tried[E]]) -> Found:
    """What is seen on the same paths each time."""
    others = [one.found for one in again]
    return {
        place: finding
        for place, finding in first.items()
        if all(place in one and same(one[place].observed, finding.observed) for one in others)
    }


def _clauses(findings: Iterable[Finding]) -> set[str]:
    return {clause for finding in findings for clause in finding.clauses}


def _beyond(found: Found, others: Iterable[Finding]) -> list[Finding]:
    """Those that break further clauses."""
    known = _clauses(others)
    return [one for one in found.values() if not {*one.clauses} <= known]
