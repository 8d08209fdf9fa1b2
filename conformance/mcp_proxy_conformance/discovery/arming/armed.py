"""What arming proved of a started world: the controls that every verdict rests on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from mcp_proxy_conformance.catalogue.locks import ToolState
from mcp_proxy_conformance.catalogue.world import ToolKey, World
from mcp_proxy_conformance.discovery.answer import Entry
from mcp_proxy_conformance.verdict.result import Cause

LARGE, SAMPLE, SMALL_GROUP = 60, 11, 20


class Unproven(NamedTuple):
    """Why the effect of a lock was not seen, and the cause of that."""

    reason: str
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Armed:
    """What arming proved: the controls that later verdicts rest on.

    `shown`: query -> tools that the default answer ever listed while callable, in order;
    `entries`: each callable tool's own entry; `called`: tools whose call moved the upstream's
    counter while unlocked; `refused`: locked tools whose call was refused, in order of proof;
    `skipped`: locks that the target does not declare, or legally refuses; `unproven`: locks whose
    effect was not seen, with the reason.
    """

    states: dict[ToolKey, ToolState]
    shown: dict[str, tuple[ToolKey, ...]] = field(default_factory=dict)
    entries: dict[ToolKey, Entry] = field(default_factory=dict)
    called: set[ToolKey] = field(default_factory=set)
    refused: dict[ToolKey, None] = field(default_factory=dict)
    skipped: dict[ToolKey, str] = field(default_factory=dict)
    unproven: dict[ToolKey, Unproven] = field(default_factory=dict)

    def samples(self) -> tuple[ToolKey, ...]:
        """Up to six refused tools: three locked by config alone, three by the user alone.

        Where there is none, three with other locks.
        """
        found: list[ToolKey] = []
        for pure in (ToolState(config=True), ToolState(user=True)):
            found += sorted(k for k in self.refused if self.states[k] == pure)[:3]
        return tuple(found or sorted(self.refused)[:3])


def sampled(world: World) -> tuple[ToolKey, ...]:
    """The tools whose locks are proven one by one: all, but of a large server a sample."""
    members: dict[str, int] = {}
    for one in world.tools().values():
        for group in one.groups:
            members[group] = members.get(group, 0) + 1
    chosen: list[ToolKey] = []
    for server in world.servers:
        keys = [k for k in world.tools() if k.server == server.name]
        if len(keys) > LARGE:
            tools = world.tools()
            small = [k for k in keys if any(members[g] <= SMALL_GROUP for g in tools[k].groups)]
            taken = set(small)
            rest = [k for k in keys if k not in taken]
            keys = [*small, *rest[:: max(1, len(rest) // SAMPLE)][:SAMPLE]]
        chosen += keys
    return tuple(chosen)
