"""A loader of many servers: loads in the place of stages, all of which go on at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proxy_conformance.catalogue.case import OwnCase, parameter
from mcp_proxy_conformance.catalogue.load_case import Given, LoadCase, load_cases
from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.resilience.controls import WELL
from mcp_proxy_conformance.resilience.judged import Says, judged
from mcp_proxy_conformance.resilience.loader_target import LoaderTarget, overtaken, signed
from mcp_proxy_conformance.resilience.loading import FIRST_S
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt, confirmed
from mcp_proxy_conformance.run.subject import Check, Probed, Rests, Subject
from mcp_proxy_conformance.targets.adapter import AdapterError
from mcp_proxy_conformance.targets.folder import keep_log, remove
from mcp_proxy_conformance.verdict.comparison import Comparison, Open
from mcp_proxy_conformance.verdict.outcome import broke
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

if TYPE_CHECKING:
    from mcp_proxy_conformance.run.laws.engine import Laws
    from mcp_proxy_conformance.run.laws.of_loads import GeneratedLoads

LOADS = World(servers=(), id="loads")
GENERATED = World(servers=(), id="generated loads")
BOTH_CONTROLS = LoadCase(
    id="controls", area="none", title="The controls.", source=(), clauses=(), then={},
    given=Given(max_attempts=1, servers=()),
)  # fmt: skip


class LoadBench:
    """What a check of the resilience profiles is given."""

    def __init__(
        self, loads: Loads, target: LoaderTarget, laws: Laws[LoadCase] | None = None
    ) -> None:
        """Made by the run."""
        self._loads = loads
        self._laws = laws
        self._target = target

    def load(self, case: LoadCase) -> Load:
        """The load of that case, waited for."""
        return self._loads.of(case)

    def law(self, name: str) -> Comparison:
        """The findings of the smallest load that breaks that law, and what all loads showed."""
        assert self._laws is not None
        return self._laws.compared(name)

    def judged(self, case: LoadCase) -> Comparison:
        """What was observed in the load of that case, beside what is allowed.

        A case that asks for signatures is loaded with each that the loader declares.
        """
        signatures = self._target.timeout_signatures
        if not (forms := signed(case, signatures)):
            raise NotApplicable("no signature of a timeout is declared", cause="not_declared")
        if name := overtaken(case, signatures):
            raise NotApplicable(f"the body that {name} sends holds a declared signature")
        if not case.servers():
            self._expect_controls()
        every = Comparison()
        for signature, form in forms.items():
            where = f" under {signature!r}" if signature else ""
            try:
                every.add(judged(self.load(form), self.load, says(self._target)), where)
            except Inconclusive as error:
                every.open.append(Open(clauses=case.clauses, reason=f"{error}{where}",
                                       cause=error.cause))  # fmt: skip
        return every

    def _expect_controls(self) -> None:
        """What says nothing of no servers must be seen to say something of two."""
        told = {one.server_id: one.status for one in self.load(BOTH_CONTROLS).loaded.told.outcomes}
        if told.get("control-up") != "available" or told.get("control-down") in (None, "available"):
            raise Inconclusive(f"of the two control servers it says {told}", cause="not_loaded")


class DrivenLoader(Subject):
    """A loader that is told to load, each time against servers made for that load."""

    indivisible = "the loads of a loader go on all at once as it is: leave -n out"
    target: LoaderTarget

    def __init__(self, target: LoaderTarget, out: Path, scratch: Path, *, confirm: bool) -> None:
        """Nothing is loaded yet."""
        self.target = target
        own = target.case
        self.own_case = OwnCase(own, _world(own)) if own is not None else None
        self._out, self._scratch, self._confirm = out, scratch, confirm
        self._loads: Loads | None = None
        self._again: Loads | None = None
        self._generated: GeneratedLoads | None = None
        self._laws: Laws[LoadCase] | None = None

    @property
    def loads(self) -> Loads:
        """The loads of this run, made when first asked for."""
        if self._loads is None:
            self._loads = Loads(self.target.loader, self._scratch)
        return self._loads

    @property
    def generated(self) -> GeneratedLoads:
        """The generated loads of this run, made when first asked for."""
        if self._generated is None:
            # hypothesis takes a third of a second to import, and only laws need it
            from mcp_proxy_conformance.resilience.laws.law import Declared  # noqa: PLC0415
            from mcp_proxy_conformance.run.laws.of_loads import GeneratedLoads  # noqa: PLC0415

            target = self.target
            declared = Declared(reads=says(target).reads, tool_prefix=target.tool_prefix)
            self._generated = GeneratedLoads(
                self.loads, declared, examples=target.examples, seed=target.seed, out=self._out
            )
        return self._generated

    @property
    def laws(self) -> Laws[LoadCase]:
        """The laws, tried on generated loads."""
        if self._laws is None:
            from mcp_proxy_conformance.run.laws.engine import Laws  # noqa: PLC0415

            self._laws = Laws(self.generated)
        return self._laws

    def probe(self) -> Probed:
        """Have it load nothing."""
        loader = self.target.loader(self._scratch / "first")
        try:
            loader.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=FIRST_S)
        except AdapterError as error:
            return Probed(stopped=broke(str(error)))
        finally:
            loader.stop(1.0)
        return Probed()

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Begin every load that a check will ask for; where a part is asked for, in its order."""
        wanted = {place.name: None for place in self.applicable(places)}
        cases = load_cases() if self.target.case is None else (self.target.case,)
        by_place = {_world(case).id: case for case in cases}
        chosen = [by_place[name] for name in wanted if name in by_place]
        signatures = self.target.timeout_signatures
        due = [one for case in chosen for one in signed(case, signatures).values()]
        due += self.generated.wanted() if GENERATED.id in wanted else ()
        first = () if partial_run else (WELL,)
        self.loads.plan([*first, *due], slowest_first=not partial_run)

    def open(self, place: Place) -> Any:
        """The same for every check, but that only those of laws need generated loads."""
        laws = self.laws if place.name == GENERATED.id else None
        return LoadBench(self.loads, self.target, laws)

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """A failure counts only when a second load, with time to itself, shows it too.

        A breach of a law was seen again before it was told.
        """
        ending = attempt(partial(check, bench))
        if ending.verdict != "fail" or not self._confirm or place.name == GENERATED.id:
            return ending
        second = attempt(partial(check, LoadBench(self._seconds, self.target, None)))
        return confirmed(ending, second, "the loader")

    @property
    def _seconds(self) -> Loads:
        """The loads that confirm failures, made when first asked for."""
        if self._again is None:
            self._again = Loads(self.target.loader, self._scratch / "again")
        return self._again

    def rests(self, place: Place, ending: Ending) -> Rests:
        """Of a law the loads that it was seen on."""
        if place.name != GENERATED.id or self._laws is None:
            return Rests(ending=ending)
        return Rests(ending=ending, lines=(*self._laws.evidence, *self._laws.basis))

    def close(self) -> None:
        """End every loader; what they printed is kept beside the report."""
        for loads in (self._loads, self._again):
            if loads is not None:
                loads.close()
        self.target.close()
        for log in sorted(self._scratch.rglob("loader.log")):
            keep_log(log, self._out / LOGS / log.parent.relative_to(self._scratch))
        remove(self._scratch)


def says(target: LoaderTarget) -> Says:
    """What the loader declares that bears on how a load is judged."""
    can = target.capabilities
    reads = Reads(
        classifies="classifies" in can,
        retries="retries" in can,
        signatures=target.timeout_signatures,
    )
    return Says(
        classifies="classifies" in can,
        warns="warnings" in can,
        claims="attempts" in can,
        prefix=target.tool_prefix,
        reads=reads,
    )


def each_load(area: str) -> pytest.MarkDecorator:
    """Parametrise a check with the load cases of an area; each brings its clauses and its needs."""
    cases = [one for one in load_cases() if one.area == area]
    return pytest.mark.parametrize("case", list(map(parameter, cases, map(_world, cases))))


def _world(case: LoadCase) -> World:
    """What stands for the place where a load is judged."""
    return World(servers=(), id=f"load of {case.id}")
