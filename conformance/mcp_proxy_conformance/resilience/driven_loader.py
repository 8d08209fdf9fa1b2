"""A loader as subject of a run: its cases and scenarios, their loads, and how they ended."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.own_case import OwnCase, parameter
from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.resilience.busy import Starts
from mcp_proxy_conformance.resilience.confirmation import Confirmation
from mcp_proxy_conformance.resilience.load_bench import LoadBench, loads_of, says
from mcp_proxy_conformance.resilience.load_case import SCENARIO, STDIO, LoadCase, load_cases
from mcp_proxy_conformance.resilience.loader import FIRST_S
from mcp_proxy_conformance.resilience.loader_target import LoaderTarget
from mcp_proxy_conformance.resilience.loads import (
    AT_ONCE,
    CONTROL_LOADS,
    MOST_AT_ONCE,
    QUICK_S,
    STARTED,
    Loads,
)
from mcp_proxy_conformance.resilience.met import happened
from mcp_proxy_conformance.resilience.observed_rows import LoadedRows
from mcp_proxy_conformance.resilience.scenarios import (
    load_case,
    played_space,
    scenario_loads,
)
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.judgement import Ending, attempt
from mcp_proxy_conformance.run.space.covering import given
from mcp_proxy_conformance.run.space.space import Scenario
from mcp_proxy_conformance.run.subject import Check, Probed, Rests, Subject
from mcp_proxy_conformance.targets.state_folder import keep_log, remove
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.outcome import broke

LOADS = World(servers=(), id="loads")


class DrivenLoader(Subject):
    """A loader that the run starts; the servers of each load are made for that load."""

    indivisible = "the loads of a loader already run at the same time; leave -n out"
    target: LoaderTarget

    def __init__(
        self,
        target: LoaderTarget,
        out: Path,
        scratch: Path,
        *,
        confirm: bool,
        excuses: bool = False,
    ) -> None:
        """Keep the settings, and the target's only cases if it has any; load nothing yet.

        `confirm`: whether failures and hangs are confirmed by second loads; `excuses`: whether some
        failures are known and excused, so that each has to be told.
        """
        self.target = target
        self.own_cases = [OwnCase(own, _world(own), own.needs) for own in target.cases]
        self._scenarios = {} if target.cases else _scenarios_of(target)
        played = [case for _, case in self._scenarios.values()]
        self.scenarios = [OwnCase(own, _world(own), own.needs, scenario=True) for own in played]
        self.remarks, self.broken = target.remarks, target.broken
        self._out, self._scratch, self._confirm = out, scratch, confirm
        self._at_once = AT_ONCE
        self._cases: list[LoadCase] = []
        self._by_place: dict[str, LoadCase] = {}
        self._is_partial = False
        self._loads: Loads | None = None
        self._starts = Starts()
        self._confirmation = Confirmation(
            lambda: self.loads, target, self._starts, scratch, excuses=excuses,
            rows={name: own.rows for name, (own, _) in self._scenarios.items()},
        )  # fmt: skip

    @property
    def loads(self) -> Loads:
        """The pool that makes this run's loads and keeps them; created at first use."""
        if self._loads is None:
            self._loads = Loads(
                self.target.loader, self._scratch, confirm=self._confirm, at_once=self._at_once,
                slow=self._starts.slow,
            )  # fmt: skip
        return self._loads

    @cached_property
    def rows(self) -> LoadedRows:
        """The scenarios of this run, and what their loads showed."""
        return LoadedRows(
            self._scenarios, self.loads, lambda: self._confirmation.second, says(self.target),
            self._out,
        )  # fmt: skip

    def plan(self, places: Sequence[Place], *, partial_run: bool) -> None:
        """Note all cases that these places need; `probe` begins their loads.

        They begin in order if `partial_run`.
        """
        wanted = {place.name: None for place in self.applicable(places)}
        scenarios = [case for _, case in self._scenarios.values()]
        cases = self.target.cases or [*load_cases(), *scenarios]
        by_place = {_world(case).id: case for case in cases}
        self._cases = [by_place[name] for name in wanted if name in by_place]
        self._confirmation.cases = [*self._cases]
        self._by_place = by_place
        self._is_partial = partial_run

    def probe(self) -> Probed:
        """Start the loader with no servers to load, then stop it; begin all planned loads.

        The result stops the run if it does not answer. A program that starts quickly makes
        more loads at a time; a loader in this process does not, since all of its loads
        share one thread.
        """
        loader, began = self.target.loader(self._scratch / "first"), time.monotonic()
        try:
            loader.load([], max_attempts=1, base_backoff_s=0.05, deadline_s=FIRST_S)
        except AdapterError as error:
            return Probed(stopped=broke(str(error)))
        else:
            if self.target.command and time.monotonic() - began < QUICK_S:
                self._at_once = MOST_AT_ONCE
        finally:
            loader.stop(1.0)
        if self._confirm:
            self._starts.measure()
        self._begin()
        return Probed()

    def _begin(self) -> None:
        """Begin the planned loads after those of controls, on which the judgement of any may rest.

        The slowest come first, or all in order if the run is partial.
        """
        in_order = self._is_partial
        self.loads.plan(CONTROL_LOADS)
        due = [load for case in self._cases for load in loads_of(case, self.target)]
        if not in_order and STDIO in self.target.capabilities:
            due.append(STARTED)
        self.loads.plan(due, slowest_first=not in_order)

    def open(self, place: Place) -> Any:
        """Return a bench of the run's loads."""
        del place
        return LoadBench(self.loads, self.target)

    def judge(self, check: Check, bench: Any, place: Place) -> Ending:
        """Call a check; if failures are to be confirmed, confirm one."""
        ending = attempt(partial(check, bench))
        case = self._by_place.get(place.name)
        return self._confirmation.of(check, ending, case, bench) if self._confirm else ending

    def rests(self, place: Place, ending: Ending, cited: Collection[str]) -> Rests:
        """Return the ending; a failure with lines on what happened, and on its symptoms."""
        del cited
        known = self._by_place.get(place.name)
        if known is None or not self._confirm or ending.verdict != "fail":
            return Rests(ending=ending)
        findings = ending.findings(())
        lines = [*self.rows.story(known.id, findings)] if known.area == SCENARIO else []
        lines += [line for load in self.loads.ended(loads_of(known, self.target)[:1])
                  for line in happened(load, findings)]  # fmt: skip
        return Rests(ending=ending, lines=tuple(lines))

    def finish(self) -> None:
        """End all loads: the report rests on those that were made, also if the run is stopped."""
        if self._loads is not None:
            self._loads.close()
        self._confirmation.close()

    def coverage(self) -> Coverage | None:
        """Return what the scenarios of this run looked at; None without scenarios."""
        return self.rows.coverage(self.target.capabilities, self.target.space)

    def close(self) -> None:
        """End every loader and the target's host; copy their logs beside the report.

        Then remove the scratch folder.
        """
        self._starts.close()
        self.finish()
        self.target.close()
        for log in sorted(self._scratch.rglob("loader.log")):
            keep_log(log, self._out / LOGS / log.parent.relative_to(self._scratch))
        remove(self._scratch)


def _scenarios_of(target: LoaderTarget) -> dict[str, tuple[Scenario, LoadCase]]:
    """Return the scenarios that a loader is given, with their loads, by id."""
    reads = says(target).reads
    known = given(played_space(), target.capabilities, target.space, examples=target.examples,
                  seed=target.seed)  # fmt: skip
    return {each.id: (each, load_case(each, reads)) for each in known}


def each_load(*areas: str) -> pytest.MarkDecorator:
    """Return a decorator that parametrises a check's `case` with all load cases of these areas.

    Each runs at a place of its own.
    """
    shipped = (case for case in (*load_cases(), *scenario_loads()) if case.area in areas)
    cells = [
        parameter(case, _world(case), case.needs, scenario=case.area == SCENARIO)
        for case in shipped
    ]
    return pytest.mark.parametrize("case", cells)


def _world(case: LoadCase) -> World:
    return World(servers=(), id=f"load of {case.id}")
