"""A law tried on every played world: what breaks it is seen again, shrunk and written down."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.catalogue.world import Step, key
from mcp_proxy_conformance.discovery.laws.building import Plan
from mcp_proxy_conformance.discovery.laws.playing import Played, play
from mcp_proxy_conformance.discovery.laws.shrinking import shrunk, size
from mcp_proxy_conformance.discovery.laws.tours import tours
from mcp_proxy_conformance.discovery.laws.worlds import built, recipes
from mcp_proxy_conformance.discovery.laws.writing import FOLDER, in_words, shows, written
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.targets.adapter import AdapterError, Target
from mcp_proxy_conformance.verdict.comparison import Comparison, Open, same
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive

SHRINK_S, SHRINK_ALL_S = 8.0, 20.0
"""Seconds for making one breach smaller, and for all of that and trying what is written of them."""
ELSEWHERE = "broken in another generated world too; first mend what this one breaks"
CONFIRMED, LOOKED_AT = 2, 4
"""How often a breach is seen again before it counts, and of how many worlds that is tried."""
QUICK, SLOW = 6, 4
SLOW_S = 2.0
"""How many worlds are generated, and what a target takes to its first step that gets few."""


Found = dict[tuple[str, tuple[str, ...]], Finding]
"""Findings by path and clauses."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the laws: how many worlds are generated, None by the target's speed.

    `again`: whether a breach is to be seen again, and shrunk; `apart`: each law looks alone.
    """

    examples: int | None = None
    seed: int = 0
    again: bool = True
    apart: bool = False


def generated(examples: int, seed: int, can: Collection[str]) -> list[Plan]:
    """The tours and so many generated worlds; the same ones for the same seed."""
    return [*tours(can), *(built(recipe, can) for recipe in drawn(recipes(), examples, seed))]


class Laws:
    """The played worlds of one run.

    Of the law asked for last `evidence` tells of its breach, `basis` what the verdict rests on.
    """

    def __init__(self, target: Target, scratch: Path, out: Path, asked: Asked) -> None:
        """Nothing is generated or started yet."""
        self._target = target
        self._scratch = scratch
        self._out = out
        self._asked = asked
        self._crew = ThreadPoolExecutor(target.ahead, thread_name_prefix="laws")
        self._again: dict[str, list[Future[Played]]] = {}
        self._played: dict[tuple[str, ...], list[Played]] = {}
        self._left = SHRINK_ALL_S
        self.evidence: tuple[str, ...] = ()
        self.basis: tuple[str, ...] = ()

    def played(self, name: str) -> list[Played]:
        """Every world, played on a target of its own, as many at once as the target allows.

        All laws look at the same; where few are asked for each looks alone.
        """
        laws = (name,) if self._asked.apart else ()
        if laws not in self._played:
            first = self._plans(0)
            jobs = [self._crew.submit(self._play, plan, laws) for plan in first]
            examples = self._asked.examples
            if examples is None:
                examples = SLOW if jobs[0].result().ready > SLOW_S else QUICK
            more = self._plans(examples)[len(first) :]
            jobs += [self._crew.submit(self._play, plan, laws) for plan in more]
            self._played[laws] = [job.result() for job in jobs]
            for law in {one: None for done in self._played[laws] for one in done.broken}:
                self._again_on(_wrong(law, self._played[laws])[0][0])
        return self._played[laws]

    def _first_broken(self, name: str) -> list[Played]:
        """The worlds until one breaks the law: enough where nothing is to be seen again."""
        laws = (name,) if self._asked.apart else ()
        done = self._played.setdefault(laws, [])
        plans = self._plans(self._asked.examples or 0)
        while len(done) < len(plans) and not any(name in one.broken for one in done):
            done.append(self._play(plans[len(done)], laws))
        return done

    def _plans(self, examples: int) -> list[Plan]:
        return generated(examples, self._asked.seed, self._target.capabilities)

    def _play(self, plan: Plan, laws: Sequence[str] = ()) -> Played:
        """Played, and once more on another target when the first does not come up."""
        try:
            return play(self._target, plan, self._scratch, laws)
        except AdapterError:
            return play(self._target, plan, self._scratch, laws)

    def _basis(self, name: str, played: Sequence[Played]) -> str:
        """Worlds, their seed, and how much the law saw in them."""
        seen = _observed(name, played).total()
        looks = sum(len(one.plan.looks) for one in played)
        return (
            f"{len(played)} worlds generated from seed {self._asked.seed}, {looks} looks, "
            f"{seen} observations"
        )

    def compared(self, name: str) -> Comparison:
        """The findings of the smallest world that breaks the law, and what all of them showed.

        Further worlds are looked at for the clauses that no smaller one was seen to break.

        Raises:
            Inconclusive: What the law is about was not seen at all.
        """
        self.evidence, self.basis = (), ()
        every = self.played(name) if self._asked.again else self._first_broken(name)
        self.basis = (self._basis(name, every),)
        wrong = _wrong(name, every)
        broken = {clause for one in every for clause in one.clauses.get(name, ())}
        seen = _observed(name, every)
        seen = Counter({clause: count for clause, count in seen.items() if clause not in broken})
        if wrong and not self._asked.again:
            first = next(one for one in every if name in one.broken)
            findings = self._told(name, first.of(name), first)
            return Comparison(findings=findings, observed=seen).leaving_open(broken, ELSEWHERE)
        compared, tries = Comparison(observed=seen), 0
        for plan, first in wrong:
            if tries == LOOKED_AT or not first.clauses[name] - {*compared.broken}:
                continue
            tries += 1
            common = self._seen_again(name, plan, first.of(name))
            if common and not compared.findings:
                compared.findings += self._smallest(name, plan, common)
            else:
                compared.findings += _beyond(common, compared.broken)
        if compared.findings:
            return compared.leaving_open(broken, ELSEWHERE)
        if wrong:
            reason = (
                "the target does not agree with itself, it is not deterministic: "
                f"{in_words(wrong[0][0])}"
            )
            unsettled = Open(clauses=tuple(sorted(broken)), reason=reason, cause="disagrees")
            return Comparison(observed=seen, open=[unsettled])
        if not seen:
            raise Inconclusive("no generated world showed what the law is about")
        return Comparison(observed=seen)

    def _seen_again(self, name: str, plan: Plan, first: Found, laws: Sequence[str] = ()) -> Found:
        """What is seen on the same paths each time, on fresh targets."""
        found = [job.result().of(name) for job in self._again_on(plan, laws)]
        return {
            place: finding
            for place, finding in first.items()
            if all(place in one and same(one[place].observed, finding.observed) for one in found)
        }

    def _again_on(self, plan: Plan, laws: Sequence[str] = ()) -> list[Future[Played]]:
        """The plan on fresh targets, begun when it is first asked for."""
        place = f"{plan} {laws}"
        if place not in self._again:
            jobs = [self._crew.submit(self._play, plan, laws) for _ in range(CONFIRMED)]
            self._again[place] = jobs
        return self._again[place]

    def _smallest(self, name: str, plan: Plan, common: Found) -> list[Finding]:
        """What a smaller world shows, and what only the whole one does."""
        accused, rest = _clauses(common), list[Finding]()

        def first_broken(several: Sequence[Plan]) -> Plan | None:
            jobs = [self._crew.submit(self._play, one, [name]) for one in several]
            played = [job.result() for job in jobs]
            broken = [one.plan for one in played if accused & _clauses(one.of(name))]
            return min(broken, key=size, default=None)

        whole = self._again_on(plan)[0].result()
        of = whole.broken[name].findings.of[next(iter(common))[0]]
        with self._spending() as left:
            until = time.monotonic() + min(SHRINK_S, left)
            small = shrunk(plan, _steps_of(of), first_broken, until)
            if small != plan:
                played = self._play(small, [name])
                again = self._seen_again(name, small, played.of(name), [name])
                if accused & _clauses(again):
                    rest = _beyond(common, _clauses(again))
                    common, whole = again, played
        return [*self._told(name, common, whole), *rest]

    @contextmanager
    def _spending(self) -> Iterator[float]:
        """What is done meanwhile is taken from the seconds that are left."""
        began = time.monotonic()
        yield self._left
        self._left = max(0.0, self._left - (time.monotonic() - began))

    def _told(self, name: str, broken: Found, played: Played) -> list[Finding]:
        """The breach; `evidence` has its world in words, and the case that was written for it."""
        findings = played.broken[name].findings
        plan = played.plan.upto(played.broken[name].look)
        path, _ = next(iter(broken))  # a tool's own query comes before others
        made = written(plan, findings.of[path], _clauses(broken), self._out / FOLDER)
        lines = [in_words(plan)]
        if made is not None and (alone := self._shows(made)) is not False:
            untried = "" if alone else "; it was not tried by itself"
            case = shlex.quote(str(made))
            lines.append(f"run it again: the same command and --case {case}{untried}")
        elif made is not None:
            count = len(self.played(name)) - len(self._plans(0))
            lines.append(
                f"seen after all that the laws ask, not by {made.name} alone: run it again with "
                f"--seed {self._asked.seed} --examples {count}"
            )
        self.evidence = tuple(lines)
        return list(broken.values())

    def _shows(self, path: Path) -> bool | None:
        """Whether the written case by itself shows the breach; None when no time is left."""
        with self._spending() as left:
            if not self._asked.again or not left:
                return None
            return self._crew.submit(partial(shows, path, self._target, self._scratch)).result()

    def close(self) -> None:
        """Nothing is played any more; targets end with what is played on them."""
        self._crew.shutdown(wait=True, cancel_futures=True)


def _wrong(name: str, played: Sequence[Played]) -> list[tuple[Plan, Played]]:
    """The plans that break a law, until the look that sees it, the smallest first."""
    found = [(one.plan.upto(one.broken[name].look), one) for one in played if name in one.broken]
    return sorted(found, key=lambda pair: size(pair[0]))


def _observed(name: str, played: Sequence[Played]) -> Counter[str]:
    """How often a law has observed which clause in these worlds."""
    return sum((one.seen.get(name, Counter()) for one in played), Counter[str]())


def _clauses(broken: Found) -> set[str]:
    return {clause for finding in broken.values() for clause in finding.clauses}


def _beyond(found: Found, clauses: Collection[str]) -> list[Finding]:
    """Those that break further clauses."""
    return [one for one in found.values() if not {*one.clauses} <= {*clauses}]


def _steps_of(of: When) -> list[Step]:
    """The request as steps, in both forms, and the call: what an earlier look may have left."""
    if of.do == "call":
        tool = key(of.tool or "")
        return [
            Step(call=tool.tool, server=tool.server),
            Step(ask=tool.tool, include_disabled=True),
        ]
    if of.do == "list" or not isinstance(of.query, str):
        return []
    forms = [of.include_disabled, None if of.include_disabled else True]
    return [Step(ask=of.query, include_disabled=form) for form in forms]
