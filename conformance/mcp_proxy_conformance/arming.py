"""Arming: before any verdict, every lock is proven by enforcement, every query by relevance."""

from __future__ import annotations

import time

from mcp_proxy_conformance.armed import SAMPLE, Armed
from mcp_proxy_conformance.proving import Prover
from mcp_proxy_conformance.state import ToolState
from mcp_proxy_conformance.stepping import Stepper
from mcp_proxy_conformance.target.started import Started
from mcp_proxy_conformance.world import Step


def arm(started: Started) -> Armed:
    """Prove a started world, then take its steps; slow targets are polled, never waited for."""
    prover = Prover(started)
    armed = prover.armed
    _lift_initial_denials(prover)
    prover.show(key for key in prover.sample if key in armed.states)
    for key in prover.sample:
        if key in armed.states and armed.states[key].callable:
            prover.expect_call(key)
    stepper = Stepper(prover)
    for server in started.world.servers:
        if server.deny:
            stepper.take(Step(lock="config", server=server.name, tools=server.deny))
    for step in started.world.steps:
        stepper.take(step)
    _confirm_all(prover)
    started.settled_from = time.monotonic()
    return armed


def _lift_initial_denials(prover: Prover) -> None:
    """A deny list in place from the start: confirmed refused, then lifted (section 0)."""
    for server in prover.world.servers:
        if not server.deny:
            continue
        denied = [k for k in prover.sample if k.server == server.name and k.tool in server.deny]
        for key in denied[:SAMPLE]:
            prover.expect_refusal(key)
        prover.started.unlock("config", server.name, server.deny)
        for key in prover.armed.states:
            if key.server == server.name:
                prover.armed.states[key] = ToolState()
    prover.armed.refused.clear()


def _confirm_all(prover: Prover) -> None:
    """Every sampled locked tool is refused and its upstream counter stands still."""
    armed = prover.armed
    for key in prover.sample:
        state = armed.states.get(key)
        if state is None or state.callable:
            continue
        siblings = [other for other in armed.called if other.server == key.server]
        if key in armed.called or (state.approval == "pending" and siblings):
            prover.expect_refusal(key)
        else:
            armed.unproven[key] = "it was never callable on this target"
