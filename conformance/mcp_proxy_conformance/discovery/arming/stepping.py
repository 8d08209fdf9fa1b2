"""A world's steps, taken on a started target and each proven before the next."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.locks import ToolState, after
from mcp_proxy_conformance.catalogue.world import Step, ToolKey
from mcp_proxy_conformance.discovery.arming.armed import Unproven
from mcp_proxy_conformance.discovery.arming.proving import Prover
from mcp_proxy_conformance.targets.adapter import (
    LOCK_CAPABILITY,
    AdapterError,
    Refused,
    Unsupported,
)
from mcp_proxy_conformance.targets.started import poll

AGAIN_S = 0.3
RETRIED = 3
"""Callable tools that are waited for after a restart."""


class Stepper:
    """Takes steps one by one; what the target does not declare is left out and noted."""

    def __init__(self, prover: Prover) -> None:
        """Steps are taken on the prover's target."""
        self.prover = prover
        self.started = prover.started
        self.armed = prover.armed
        self._unseen: dict[str, list[Step]] = {}
        self._unfollowed = 0

    def take(self, step: Step) -> None:
        """Take a step and prove it; raises AdapterError."""
        lacking = self._lacking(step)
        if lacking is not None:
            self._skip(step, f"{lacking} is not declared")
            return
        there = tuple(t for t in step.tools if ToolKey(step.server, t) in self.armed.states)
        if step.tools and not there:
            return  # the step that adds them was left out
        try:
            self._take(msgspec.structs.replace(step, tools=there))
        except (Refused, Unsupported) as refusal:
            self._skip(step, str(refusal))

    def _skip(self, step: Step, reason: str) -> None:
        for tool in self._touched(step):
            self.armed.skipped.setdefault(tool, reason)
        for unseen in self._unseen.pop(step.refresh or "", []):
            key = _new_in(unseen)
            if unseen.add is not None:
                self.armed.states.pop(key, None)
            elif key in self.armed.states:
                self.armed.states[key] = replace(self.armed.states[key], approval=None)

    def _take(self, step: Step) -> None:
        before = dict(self.armed.states)
        if step.changes_nothing:
            self._use(step)
        elif step.add is not None or step.change is not None:
            self.started.change_upstream(step)
            self._unseen.setdefault(step.server, []).append(step)
        elif step.refresh is not None:
            self.started.refresh(step.refresh)
        elif step.lock is not None:
            step = self._lay(step)
        elif step.unlock == "approval":
            self._approve(step)
        elif step.unlock is not None:
            self.started.unlock(step.unlock, step.server, step.tools)
        self.armed.states.update(after(self.prover.world, [step], before))
        if step.refresh is not None:
            self._confirm_refresh(step.refresh)
        elif step.lock is not None:
            self._confirm_lock(step, before)
        elif step.unlock is not None:
            self._confirm_open(step)

    def _use(self, step: Step) -> None:
        """Ask, call, or restart and wait until what is callable is reached again."""
        if step.ask is not None:
            told = {"include_disabled": step.include_disabled, "limit": step.limit}
            given: dict[str, Any] = {name: one for name, one in told.items() if one is not None}
            self.started.discover(step.ask, agent=step.agent, **given)
        elif step.call is not None:
            self.started.call(ToolKey(step.server, step.call), agent=step.agent)
        else:
            self.started.restart()
            free = [key for key in self.armed.called if self.armed.states[key].callable]
            for key in free[:RETRIED]:
                self.prover.expect_call(key)

    def _lacking(self, step: Step) -> str | None:
        """The capability that a step needs and the target does not declare."""
        kind = step.lock or step.unlock
        if step.changes_nothing:
            needed = ["restart"] if step.restart else ["agents"] if step.agent else []
        elif kind is not None:
            needed = [LOCK_CAPABILITY[kind]]
        else:
            trusted = self.prover.world.server(step.server or step.refresh or "").trusted
            needed = ["refresh"] if trusted or step.refresh else ["refresh", "approval"]
        declared = self.started.target.capabilities
        return next((word for word in needed if word not in declared), None)

    def _touched(self, step: Step) -> list[ToolKey]:
        if step.changes_nothing:
            return []
        if not step.tools and (step.lock or step.unlock):
            return [key for key in self.prover.tools if key.server == step.server]
        if step.refresh is not None:
            return [_new_in(one) for one in self._unseen.get(step.refresh, [])]
        if step.add is not None or step.change is not None:
            return [_new_in(step)]
        return [ToolKey(step.server, tool) for tool in step.tools]

    def _lay(self, step: Step) -> Step:
        """Lay a lock; what the operator side legally refuses is left out and noted."""
        assert step.lock is not None
        if step.lock != "user":
            self.started.lock(step.lock, step.server, step.tools)
            return step
        laid = []
        for tool in step.tools:
            try:
                self.started.lock("user", step.server, [tool])
                laid.append(tool)
            except Refused as refusal:
                self.armed.skipped[ToolKey(step.server, tool)] = str(refusal)
        return Step(lock="user", server=step.server, tools=tuple(laid) or ("",))

    def _approve(self, step: Step) -> None:
        """Approve, again until the target has seen the tool: `ok` means accepted, not visible."""
        key = ToolKey(step.server, step.tools[0])
        deadline = time.monotonic() + self.started.target.ready_s
        while True:
            failure: AdapterError | None = None
            try:
                self.started.unlock("approval", step.server, step.tools)
            except AdapterError as error:
                failure = error
            if poll(lambda: self.started.call(key).reached, bool, AGAIN_S):
                return
            if time.monotonic() > deadline:
                if failure is not None:
                    raise failure
                self.armed.unproven[key] = Unproven(
                    "approved, but no call reaches the upstream", "not_reached"
                )
                return
            self.started.refresh(step.server)

    def _confirm_lock(self, step: Step, before: dict[ToolKey, ToolState]) -> None:
        """Prove the lock on a tool that was callable until now."""
        for key in self.prover.sample:
            hit = key.server == step.server and (not step.tools or key.tool in step.tools)
            if hit and key in before and before[key].callable and key in self.armed.called:
                self.prover.expect_lasting_refusal(key)
                return

    def _confirm_open(self, step: Step) -> None:
        """Prove an unlock, and learn what an added and approved tool looks like."""
        for tool in step.tools:
            key = ToolKey(step.server, tool)
            if self.armed.states[key].callable and self.prover.expect_call(key):
                self.armed.refused.pop(key, None)
                self.prover.show([key])

    def _confirm_refresh(self, server: str) -> None:
        """Look again until changed and added tools are refused.

        A target may look at nothing when it is told to, and pass on calls of tools that it does
        not know yet.
        """
        steps = self._unseen.pop(server, [])
        trusted = self.prover.world.server(server).trusted
        for step in steps:
            key = _new_in(step)
            if trusted:
                if step.add is not None:
                    self.prover.show([key])
                    self.prover.expect_call(key)
                continue
            if step.add is not None or key in self.armed.called:
                patience = 0.0 if self._unfollowed else self.started.target.ready_s
                deadline = time.monotonic() + patience
                while poll(lambda k=key: self.started.call(k).reached, lambda r: not r, AGAIN_S):  # type: ignore[misc]
                    if time.monotonic() > deadline:
                        self._unfollowed += 1
                        break
                    self.started.refresh(server)


def _new_in(step: Step) -> ToolKey:
    """The tool that an `add` or `change` step is about."""
    return ToolKey(step.server, step.add.name if step.add else step.change or "")
