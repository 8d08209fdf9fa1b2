"""Which locks lie on each tool once a world's steps have been taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from mcp_proxy_conformance.catalogue.world import Step, ToolKey, World


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolState:
    """The locks on one tool; `approval` is why an untrusted server's tool waits for approval."""

    server_off: bool = False
    config: bool = False
    user: bool = False
    approval: Literal["pending", "changed"] | None = None
    quarantined: bool = False

    @property
    def callable(self) -> bool:
        """No lock at all lies on the tool."""
        return self == ToolState()


def initial(world: World) -> dict[ToolKey, ToolState]:
    """The state at start: only the operator's lists lock anything."""
    found = {}
    for server in world.servers:
        deny, allow = set(server.deny), set(server.allow or ())
        for tool in server.tools:
            off_list = server.allow is not None and tool.name not in allow
            denied = tool.name in deny or off_list
            found[ToolKey(server.name, tool.name)] = ToolState(config=denied)
    return found


def after(
    world: World, steps: Iterable[Step], states: dict[ToolKey, ToolState]
) -> dict[ToolKey, ToolState]:
    """The states once these steps have been taken from `states`."""
    found = dict(states)
    for step in steps:
        found |= _step(world, step, found)
    return found


def final(world: World) -> dict[ToolKey, ToolState]:
    """The state under test: the initial one after all steps."""
    return after(world, world.steps, initial(world))


def _step(world: World, step: Step, states: dict[ToolKey, ToolState]) -> dict[ToolKey, ToolState]:
    if step.add is not None:
        server = world.server(step.server)
        beside = next((s for k, s in states.items() if k.server == step.server), ToolState())
        off_list = server.allow is not None and step.add.name not in server.allow
        made = ToolState(
            approval=None if server.trusted else "pending",
            config=off_list or step.add.name in server.deny,
            quarantined=beside.quarantined,
            server_off=beside.server_off,
        )
        return {ToolKey(step.server, step.add.name): made}
    if step.change is not None:
        name = ToolKey(step.server, step.change)
        old = states[name]
        fresh = world.server(step.server).trusted or old.approval is not None
        return {name: old if fresh else replace(old, approval="changed")}
    if step.refresh is not None or step.changes_nothing:
        return {}
    kind, on = (step.lock, True) if step.lock else (step.unlock, False)
    tools = set(step.tools)
    touched = {
        name: state
        for name, state in states.items()
        if name.server == step.server and (not tools or name.tool in tools)
    }
    if kind == "approval":
        return {name: replace(state, approval=None) for name, state in touched.items()}
    return {name: _locked(state, kind, on=on) for name, state in touched.items()}


def _locked(state: ToolState, kind: str | None, *, on: bool) -> ToolState:
    if kind == "config":
        return replace(state, config=on)
    if kind == "user":
        return replace(state, user=on)
    if kind == "quarantine":
        return replace(state, quarantined=on)
    return replace(state, server_off=on)
