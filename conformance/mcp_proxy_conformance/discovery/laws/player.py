"""Player of a plan on a fresh target: takes its steps and tries every law at its looks."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.world import Step, ToolKey, locks_of
from mcp_proxy_conformance.discovery.arming import (
    Armed,
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
from mcp_proxy_conformance.discovery.offered import elsewhere
from mcp_proxy_conformance.discovery.scenarios import Plan
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.target import Refused, Unsupported
from mcp_proxy_conformance.verdict.cited import CitedMessage
from mcp_proxy_conformance.verdict.comparison import Comparison
from mcp_proxy_conformance.verdict.result import Finding, Inconclusive, Misshapen, NotApplicable

LEAVES_S = 6.0
"""Seconds of its lifetime that a target must have left when it is looked at."""


@dataclass(slots=True)
class PlayedWorld:
    """Result of a plan: what the laws say of all its looks together.

    `unarmed` is, by the number of a row, why its tool could not show what it is about; `messages`
    are those that findings were read from, by id; `is_cut`: whether looks were left out, since the
    target's lifetime was nearly over.
    """

    compared: Comparison = field(default_factory=Comparison)
    unarmed: dict[int, str] = field(default_factory=dict)
    messages: dict[str, CitedMessage] = field(default_factory=dict)
    is_cut: bool = False


def play(
    target: ProxyTarget,
    plan: Plan,
    scratch: Path,
    laws: Collection[str] = (),
    register: Callable[[Started], None] = lambda _: None,
    *,
    patient: bool = False,
    known: Callable[[Collection[str]], bool] = lambda _: False,
) -> PlayedWorld:
    """Start a target in the plan's world, take its steps, try the laws; return what came of it.

    Only `laws` are tried, if any are named; breaches are in the result, not raised. The target
    is closed; `register` is called with it before any wait. A `patient` play gives what no call
    has shown all the time that it may take; none is given if the broken clauses are `known` to be
    so. Raises AdapterError if it does not
    start, or a step cannot be taken.
    """
    started = Started(target, plan.world, scratch, register=register)
    started.effects.patient = patient
    try:
        with started.expected_alive():
            return Player(started, plan, laws or LAWS, known).play()
    finally:
        started.close()


class Player:
    """Takes the steps of one plan on one started target, and tries the laws between them."""

    def __init__(
        self, started: Started, plan: Plan, laws: Iterable[str],
        known: Callable[[Collection[str]], bool],
    ) -> None:  # fmt: skip
        """Keep the target, the plan and the laws to try; nothing is proven yet.

        `known`: whether nobody needs to see again that these clauses are broken.
        """
        self._known = known
        self._started = started
        self._plan = plan
        self._laws = tuple(laws)
        self._played = PlayedWorld()
        self._is_lacking = False
        self._found: dict[tuple[str, tuple[str, ...]], Finding] = {}
        self._memory = _memory({}, {})
        self._unsure: set[ToolKey] = set()

    def play(self) -> PlayedWorld:
        """Take every step of the plan, and try the laws at its looks; return the result.

        Before the steps, what each query and each name lists while all tools are callable is noted,
        and the world's deny lists are set. It ends early when the target's lifetime is nearly over.
        """
        stepper = proven(self._started, self._plan.sample)
        queries = [request["query"] for request in self._plan.world.requests]
        queries += [key.tool for key in self._plan.tools]  # laws ask by name where a word fails
        for query in dict.fromkeys(queries):
            stepper.prover.note_shown(query, stepper.prover.ask(query))  # all are callable by now
            self._memory["shown"][query] = stepper.armed.shown[query]
        stepper.take(*denials(self._started.world))
        taken = 0
        for number in sorted(self._plan.looks):
            for _, alike in groupby(self._plan.world.steps[taken:number], lambda step: step.kind):
                self._take(stepper, [*alike])
            taken = number
            if not self._is_young():
                self._played.is_cut = True
                break
            self._memory["last"] = number == self._plan.last
            if self._plan.lost and self._memory["last"]:
                self._look_while_lost(stepper, number)
            look = self._look(stepper, number, self._memory)
            self._remember(look, number)
        self._conclude(stepper.armed)
        return self._played

    def _conclude(self, armed: Armed) -> None:
        """Keep the findings of all looks, what holds in each, and which rows show nothing."""
        compared = self._played.compared
        compared.findings = [*self._found.values()]
        for clause in compared.broken:
            del compared.observed[clause]
        for number, key in enumerate(self._plan.tools):
            if (why := armed.skipped.get(key) or armed.unproven.get(key)) is not None:
                self._played.unarmed[number] = why.reason
            elif self._is_lacking:
                self._played.unarmed[number] = f"the target has no place that is {self._plan.place}"
            elif self._played.is_cut:
                self._played.unarmed[number] = "it takes longer than the target lasts"

    def _is_young(self) -> bool:
        """Whether more than 6 s of the target's lifetime are left."""
        age = time.monotonic() - self._started.started_at
        return age < self._started.target.lasts_s - LEAVES_S

    def _take(self, stepper: Stepper, steps: Sequence[Step]) -> None:
        """Take steps of one kind, prove the tools that they unlock; forget what becomes uncertain.

        After a restart all locks are unsure, and the counter is read if it is declared.
        """
        armed = stepper.armed
        for step in steps:
            self._forget(armed, step)
        before = dict(armed.states)
        self._memory.pop("after restart", None)
        stepper.take(*steps)
        if steps[-1].restart:
            self._unsure = {key for key, state in armed.states.items() if not state.callable}
            if "counter" in self._started.target.capabilities:
                self._memory["after restart"] = self._started.adapter.counter()
        opened = [
            k for k, s in armed.states.items() if s.callable and not before.get(k, s).callable
        ]
        self._open(stepper.prover, opened)

    def _forget(self, armed: Armed, step: Step) -> None:
        """Forget what a step makes uncertain of what was proven of its tools."""
        if step.unlock == "approval":
            for tool in step.tools:
                armed.entries.pop(ToolKey(step.server, tool), None)
        if step.unlock in ("approval", "quarantine"):  # a release may approve
            self._forget_held(key for key in armed.states if key.server == step.server)
        if step.unlock == "user":  # to turn a tool on again may approve it
            turned_on = (ToolKey(step.server, tool) for tool in step.tools)
            self._forget_held(key for key in turned_on if armed.states[key].approval)
        if step.change is not None:  # what it was shown as, and for, is no longer so
            key = ToolKey(step.server, step.change)
            armed.entries.pop(key, None)
            if step.description is not None and self._plan.world.server(step.server).trusted:
                for query, listed in armed.shown.items():
                    armed.shown[query] = tuple(each for each in listed if each != key)

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
            self._memory["held"].pop(key, None)

    def _look_while_lost(self, stepper: Stepper, number: int) -> None:
        """Look while the plan's reasons are lost; not at all if the target refuses to lose them."""
        states = stepper.armed.states
        known, memory = dict(states), _memory(self._memory["shown"], self._memory["told"])
        with suppress(Refused, Unsupported), ExitStack() as lost:
            for server, tools in self._plan.lost.items():
                lost.enter_context(self._started.undetermined(server, tools))
            states |= {key: replace(state, lost=not state.config) for key, state in known.items()}
            self._look(stepper, number, memory)
        states |= known

    def _look(self, stepper: Stepper, number: int, memory: dict[Any, Any]) -> Look:
        """Prove the locks, try every law, and record what it observed and what it found broken.

        A law that seems broken is tried once more after the settle time, on new answers. Returns
        the look that was the last.
        """
        armed = stepper.armed
        for key in [k for k in armed.refused if k not in armed.states or armed.states[k].callable]:
            armed.refused.pop(key)
        confirm_all(stepper.prover)
        self._started.answers.clear()
        bench = self._place(Bench(self._started, armed))
        look = self._looking(bench, number, memory)
        findings = {name: self._judged(look, name) for name in self._laws if look.asks}
        broken = {clause for of_law in findings.values() for clause in of_law.compared.broken}
        if broken and not self._known(broken):
            look.bench.settle()
            look = self._looking(bench, number, memory)
            findings |= {
                name: self._judged(look, name)
                for name, of_law in findings.items()
                if of_law.broken()
            }
        for of_law in findings.values():
            self._played.compared.observed.update(of_law.compared.observed)
            self._played.compared.looked += of_law.compared.looked
            self._found |= of_law.broken()
        for each in {read for finding in self._found.values() for read in finding.messages}:
            message = self._started.transcript.get(int(each))
            self._played.messages.setdefault(each, message.cited())
        for key in look.proven:
            memory["locked before"].add(key)
            memory["held"].setdefault(key, set()).add(armed.states[key])
        return look

    def _looking(self, bench: Bench, number: int, memory: dict[Any, Any]) -> Look:
        """Return a look at the rows that the plan has for this number of steps; the last at all."""
        rows, plan = self._plan.looks[number], self._plan
        own = {plan.tools[row].server for row in rows}
        every = {each.name for each in plan.world.servers}
        return Look(
            bench, frozenset(self._unsure), number, memory,
            servers=every if number == plan.last else own,
            asks=[plan.world.requests[row] for row in rows],
        )  # fmt: skip

    def _place(self, bench: Bench) -> Bench:
        """Return a bench at the plan's place; at the usual one where the target has no such."""
        if self._plan.place == "elsewhere" and (endpoints := elsewhere(bench)):
            return bench.at(endpoints[0])
        if self._plan.place == "stateless" and bench.is_stateless:
            return bench.over("stateless")
        self._is_lacking = bool(self._plan.place)
        return bench

    def _judged(self, look: Look, name: str) -> Findings:
        """Try the law of this name and return its findings.

        A judge of it that cannot judge here, as for an inconclusive answer, adds none.
        """
        findings = Findings(locks_of(look.bench.states), look.sent)
        for judge in LAWS[name]:
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


def _memory(shown: dict[str, tuple[ToolKey, ...]], told: dict[ToolKey, str]) -> dict[Any, Any]:
    """Return what looks remember: what queries listed while all was callable, and refusals."""
    return {"held": {}, "locked before": set(), "shown": shown, "told": told, "last": False}


def _lies_beyond(steps: Iterable[Step], scope: Collection[str]) -> bool:
    """Whether every step that changes something is on a server not in `scope`, none a restart."""
    touched = {step.server or step.refresh for step in steps if not step.changes_nothing}
    return not touched & set(scope) and not any(step.restart for step in steps)
