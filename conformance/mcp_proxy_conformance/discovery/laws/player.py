"""Player of a plan on a fresh target: takes its steps and tries every law at its looks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.world import Step, ToolKey, locks_of
from mcp_proxy_conformance.discovery.arming import (
    Prover,
    Stepper,
    Unproven,
    confirm_all,
    denials,
    proven,
)
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.laws import scopes
from mcp_proxy_conformance.discovery.laws.law import LAWS
from mcp_proxy_conformance.discovery.laws.look import Findings, Look
from mcp_proxy_conformance.discovery.laws.plan import Plan
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.target import Refused, Unsupported
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive, Misshapen, NotApplicable

LAST = ("unknown",)
"""Laws that disturb the target: no request follows them."""
LEAVES_S = 6.0
"""Seconds of its lifetime that a target must have left when it is looked at."""


@dataclass(frozen=True, slots=True)
class BrokenLaw:
    """The findings of a law, and the number of their look."""

    look: int
    findings: Findings


@dataclass(slots=True)
class PlayedWorld:
    """Result of a plan: for each law the clauses it observed, and the first look that broke it.

    `clauses` are those that any look broke. `seconds` is the total time, `ready` the part until
    its first step was taken.
    """

    plan: Plan
    seconds: float = 0.0
    ready: float = 0.0
    observed: dict[str, Counter[str]] = field(default_factory=dict)
    broken: dict[str, BrokenLaw] = field(default_factory=dict)
    clauses: dict[str, set[str]] = field(default_factory=dict)

    def of(self, law: str) -> dict[tuple[str, tuple[str, ...]], Finding]:
        """Return the findings that break the law of this name, by (finding's path, clauses).

        Empty if none does, or if the law was not played.
        """
        return self.broken[law].findings.broken() if law in self.broken else {}


def play(
    target: ProxyTarget,
    plan: Plan,
    scratch: Path,
    laws: Collection[str] = (),
    register: Callable[[Started], None] = lambda _: None,
    *,
    patient: bool = False,
) -> PlayedWorld:
    """Start a target in the plan's world, take its steps, try the laws; return what came of it.

    Only `laws` are tried, if any are named; breaches are in the result, not raised. The target
    is closed; `register` is called with it before any wait. A `patient` play gives what no call
    has shown all the time that it may take. Raises AdapterError if it does not
    start, or a step cannot be taken.
    """
    began = time.monotonic()
    started = Started(target, plan.world, scratch, register=register)
    started.effects.patient = patient
    try:
        with started.expected_alive():
            played = Player(started, plan, laws or LAWS).play()
    finally:
        started.close()
    played.seconds = time.monotonic() - began
    return played


class Player:
    """Takes the steps of one plan on one started target, and tries the laws between them."""

    def __init__(self, started: Started, plan: Plan, laws: Iterable[str]) -> None:
        """Keep the target, the plan and the laws to try; nothing is proven yet."""
        self._started = started
        self._plan = plan
        self._laws = tuple(laws)
        self._played = PlayedWorld(plan)
        self._memory: dict[Any, Any] = {}
        self._unsure: set[ToolKey] = set()

    def play(self) -> PlayedWorld:
        """Take every step of the plan, and try the laws at its looks; return the result.

        Before the steps, what each query lists while all tools are callable is noted, and
        the world's deny lists are set. Looks are left out when the target's lifetime is
        nearly over.
        """
        stepper = proven(self._started)
        for query in dict.fromkeys(request["query"] for request in self._plan.world.requests):
            stepper.prover.note_shown(query, stepper.prover.ask(query))  # all are callable by now
            self._memory.setdefault("shown", {})[query] = stepper.armed.shown[query]
        for step in denials(self._started.world):
            stepper.take(step)
        for number in range(len(self._plan.world.steps) + 1):
            if number:
                self._take(stepper, self._plan.world.steps[number - 1])
            if number == 1:
                self._played.ready = time.monotonic() - self._started.started_at
            if number in self._plan.looks and self._is_young():
                self._look(stepper, number)
        return self._played

    def _is_young(self) -> bool:
        """Whether more than 6 s of the target's lifetime are left."""
        age = time.monotonic() - self._started.started_at
        return age < self._started.target.lasts_s - LEAVES_S

    def _take(self, stepper: Stepper, step: Step) -> None:
        """Take a step, prove the tools that it unlocked, and forget what it makes uncertain.

        After a restart all locks are unsure, and the counter is read if it is declared.
        """
        armed = stepper.armed
        if step.unlock == "approval":
            for tool in step.tools:
                armed.entries.pop(ToolKey(step.server, tool), None)
        if step.unlock in ("approval", "quarantine"):  # a release may approve
            self._forget_held(key for key in armed.states if key.server == step.server)
        if step.unlock == "user":  # to turn a tool on again may approve it
            turned_on = (ToolKey(step.server, tool) for tool in step.tools)
            self._forget_held(key for key in turned_on if armed.states[key].approval)
        before = dict(armed.states)
        self._memory.pop("after restart", None)
        stepper.take(step)
        if step.restart:
            self._unsure = {key for key, state in armed.states.items() if not state.callable}
            if "counter" in self._started.target.capabilities:
                self._memory["after restart"] = self._started.adapter.counter()
        opened = [
            k for k, s in armed.states.items() if s.callable and not before.get(k, s).callable
        ]
        self._open(stepper.prover, opened)

    def _open(self, prover: Prover, opened: list[ToolKey]) -> None:
        """Expect a call to reach each tool that a step unlocked; else mark it as unproven.

        The locks proven of them before are forgotten.
        """
        armed = prover.armed
        self._unsure.difference_update(opened)
        self._forget_held(opened)
        for key in opened:
            armed.refused.pop(key, None)
            armed.unproven.pop(key, None)
            if not prover.expect_call(key):
                armed.unproven[key] = Unproven(
                    "unlocked, but no call reaches the upstream", "not_reached"
                )

    def _forget_held(self, keys: Iterable[ToolKey]) -> None:
        """Forget which locks were proven of these tools."""
        for key in keys:
            self._memory.get("held", {}).pop(key, None)

    def _look(self, stepper: Stepper, number: int) -> None:
        """Prove the locks, try every law, and record what it observed and what it found broken.

        A law that seems broken is tried once more after the settle time, on new answers.
        Laws that disturb the target come last, in the last look only.
        """
        armed = stepper.armed
        for key in [k for k in armed.refused if k not in armed.states or armed.states[k].callable]:
            armed.refused.pop(key)
        confirm_all(stepper.prover)
        self._started.answers.clear()
        look = Look(Bench(self._started, armed), frozenset(self._unsure), number, self._memory)
        look.memory["last"] = number == self._plan.looks[-1]
        findings = {name: self._judged(look, name) for name in self._laws if name not in LAST}
        if any(of_law.broken() for of_law in findings.values()):
            look.bench.settle()
            look = Look(look.bench, look.unsure, number, self._memory)
            findings |= {
                name: self._judged(look, name)
                for name, of_law in findings.items()
                if of_law.broken()
            }
        if look.memory["last"]:
            findings |= {name: self._judged(look, name) for name in self._laws if name in LAST}
        for name, of_law in findings.items():
            self._played.observed.setdefault(name, Counter()).update(of_law.compared.observed)
            self._played.clauses.setdefault(name, set()).update(of_law.compared.broken)
            if of_law.broken() and name not in self._played.broken:
                self._played.broken[name] = BrokenLaw(number, of_law)
        self._remember(look, number)

    def _judged(self, look: Look, name: str) -> Findings:
        """Try the law of this name and return its findings.

        A judge of it that cannot judge here, as for an inconclusive answer, adds none.
        """
        findings = Findings(locks_of(look.bench.states))
        for judge in LAWS[name].judges:
            try:
                judge(look, findings)
            except (Inconclusive, NotApplicable, Refused, Unsupported, Misshapen):
                continue  # an impossible look is not counted as observed
        return findings

    def _remember(self, look: Look, number: int) -> None:
        """Keep, for the next look, answers to the agents whose scope no step until then touches.

        They are asked for after the settle time. Answers kept before are dropped; nothing is
        asked if no later look follows.
        """
        look.memory["own before"] = look.memory["bytes before"] = []
        following = [later for later in self._plan.looks if later > number]
        steps = self._plan.world.steps[number : following[0]] if following else ()
        agents = self._started.world.agents
        apart = [name for name, scope in agents.items() if steps and _lies_beyond(steps, scope)]
        if apart:
            look.bench.settle()
            scopes.remember(look, apart)


def _lies_beyond(steps: Iterable[Step], scope: Collection[str]) -> bool:
    """Whether every step that changes something is on a server not in `scope`, none a restart."""
    touched = {step.server or step.refresh for step in steps if not step.changes_nothing}
    return not touched & set(scope) and not any(step.restart for step in steps)
