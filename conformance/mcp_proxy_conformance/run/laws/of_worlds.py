"""Generated worlds of a proxy: each is played on a target of its own, many at once."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mcp_proxy_conformance.catalogue.case import When
from mcp_proxy_conformance.catalogue.world import Step, key
from mcp_proxy_conformance.discovery.laws.building import Plan
from mcp_proxy_conformance.discovery.laws.playing import Played, play
from mcp_proxy_conformance.discovery.laws.shrinking import size, smaller
from mcp_proxy_conformance.discovery.laws.tours import tours
from mcp_proxy_conformance.discovery.laws.worlds import built, recipes
from mcp_proxy_conformance.discovery.laws.writing import in_words, shows, written
from mcp_proxy_conformance.run.laws.engine import CONFIRMED, FOLDER, Examples, Tried, run_again
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.targets.adapter import AdapterError, Target
from mcp_proxy_conformance.targets.started import Started

SHRINK_ALL_S = 20.0
QUICK, SLOW = 6, 4
SLOW_S = 2.0
"""How many worlds are generated, and what a target takes to its first step that gets few."""


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


class GeneratedWorlds(Examples[Plan]):
    """The generated worlds of one run, played when first asked for."""

    noun, subject = "world", "target"
    is_timed = False
    shrink_s = SHRINK_ALL_S

    def __init__(self, target: Target, scratch: Path, out: Path, asked: Asked) -> None:
        """Nothing is generated or started yet; cases are written under `out`."""
        self.seed, self.again = asked.seed, asked.again
        self._target = target
        self._scratch = scratch
        self._out = out
        self._asked = asked
        self._crew = ThreadPoolExecutor(target.ahead, thread_name_prefix="laws")
        self._open, self._over = weakref.WeakSet[Started](), False
        self._lock = threading.Lock()
        self._played: dict[tuple[str, ...], list[Played]] = {}
        self._anew: dict[tuple[str, tuple[str, ...]], list[Future[Played]]] = {}

    def every(self, law: str) -> list[Tried[Plan]]:
        """All laws look at the same worlds; where few laws are asked for each looks alone."""
        played = self._all(law) if self.again else self._until_broken(law)
        return [_tried(law, one) for one in played]

    def _all(self, law: str) -> list[Played]:
        laws = self._looking(law)
        if laws not in self._played:
            first = self._plans(0)
            jobs = [self._crew.submit(self._play, plan, laws) for plan in first]
            examples = self._asked.examples
            if examples is None:
                examples = SLOW if jobs[0].result().ready > SLOW_S else QUICK
            more = self._plans(examples)[len(first) :]
            jobs += [self._crew.submit(self._play, plan, laws) for plan in more]
            played = self._played[laws] = [job.result() for job in jobs]
            for name in {one: None for done in played for one in done.broken}:
                broken = [_tried(name, one).example for one in played if name in one.broken]
                self._begin_anew(min(broken, key=size), laws)
        return self._played[laws]

    def _until_broken(self, law: str) -> list[Played]:
        laws = self._looking(law)
        done = self._played.setdefault(laws, [])
        plans = self._plans(self._asked.examples or 0)
        while len(done) < len(plans) and not any(law in one.broken for one in done):
            done.append(self._play(plans[len(done)], laws))
        return done

    def _looking(self, law: str) -> tuple[str, ...]:
        """The laws that look at a world beside this one; none named is all of them."""
        return (law,) if self._asked.apart else ()

    def _plans(self, examples: int) -> list[Plan]:
        return generated(examples, self.seed, self._target.capabilities)

    def _play(self, plan: Plan, laws: Sequence[str]) -> Played:
        """Played, and once more on another target when the first does not come up."""
        try:
            return play(self._target, plan, self._scratch, laws, self._register)
        except AdapterError:
            return play(self._target, plan, self._scratch, laws, self._register)

    def _register(self, started: Started) -> None:
        with self._lock:
            self._open.add(started)
        if self._over:
            started.close()
            raise AdapterError("the run is over")

    def tried(self, law: str, examples: Sequence[Plan]) -> list[Tried[Plan]]:
        """Looked at by this law alone."""
        jobs = [self._crew.submit(self._play, one, (law,)) for one in examples]
        return [_tried(law, job.result()) for job in jobs]

    def seen_again(self, law: str, example: Plan) -> list[Tried[Plan]]:
        """On fresh targets, looked at as it was at first."""
        whole = any(one.example == example for one in self.every(law))
        jobs = self._begin_anew(example, self._looking(law) if whole else (law,))
        return [_tried(law, job.result()) for job in jobs]

    def _begin_anew(self, plan: Plan, laws: tuple[str, ...]) -> list[Future[Played]]:
        place = (f"{plan}", laws)
        if place not in self._anew:
            jobs = [self._crew.submit(self._play, plan, laws) for _ in range(CONFIRMED)]
            self._anew[place] = jobs
        return self._anew[place]

    def size(self, example: Plan) -> tuple[int, ...]:
        """Looks, then tools, steps and requests."""
        return size(example)

    def smaller(self, tried: Tried[Plan]) -> Iterator[list[Plan]]:
        """Plans with less in them; the request of the breach in the place of earlier looks."""
        path, _ = next(iter(tried.found))
        return smaller(tried.example, _steps_of(tried.asked[path]))

    def is_of_one(self, law: str) -> bool:
        """No law of a proxy is about one server by itself."""
        del law
        return False

    def elsewhere(self, law: str, example: Plan) -> str:
        """Whatever breaks a law in a world says so."""
        del law, example
        return ""

    def expect_control(self) -> None:
        """Arming has proven every lock before anything was judged."""

    def in_words(self, example: Plan) -> str:
        """The world as a literal."""
        return in_words(example)

    def written(self, law: str, tried: Tried[Plan], *, in_time: bool) -> list[str]:
        """The world in words, and how its case is run again, if one can tell the breach."""
        (path, _), plan = next(iter(tried.found)), tried.example  # first is a tool's own query
        clauses = {clause for one in tried.found.values() for clause in one.clauses}
        lines = [in_words(plan)]
        made = written(plan, tried.asked[path], clauses, self._out / FOLDER)
        if made is None:
            return lines
        alone: bool | None = None
        if in_time:
            alone = self._crew.submit(partial(shows, made, self._target, self._scratch)).result()
        if alone is False:
            count = len(self._played[self._looking(law)]) - len(self._plans(0))
            told = f"seen after all that the laws ask, not by {made.name} alone: run it again with"
            return [*lines, f"{told} --seed {self.seed} --examples {count}"]
        untried = "" if alone else "; it was not tried by itself"
        return [*lines, f"{run_again(made)}{untried}"]

    def close(self) -> None:
        """Nothing is played any more; the targets of what still is are ended under it."""
        self._over = True
        self._crew.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            left = list(self._open)
        with ThreadPoolExecutor(max(1, len(left))) as enders:
            list(enders.map(Started.close, left))  # those that have ended are not ended again
        self._crew.shutdown(wait=True)


def _tried(law: str, played: Played) -> Tried[Plan]:
    """What a law found in a played world, until the look that sees its breach."""
    broken = played.broken.get(law)
    return Tried(
        example=played.plan if broken is None else played.plan.upto(broken.look),
        found=played.of(law),
        observed=played.seen.get(law, Counter()),
        broken=played.clauses.get(law, set()),
        asked={} if broken is None else broken.findings.of,
    )


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
