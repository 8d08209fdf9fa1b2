"""Smaller plans that may still break a law: fewer looks, servers, requests, tools and steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import structs

from mcp_proxy_conformance.catalogue.world import Server, Step, Tool
from mcp_proxy_conformance.discovery.laws.plan import Plan, is_sensible, replaced

TRIED = 4
"""Plans that are played in one round."""


def smaller(plan: Plan, instead: Sequence[Step]) -> Iterator[list[Plan]]:
    """Yield rounds of up to four smaller plans, to be played for a shorter example of a breach.

    Plans that are not smaller or have an impossible step are left out. The steps `instead` may
    stand in for the requests of an earlier look.
    """
    for candidates in (_alone(plan), _looks(plan, instead), _worlds(plan)):
        fit = [
            candidate
            for candidate in candidates
            if size(candidate) < size(plan) and is_sensible(candidate.world)
        ]
        for at in range(0, len(fit), TRIED):
            yield fit[at : at + TRIED]


def size(plan: Plan) -> tuple[int, int, int, int]:
    """Return the sort key of a plan: numbers of looks, of tools and servers, of steps, requests."""
    world = plan.world
    tools = sum(len(server.tools) for server in world.servers)
    return len(plan.looks), tools + len(world.servers), len(world.steps), len(world.requests)


def _alone(plan: Plan) -> Iterator[Plan]:
    """Yield the plan cut to its last look and one server, for each; nothing with one server."""
    names = [server.name for server in plan.world.servers]
    last = Plan(plan.world, plan.looks[-1:])
    yield from (_kept(last, [name]) for name in names if len(names) > 1)


def _looks(plan: Plan, instead: Sequence[Step]) -> Iterator[Plan]:
    """Yield the plan with only its last look, with steps in place of earlier looks, or without one.

    `instead` are those steps. It yields nothing for a plan with one look.
    """
    if len(plan.looks) == 1:
        return
    yield Plan(plan.world, plan.looks[-1:])
    for kept in (instead, *([step] for step in instead)) if instead else ():
        steps: list[Step] = []
        for number, step in enumerate((None, *plan.world.steps)):
            steps += [step] if step is not None else []
            steps += kept if number in plan.looks[:-1] else []
        yield Plan(replaced(plan.world, steps=tuple(steps)), (len(steps),))
    yield Plan(plan.world, plan.looks[1:])


def _worlds(plan: Plan) -> Iterator[Plan]:
    """Yield the plan in smaller worlds, those with the largest parts left out first."""
    world = plan.world
    names = [server.name for server in world.servers]
    if len(names) > 1:
        yield from (_kept(plan, [name]) for name in names)
        yield from (_kept(plan, [other for other in names if other != name]) for name in names)
    yield replaced_plan(
        plan,
        agents={},
        requests=tuple(request for request in world.requests if "agent" not in request),
    )
    yield replaced_plan(plan, requests=world.requests[:1])
    for server in world.servers:
        tools = [tool.name for tool in server.tools]
        half = len(tools) // 2
        for kept in (tools[:half], tools[half:]) if half else ():
            yield _with_tools(plan, server, kept)
    for at in range(len(world.steps) - 1, -1, -1):
        yield _without(plan, [at])
    for server in world.servers:
        tools = [tool.name for tool in server.tools]
        for name in tools if len(tools) > 1 else ():
            yield _with_tools(plan, server, [tool for tool in tools if tool != name])
    for at in range(len(world.requests) if len(world.requests) > 1 else 0):
        yield replaced_plan(plan, requests=(*world.requests[:at], *world.requests[at + 1 :]))


def replaced_plan(plan: Plan, **members: object) -> Plan:
    """Return a copy of the plan with these fields of its world replaced, and the same looks."""
    return Plan(replaced(plan.world, **members), plan.looks)


def _kept(plan: Plan, names: Collection[str]) -> Plan:
    """Return the plan with only the servers `names` and the agents, requests and steps about them.

    Agents' scopes lose the others; agents that see none of them are left out.
    """
    world = plan.world
    agents = {
        agent: own
        for agent, scope in world.agents.items()
        if (own := tuple(server for server in scope if server in names))
    }
    smaller = replaced(
        world,
        servers=tuple(server for server in world.servers if server.name in names),
        agents=agents,
        requests=tuple(
            request for request in world.requests if request.get("agent", "") in ("", *agents)
        ),
    )
    gone = [at for at, step in enumerate(world.steps) if not _is_of(step, names, agents)]
    return _without(Plan(smaller, plan.looks), gone)


def _is_of(step: Step, names: Collection[str], agents: Collection[str]) -> bool:
    """Whether a step's server, if any, is in `names`, and its agent, if any, in `agents`."""
    server = step.server or step.refresh or ""
    return (not server or server in names) and (step.agent is None or step.agent in agents)


def _with_tools(plan: Plan, server: Server, kept: Collection[str]) -> Plan:
    """Return the plan with only the tools `kept` of this server, in its lists and in steps too.

    Steps about none of them are left out.
    """
    tools: tuple[Tool, ...] = tuple(tool for tool in server.tools if tool.name in kept)
    lost = {tool.name for tool in server.tools} - set(kept)
    smaller = structs.replace(
        server,
        tools=tools,
        deny=tuple(name for name in server.deny if name in kept),
        allow=None
        if server.allow is None
        else tuple(name for name in server.allow if name in kept),
    )
    steps, gone = [], []
    for at, step in enumerate(plan.world.steps):
        own = step.server == server.name
        left = tuple(name for name in step.tools if not own or name not in lost)
        if own and ((step.tools and not left) or (step.change or step.call) in lost):
            gone.append(at)
        steps.append(structs.replace(step, tools=left))
    servers = tuple(smaller if other.name == server.name else other for other in plan.world.servers)
    world = replaced(plan.world, servers=servers, steps=tuple(steps))
    return _without(Plan(world, plan.looks), gone)


def _without(plan: Plan, gone: Iterable[int]) -> Plan:
    """Return the plan without the steps at these indices, from 0; its looks move accordingly."""
    lost = set(gone)
    steps = tuple(step for at, step in enumerate(plan.world.steps) if at not in lost)
    looks = tuple(sorted({look - sum(at < look for at in lost) for look in plan.looks}))
    return Plan(replaced(plan.world, steps=steps), looks)
