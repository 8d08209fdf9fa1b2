"""One run of the resilience checks: a loader instead of a target, loads instead of stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proxy_conformance.catalogue.case import parameter
from mcp_proxy_conformance.catalogue.load_case import Given, LoadCase, load_cases
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.resilience.controls import WELL
from mcp_proxy_conformance.resilience.declared import overtaken, signed
from mcp_proxy_conformance.resilience.judged import Says, judged
from mcp_proxy_conformance.resilience.loader_target import LoaderTarget
from mcp_proxy_conformance.resilience.loading import FIRST_S
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.resilience.walk import Reads
from mcp_proxy_conformance.run.collected import Place
from mcp_proxy_conformance.run.judging import Ending, attempt, confirmed
from mcp_proxy_conformance.run.session import Run
from mcp_proxy_conformance.targets.adapter import AdapterError
from mcp_proxy_conformance.verdict.comparison import Comparison, Open
from mcp_proxy_conformance.verdict.outcome import BROKEN, Outcome
from mcp_proxy_conformance.verdict.result import Inconclusive, NotApplicable

if TYPE_CHECKING:
    from mcp_proxy_conformance.resilience.laws.trying import Laws

LOADS = World(servers=(), id="loads")
GENERATED = World(servers=(), id="generated loads")
BOTH_CONTROLS = LoadCase(
    id="controls", area="none", title="The controls.", source=(), clauses=(), then={},
    given=Given(max_attempts=1, servers=()),
)  # fmt: skip


class LoadBench:
    """What a check of the resilience profiles is given."""

    def __init__(self, loads: Loads, target: LoaderTarget, laws: Laws | None = None) -> None:
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


@dataclass(slots=True)
class LoadRun(Run):
    """A run whose checks look at loads, all of which go on at the same time."""

    _loads: Loads | None = field(default=None)
    _laws: Laws | None = field(default=None)
    _again: Loads | None = field(default=None)

    @property
    def loads(self) -> Loads:
        """The loads of this run, made when first asked for."""
        if self._loads is None:
            self._loads = Loads(self.loader_target.loader, self.scratch)
        return self._loads

    @property
    def loader_target(self) -> LoaderTarget:
        """The target as what it is."""
        assert isinstance(self.target, LoaderTarget)
        return self.target

    @property
    def laws(self) -> Laws:
        """The generated loads of this run, made when first asked for."""
        if self._laws is None:
            # hypothesis takes a third of a second to import, and only loaders need it
            from mcp_proxy_conformance.resilience.laws.law import Declared  # noqa: PLC0415
            from mcp_proxy_conformance.resilience.laws.trying import Laws  # noqa: PLC0415

            told = self.loader_target
            declared = Declared(reads=says(told).reads, tool_prefix=told.tool_prefix)
            asked = {"examples": told.examples, "seed": told.seed}
            self._laws = Laws(self.loads, declared, out=self.out, **asked)
        return self._laws

    @property
    def cases(self) -> tuple[LoadCase, ...]:
        """The load cases, or the one that alone is asked for."""
        own = self.loader_target.case
        return load_cases() if own is None else (own,)

    def look(self) -> None:
        """Have it load nothing; if it cannot, `stopped` says why."""
        loader = self.loader_target.loader(self.scratch / "first")
        try:
            loader.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=FIRST_S)
        except AdapterError as error:
            self.stopped = Outcome("target or adapter broke", BROKEN, str(error))
        finally:
            loader.stop(1.0)

    def plan(self, places: list[Place]) -> None:
        """Begin every load that a check will ask for; where a part is asked for, in its order."""
        wanted = {place.name: None for place in places if not self.lacking(place)}
        by_place = {_place_name(case): case for case in self.cases}
        cases = [by_place[name] for name in wanted if name in by_place]
        signatures = self.loader_target.timeout_signatures
        due = [one for case in cases for one in signed(case, signatures).values()]
        due += self.laws.wanted() if GENERATED.id in wanted else ()
        first = () if self.partial else (WELL,)
        self.loads.plan([*first, *due], slowest_first=not self.partial)

    def lacking(self, place: Place) -> NotApplicable | None:
        """The capability that a check needs and the loader does not declare."""
        return self.not_declared(place.needs)

    def bench(self, place: Place) -> Any:
        """The same for every check, but that only those of laws need generated loads."""
        laws = self.laws if place.name == GENERATED.id else None
        return LoadBench(self.loads, self.loader_target, laws)

    def judged(self, call: Callable[[Any], Any], bench: Any, place: Place) -> Ending:
        """A failure counts only when a second load, with time to itself, shows it too."""
        if self._laws is not None:
            self._laws.evidence = ()
        ending = attempt(partial(call, bench))
        if ending.verdict != "fail" or not self.confirm or place.name == GENERATED.id:
            return ending  # a breach of a law was seen again before it was told
        second = attempt(partial(call, LoadBench(self._seconds, self.loader_target, None)))
        return confirmed(ending, second, "the loader")

    @property
    def _seconds(self) -> Loads:
        """The loads that confirm failures, made when first asked for."""
        if self._again is None:
            self._again = Loads(self.loader_target.loader, self.scratch / "again")
        return self._again

    def done_with(self, place: Place) -> None:
        """Nothing is shared that could end."""

    def _more_evidence(self, place: Place, ending: Ending) -> tuple[str, ...]:
        """The script of a load that breaks a law."""
        del place
        return self._laws.evidence if self._laws is not None and ending.verdict == "fail" else ()

    def close(self) -> None:
        """End every loader."""
        for loads in (self._loads, self._again):
            if loads is not None:
                loads.close()
        self.target.close()


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
    return parametrised([one for one in load_cases() if one.area == area])


def parametrised(cases: Sequence[LoadCase]) -> pytest.MarkDecorator:
    """The mark of a check that is tried with each of these cases."""
    worlds = [World(servers=(), id=_place_name(one)) for one in cases]
    return pytest.mark.parametrize("case", list(map(parameter, cases, worlds)))


def only_own(metafunc: pytest.Metafunc, own: LoadCase) -> None:
    """Try the check of that case's area with it, in place of the cases that are shipped."""
    marks = metafunc.definition.own_markers
    for at, mark in enumerate(marks):
        if mark.name == "parametrize" and mark.args[0] == "case" and mark.args[1]:
            first = mark.args[1][0].values[0]
            if isinstance(first, LoadCase) and first.area == own.area:
                marks[at] = parametrised([own]).mark


def _place_name(case: LoadCase) -> str:
    return f"load of {case.id}"
