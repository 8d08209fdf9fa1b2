"""Inputs of proxies' property tests (laws): fixed and generated worlds, each on a fresh target."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, zip_longest
from pathlib import Path

from mcp_proxy_conformance.catalogue.world import Step, key
from mcp_proxy_conformance.discovery.case import When
from mcp_proxy_conformance.discovery.laws.plan import Plan
from mcp_proxy_conformance.discovery.laws.player import PlayedWorld, play
from mcp_proxy_conformance.discovery.laws.smaller_plans import size, smaller
from mcp_proxy_conformance.discovery.laws.tours import tours
from mcp_proxy_conformance.discovery.laws.worlds import built, recipes
from mcp_proxy_conformance.discovery.laws.written_case import in_words, shows, written
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.run.laws.engine import (
    CONFIRMED,
    FOLDER,
    LOOKED_AT,
    Examples,
    Tried,
    run_again,
)
from mcp_proxy_conformance.run.laws.generation import drawn
from mcp_proxy_conformance.targets.target import AdapterError

SHRINK_ALL_S = 20.0
QUICK, SLOW = 6, 4
SLOW_S = 2.0
"""Numbers of generated worlds, and the seconds to the first step that mark a slow target."""


@dataclass(frozen=True, slots=True)
class LawOptions:
    """Options of the laws: `examples` worlds are generated; None: by the target's speed.

    `again`: whether a breach is confirmed and shrunk; `apart`: whether the worlds are played for
    each law by itself, instead of once for all laws.
    """

    examples: int | None = None
    seed: int = 0
    again: bool = True
    apart: bool = False


def generated(examples: int, seed: int, can: Collection[str]) -> list[Plan]:
    """Return the plans that every run plays, then up to `examples` generated from the seed.

    `can` are the target's capabilities; no plan needs another one.
    """
    return [*tours(can), *(built(recipe, can) for recipe in drawn(recipes(), examples, seed))]


class GeneratedWorlds(Examples[Plan]):
    """The generated worlds of one run; each is played when a law first needs it."""

    noun, subject = "world", "target"
    is_timed = False
    shrink_s = SHRINK_ALL_S

    def __init__(self, target: ProxyTarget, scratch: Path, out: Path, options: LawOptions) -> None:
        """Keep the settings, and make threads for `target.ahead` worlds at once.

        Start no target yet. Cases are written under `out`.
        """
        self.seed, self.again = options.seed, options.again
        self._target = target
        self._scratch = scratch
        self._out = out
        self._options = options
        self._crew = ThreadPoolExecutor(target.ahead, thread_name_prefix="laws")
        self._open, self._over = weakref.WeakSet[Started](), False
        self._lock = threading.Lock()
        self._played: dict[tuple[str, ...], list[PlayedWorld]] = {}
        self._repeats: dict[tuple[str, tuple[str, ...]], list[Future[PlayedWorld]]] = {}

    def tried_on_all(self, law: str) -> list[Tried[Plan]]:
        """Try the law on all worlds, without `again` only until one breaks it; return the trials.

        A world is played once for all laws or, with `apart`, for this law alone.
        """
        played = self._all(law) if self.again else self._until_broken(law)
        return [_tried(law, world) for world in played]

    def _all(self, law: str) -> list[PlayedWorld]:
        """Play all worlds, once, and begin to repeat those that break a law; return all.

        Repeated are the first that breaks each law, as soon as it does, and then the smallest of
        each law, at most `target.ahead` in all. Unless set, the number of generated worlds is 4 for
        a target that needs over 2 s until its first step, else 6.
        """
        laws = self._played_for(law)
        if laws not in self._played:
            examples = self._options.examples
            jobs = self._begun(self._plans(SLOW if examples is None else examples), laws)
            if examples is None and jobs[0].result().ready <= SLOW_S:
                jobs += self._begun(self._plans(QUICK)[len(jobs) :], laws)
            played = self._played[laws] = [job.result() for job in jobs]
            names = dict.fromkeys(name for world in played for name in world.broken)
            breaking = zip_longest(*(_breaking(name, played) for name in names))
            for plan in islice(filter(None, chain.from_iterable(breaking)), self._target.ahead):
                self._begin_repeats(plan, laws)
        return self._played[laws]

    def _begun(self, plans: Sequence[Plan], laws: tuple[str, ...]) -> list[Future[PlayedWorld]]:
        """Begin to play the plans for these laws; return their futures, in the same order.

        The first world that breaks a law is repeated at once, while others are still played.
        """
        known = set[str]()

        def repeat(job: Future[PlayedWorld]) -> None:
            """Begin to repeat a played world for each law that it is the first to break.

            Nothing is done if playing it failed or the run is over.
            """
            if self._over or job.cancelled() or job.exception() is not None:
                return
            for name in [name for name in job.result().broken if name not in known]:
                known.add(name)
                self._begin_repeats(_tried(name, job.result()).example, laws)

        jobs = [self._crew.submit(self._play, plan, laws) for plan in plans]
        for job in jobs:
            job.add_done_callback(repeat)
        return jobs

    def _until_broken(self, law: str) -> list[PlayedWorld]:
        """Play worlds one by one until one breaks the law; return all that were played so far.

        Unless `apart`, worlds played for an earlier law count. Unless a number of examples
        is set, only the plans of every run are played.
        """
        laws = self._played_for(law)
        done = self._played.setdefault(laws, [])
        plans = self._plans(self._options.examples or 0)
        while len(done) < len(plans) and not any(law in world.broken for world in done):
            done.append(self._play(plans[len(done)], laws))
        return done

    def _played_for(self, law: str) -> tuple[str, ...]:
        """Return the laws that a world is played for: `law` alone with `apart`, else (): all."""
        return (law,) if self._options.apart else ()

    def _plans(self, examples: int) -> list[Plan]:
        """Return the plans of every run, then up to that many generated ones, for the target."""
        return generated(examples, self.seed, self._target.capabilities)

    def _play(self, plan: Plan, laws: Sequence[str], *, patient: bool = False) -> PlayedWorld:
        """Start a target for the plan, take its steps and judge; return the played world.

        Empty `laws` are all. If the adapter fails, play once more; a second AdapterError is raised.
        """
        place = (self._target, plan, self._scratch, laws, self._register)
        try:
            return play(*place, patient=patient)
        except AdapterError:
            return play(*place, patient=patient)

    def _register(self, started: Started) -> None:
        """Note a started target for `close` to end.

        After `close`, end it at once and raise AdapterError.
        """
        with self._lock:
            self._open.add(started)
        if self._over:
            started.close()
            raise AdapterError("the run is over")

    def broken(self) -> Collection[str]:
        """Return the laws that worlds played by now break; with `apart` none."""
        played = [] if self._options.apart else self._played.get((), [])
        return list(dict.fromkeys(law for world in played for law in world.broken))

    def tried(self, law: str, examples: Sequence[Plan]) -> list[Tried[Plan]]:
        """Play these worlds for this law alone, many at once; return a trial of each."""
        jobs = [self._crew.submit(self._play, plan, (law,)) for plan in examples]
        return [_tried(law, job.result()) for job in jobs]

    def seen_again(self, law: str, example: Plan) -> list[Tried[Plan]]:
        """Play the world twice more, on fresh targets; return both trials.

        A world of the run is played for the same laws as before, a shrunken one for this law alone.
        """
        whole = any(trial.example == example for trial in self.tried_on_all(law))
        jobs = self._begin_repeats(example, self._played_for(law) if whole else (law,))
        return [_tried(law, job.result()) for job in jobs]

    def _begin_repeats(self, plan: Plan, laws: tuple[str, ...]) -> list[Future[PlayedWorld]]:
        """Begin to play the plan twice more for these laws, or find both plays begun before.

        Return their futures.
        """
        place = (f"{plan}", laws)
        with self._lock:
            if place not in self._repeats:
                again = partial(self._play, plan, laws, patient=True)
                jobs = [self._crew.submit(again) for _ in range(CONFIRMED)]
                self._repeats[place] = jobs
            return self._repeats[place]

    def size(self, example: Plan) -> tuple[int, ...]:
        """Return the sort key of a plan: numbers of looks, tools, steps and requests."""
        return size(example)

    def smaller(self, tried: Tried[Plan]) -> Iterator[list[Plan]]:
        """Yield batches of plans smaller than the tried one.

        In some, steps that make the request of the first breach replace earlier looks.
        """
        path, _ = next(iter(tried.found))
        return smaller(tried.example, _steps_of(tried.asked[path]))

    def is_of_one(self, law: str) -> bool:
        """Return False: no law of proxies is about one server by itself."""
        del law
        return False

    def elsewhere(self, law: str, example: Plan) -> str:
        """Return "", as every breach in a world counts for its law."""
        del law, example
        return ""

    def expect_control(self) -> None:
        """Do nothing, as every lock was proven before the world was judged."""

    def in_words(self, example: Plan) -> str:
        """Return the plan in one line, as a literal."""
        return in_words(example)

    def written(self, law: str, tried: Tried[Plan], *, in_time: bool) -> list[str]:
        """Write the breach as a case file, if a case can show it; try it alone if `in_time`.

        Return the world in a line and, if a file was written, how to see the breach again: with
        --case or, if the case alone does not show it, with the same seed and number of examples.
        """
        # the first path is a tool's own query
        (path, _), plan = next(iter(tried.found)), tried.example
        clauses = {clause for finding in tried.found.values() for clause in finding.clauses}
        lines = [in_words(plan)]
        made = written(plan, tried.asked[path], clauses, self._out / FOLDER)
        if made is None:
            return lines
        alone: bool | None = None
        if in_time:
            alone = self._crew.submit(partial(shows, made, self._target, self._scratch)).result()
        if alone is False:
            count = len(self._played[self._played_for(law)]) - len(self._plans(0))
            advice = (
                f"seen only after the requests of all laws, not with {made.name} alone; run it with"
            )
            return [*lines, f"{advice} --seed {self.seed} --examples {count}"]
        untried = "" if alone else " (this case was not tried by itself)"
        return [*lines, f"{run_again(made)}{untried}"]

    def close(self) -> None:
        """Refuse new targets, cancel the worlds that wait, end the targets that run.

        Wait for the threads.
        """
        self._over = True
        self._crew.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            left = list(self._open)
        with ThreadPoolExecutor(max(1, len(left))) as enders:
            list(enders.map(Started.close, left))  # those that have ended are not ended again
        self._crew.shutdown(wait=True)


def _tried(law: str, played: PlayedWorld) -> Tried[Plan]:
    """Return the trial of a law on a played world.

    If the world breaks the law, the example is its plan cut after the look that shows it.
    """
    broken = played.broken.get(law)
    return Tried(
        example=played.plan if broken is None else played.plan.upto(broken.look),
        found=played.of(law),
        observed=played.observed.get(law, Counter()),
        broken=played.clauses.get(law, set()),
        asked={} if broken is None else broken.findings.requests,
    )


def _breaking(law: str, played: Iterable[PlayedWorld]) -> list[Plan]:
    """Return the plans that break the law and a clause that no smaller one breaks, smallest first.

    They are four at most.
    """
    trials = (_tried(law, world) for world in played if law in world.broken)
    plans, known = list[Plan](), set[str]()
    for trial in sorted(trials, key=lambda trial: size(trial.example)):
        if not known.issuperset(trial.broken):
            plans.append(trial.example)
            known.update(trial.broken)
    return plans[:LOOKED_AT]


def _steps_of(request: When) -> list[Step]:
    """Return steps that repeat a breach's request: a call, or a query with and without the flag.

    After a call comes a query, with the flag, for its tool. Empty for a listing, and for a
    query that is not a string.
    """
    if request.do == "call":
        tool = key(request.tool or "")
        return [
            Step(call=tool.tool, server=tool.server),
            Step(ask=tool.tool, include_disabled=True),
        ]
    if request.do == "list" or not isinstance(request.query, str):
        return []
    forms = [request.include_disabled, None if request.include_disabled else True]
    return [Step(ask=request.query, include_disabled=form) for form in forms]
