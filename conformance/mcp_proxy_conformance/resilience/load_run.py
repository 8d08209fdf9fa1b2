"""One run of the resilience checks: a loader instead of a target, loads instead of stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.case import parameter
from mcp_proxy_conformance.discovery.accusation import accused
from mcp_proxy_conformance.discovery.expectation import Sides
from mcp_proxy_conformance.judging import Ending, attempt
from mcp_proxy_conformance.report.outcome import BROKEN, Outcome
from mcp_proxy_conformance.resilience.embedded import Changed, EmbeddedLoader, LoaderHost
from mcp_proxy_conformance.resilience.judged import judged, spoken_against
from mcp_proxy_conformance.resilience.load_case import Given, LoadCase, load_cases
from mcp_proxy_conformance.resilience.loading import Loader, LoaderProgram
from mcp_proxy_conformance.resilience.loads import Load, Loads
from mcp_proxy_conformance.run import NOT_DECLARED, Place, Run
from mcp_proxy_conformance.target.adapter import AdapterError, Target
from mcp_proxy_conformance.verdict import Inconclusive
from mcp_proxy_conformance.world import World

ALL = ("attempts", "classifies", "retries", "warnings")
"""What a loader can declare to do."""
LOADS = World(servers=(), id="loads")
BOTH_CONTROLS = LoadCase(
    id="controls", area="none", title="The controls.", source=(), clauses=(), then={},
    given=Given(max_attempts=1, servers=()),
)  # fmt: skip
FIRST_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderTarget(Target):
    """A loader in the place of a target; `loader` makes one that keeps its log in a folder.

    What it declares: the prefix of the names that it gives to tools, and the texts that it takes
    for a timeout in the body of a 403.
    """

    loader: Callable[[Path], Loader]
    tool_prefix: str = ""
    timeout_signatures: tuple[str, ...] = ()


def loader_target(
    loader: Callable[[Path], Loader], capabilities: Iterable[str] = ALL, **members: Any
) -> LoaderTarget:
    """A target whose loader is made so."""

    def none() -> Any:
        raise AdapterError("a loader has no stages")

    can = frozenset(capabilities)
    return LoaderTarget(kind="loader", make=none, capabilities=can, loader=loader, **members)


def program_target(command: Sequence[str], capabilities: Iterable[str]) -> LoaderTarget:
    """A loader program that is started by that command."""
    return loader_target(partial(LoaderProgram, command), capabilities)


def embedded_target(
    changed: Changed, lacks: Iterable[str] = (), *, patience: float = 1.0, **members: Any
) -> LoaderTarget:
    """A changed loader in this process, which declares to do all but what it lacks."""
    host, can = LoaderHost(), set(ALL).difference(lacks)

    def make(folder: Path) -> Loader:
        del folder
        return EmbeddedLoader(changed, host, patience=patience)

    return loader_target(make, can, close=host.close, **members)


class LoadBench:
    """What a check of the resilience profiles is given."""

    def __init__(self, loads: Loads, capabilities: frozenset[str]) -> None:
        """Made by the run."""
        self._loads = loads
        self._capabilities = capabilities

    def load(self, case: LoadCase) -> Load:
        """The load of that case, waited for."""
        return self._loads.of(case)

    def judged(self, case: LoadCase) -> Sides:
        """What was observed in the load of that case, and what is allowed."""
        can = self._capabilities
        if not case.servers():
            self._expect_controls()
        return judged(
            self.load(case),
            classifies="classifies" in can,
            warns="warnings" in can,
            claims="attempts" in can,
        )

    def _expect_controls(self) -> None:
        """What says nothing of no servers must be seen to say something of two."""
        told = {one.server_id: one.status for one in self.load(BOTH_CONTROLS).loaded.told.outcomes}
        if told.get("control-up") != "available" or told.get("control-down") in (None, "available"):
            raise Inconclusive(f"of the two control servers it says {told}")


@dataclass(slots=True)
class LoadRun(Run):
    """A run whose checks look at loads, all of which go on at the same time."""

    _loads: Loads | None = field(default=None)
    _again: Loads | None = field(default=None)

    @property
    def loads(self) -> Loads:
        """The loads of this run, made when first asked for."""
        if self._loads is None:
            self._loads = Loads(self._loader, self.scratch)
        return self._loads

    @property
    def _loader(self) -> Callable[[Path], Loader]:
        assert isinstance(self.target, LoaderTarget)
        return self.target.loader

    def look(self) -> None:
        """Have it load nothing; if it cannot, `stopped` says why."""
        loader = self._loader(self.scratch / "first")
        try:
            loader.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=FIRST_S)
        except AdapterError as error:
            self.stopped = Outcome("target or adapter broke", BROKEN, str(error))
        finally:
            loader.stop(1.0)

    def plan(self, places: list[Place]) -> None:
        """Begin every load that a check will ask for; where a part is asked for, in its order."""
        wanted = {place.name: None for place in places if not self.lacking(place)}
        by_place = {_place_name(case): case for case in load_cases()}
        chosen = [by_place[name] for name in wanted if name in by_place]
        self.loads.plan(chosen, slowest_first=not self.narrowed)

    def lacking(self, place: Place) -> str | None:
        """The capability that a check needs and the loader does not declare."""
        known = self.target.capabilities
        return next((f"{w} {NOT_DECLARED}" for w in place.needs if w not in known), None)

    def bench(self, place: Place) -> Any:
        """The same for every check."""
        del place
        return LoadBench(self.loads, self.target.capabilities)

    def judged(self, call: Callable[[Any], Any], bench: Any, place: Place) -> Ending:
        """A failure counts only when a second load, with time to itself, shows it too."""
        del place
        ending = attempt(partial(call, bench))
        if ending.verdict != "fail" or not self.confirm:
            return ending
        second = attempt(partial(call, LoadBench(self._seconds, self.target.capabilities)))
        if second.verdict == "fail":
            return ending
        reason = f"the loader does not agree with itself; first seen: {ending.reason}"
        return Ending(verdict="inconclusive", reason=reason, error=Inconclusive(reason))

    @property
    def _seconds(self) -> Loads:
        """The loads that confirm failures, made when first asked for."""
        if self._again is None:
            self._again = Loads(self._loader, self.scratch / "again")
        return self._again

    def done_with(self, place: Place) -> None:
        """Nothing is shared that could end."""

    def _accused(
        self, item: pytest.Item, ending: Ending, clauses: tuple[str, ...]
    ) -> tuple[str, ...]:
        del item
        if ending.verdict != "fail" or self.comparison is None:
            return clauses
        return accused(clauses, *self.comparison[1:], spoken_against)

    def close(self) -> None:
        """End every loader."""
        for loads in (self._loads, self._again):
            if loads is not None:
                loads.close()
        self.target.close()


def each_load(area: str) -> pytest.MarkDecorator:
    """Parametrise a check with the load cases of an area; each brings its clauses and its needs."""
    chosen = [one for one in load_cases() if one.area == area]
    worlds = [World(servers=(), id=_place_name(one)) for one in chosen]
    return pytest.mark.parametrize("case", list(map(parameter, chosen, worlds)))


def _place_name(case: LoadCase) -> str:
    return f"load of {case.id}"
