"""Arming: before any verdict, every lock is proven by enforcement, every query by relevance."""

from __future__ import annotations

import time

from mcp_proxy_conformance.catalogue.locks import ToolState
from mcp_proxy_conformance.catalogue.world import Step, World
from mcp_proxy_conformance.discovery.arming.armed import SAMPLE, Armed, Unproven
from mcp_proxy_conformance.discovery.arming.proving import Prover
from mcp_proxy_conformance.discovery.arming.stepping import Stepper
from mcp_proxy_conformance.targets.started import Started


def arm(started: Started) -> Armed:
    """Prove a started world, then take its steps; slow targets are polled, never waited for."""
    stepper = proven(started)
    for step in (*denials(started.world), *started.world.steps):
        stepper.take(step)
    confirm_all(stepper.prover)
    return stepper.armed


def proven(started: Started) -> Stepper:
    """Prove a started world while nothing is locked yet; its steps are still to be taken."""
    prover = Prover(started)
    armed = prover.armed
    _lift_initial_denials(prover)
    prover.show(key for key in prover.sample if key in armed.states)
    for key in prover.sample:
        if key in armed.states and armed.states[key].callable:
            prover.expect_call(key)
    return Stepper(prover)


def denials(world: World) -> list[Step]:
    """The steps that lay the deny lists of the start again, which were lifted to prove them."""
    lists = {server.name: server.deny for server in world.servers if server.deny}
    return [Step(lock="config", server=name, tools=tools) for name, tools in lists.items()]


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


def confirm_all(prover: Prover) -> None:
    """Every sampled locked tool is refused and its upstream counter stands still.

    From then on claims have the settle time.
    """
    armed = prover.armed
    for key in prover.sample:
        state = armed.states.get(key)
        if state is None or state.callable:
            continue
        siblings = [other for other in armed.called if other.server == key.server]
        if key in armed.called or (state.approval == "pending" and siblings):
            prover.expect_refusal(key)
        else:
            armed.unproven[key] = Unproven("it was never callable on this target", "not_reached")
    prover.started.settled_from = time.monotonic()
