"""The part of a world that a target can be started with: what it declares to know."""

from __future__ import annotations

import msgspec

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.targets.adapter import Target


def declared_part(world: World, target: Target) -> World:
    """The world without what the target does not declare to know, by the transport asked for."""
    servers, agents = world.servers, world.agents
    if (transport := target.upstreams.transport) != "by stage":
        servers = tuple(msgspec.structs.replace(one, transport=transport) for one in servers)
    if "config" not in target.capabilities:
        servers = tuple(msgspec.structs.replace(one, deny=()) for one in servers)
    if "agents" not in target.capabilities:
        agents = {}
    return msgspec.structs.replace(world, servers=servers, agents=agents)
