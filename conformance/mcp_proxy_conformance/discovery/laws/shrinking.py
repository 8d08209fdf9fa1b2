"""Smaller plans that may still break a law: whole servers first, then tools, steps and texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import structs

from mcp_proxy_conformance.catalogue.world import Server, Step, Tool, World
from mcp_proxy_conformance.discovery.laws.building import Plan, is_sensible, replaced

TRIED = 4
"""Plans that are played in one round."""


def smaller(plan: Plan, instead: Sequence[Step]) -> Iterator[list[Plan]]:
    """Smaller plans, a round at a time; `instead` may do in the place of earlier looks."""
    for candidates in (_alone(plan), _looks(plan, instead), _worlds(plan)):
        fit = [one for one in candidates if size(one) < size(plan) and is_sensible(one.world)]
        for at in range(0, len(fit), TRIED):
            yield fit[at : at + TRIED]


def size(plan: Plan) -> tuple[int, int, int, int]:
    """Of two plans the one with fewer looks is smaller, then of fewer tools, steps, requests."""
    world = plan.world
    tools = sum(len(one.tools) for one in world.servers)
    return len(plan.looks), tools + len(world.servers), len(world.steps), len(world.requests)


def _alone(plan: Plan) -> Iterator[Plan]:
    """One server of several, looked at in the end; it may well be all that it takes."""
    names = [one.name for one in plan.world.servers]
    last = Plan(plan.world, plan.looks[-1:])
    yield from (_kept(last, [name]) for name in names if len(names) > 1)


def _looks(plan: Plan, instead: Sequence[Step]) -> Iterator[Plan]:
    """Only looked at in the end; or what may have mattered of earlier looks as steps."""
    if len(plan.looks) == 1:
        return
    yield Plan(plan.world, plan.looks[-1:])
    for kept in (instead, *([one] for one in instead)) if instead else ():
        steps: list[Step] = []
        for number, step in enumerate((None, *plan.world.steps)):
            steps += [step] if step is not None else []
            steps += kept if number in plan.looks[:-1] else []
        yield Plan(replaced(plan.world, steps=tuple(steps)), (len(steps),))
    yield Plan(plan.world, plan.looks[1:])


def _worlds(plan: Plan) -> Iterator[Plan]:
    """The same with less in it, the largest parts left out first."""
    world = plan.world
    names = [one.name for one in world.servers]
    if len(names) > 1:
        yield from (_kept(plan, [name]) for name in names)
        yield from (_kept(plan, [one for one in names if one != name]) for name in names)
    yield replaced_plan(plan, agents={}, requests=_without_agents(world))
    yield replaced_plan(plan, requests=world.requests[:1])
    for one in world.servers:
        tools = [tool.name for tool in one.tools]
        half = len(tools) // 2
        for kept in (tools[:half], tools[half:]) if half else ():
            yield _with_tools(plan, one, kept)
    for at in range(len(world.steps) - 1, -1, -1):
        yield _without_step(plan, at)
    for one in world.servers:
        tools = [tool.name for tool in one.tools]
        for name in tools if len(tools) > 1 else ():
            yield _with_tools(plan, one, [tool for tool in tools if tool != name])
    for at in range(len(world.requests) if len(world.requests) > 1 else 0):
        yield replaced_plan(plan, requests=(*world.requests[:at], *world.requests[at + 1 :]))


def replaced_plan(plan: Plan, **members: object) -> Plan:
    """The plan with another world, of as many steps."""
    return Plan(replaced(plan.world, **members), plan.looks)


def _without_agents(world: World) -> tuple[dict[str, object], ...]:
    return tuple(one for one in world.requests if "agent" not in one)


def _kept(plan: Plan, names: Collection[str]) -> Plan:
    """Only those servers, and what is done to them."""
    world = plan.world
    agents = {
        agent: own
        for agent, scope in world.agents.items()
        if (own := tuple(one for one in scope if one in names))
    }
    smaller = replaced(
        world,
        servers=tuple(one for one in world.servers if one.name in names),
        agents=agents,
        requests=tuple(one for one in world.requests if one.get("agent", "") in ("", *agents)),
    )
    gone = [at for at, step in enumerate(world.steps) if not _is_of(step, names, agents)]
    return _without(Plan(smaller, plan.looks), gone)


def _is_of(step: Step, names: Collection[str], agents: Collection[str]) -> bool:
    server = step.server or step.refresh or ""
    return (not server or server in names) and (step.agent is None or step.agent in agents)


def _with_tools(plan: Plan, server: Server, kept: Collection[str]) -> Plan:
    """The server with those of its tools only, in lists and steps too."""
    tools: tuple[Tool, ...] = tuple(one for one in server.tools if one.name in kept)
    lost = {one.name for one in server.tools} - set(kept)
    smaller = structs.replace(
        server,
        tools=tools,
        deny=tuple(one for one in server.deny if one in kept),
        allow=None if server.allow is None else tuple(one for one in server.allow if one in kept),
    )
    steps, gone = [], []
    for at, step in enumerate(plan.world.steps):
        own = step.server == server.name
        left = tuple(one for one in step.tools if not own or one not in lost)
        if own and ((step.tools and not left) or (step.change or step.call) in lost):
            gone.append(at)
        steps.append(structs.replace(step, tools=left))
    servers = tuple(smaller if one.name == server.name else one for one in plan.world.servers)
    world = replaced(plan.world, servers=servers, steps=tuple(steps))
    return _without(Plan(world, plan.looks), gone)


def _without_step(plan: Plan, at: int) -> Plan:
    return _without(plan, [at])


def _without(plan: Plan, gone: Iterable[int]) -> Plan:
    """The plan without the steps of those places; it is looked at where it was."""
    lost = set(gone)
    steps = tuple(step for at, step in enumerate(plan.world.steps) if at not in lost)
    looks = tuple(sorted({one - sum(at < one for at in lost) for one in plan.looks}))
    return Plan(replaced(plan.world, steps=steps), looks)
