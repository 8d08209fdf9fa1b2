"""Lines on one case: its request, the allowed answer, the part of the world it touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from mcp_proxy_conformance.catalogue.json_file import laid_out, lean
from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.catalogue.world import (
    VERBS,
    Server,
    Step,
    ToolKey,
    ToolState,
    World,
    final,
    key,
)
from mcp_proxy_conformance.discovery.case import Case
from mcp_proxy_conformance.discovery.oracle import allowed_statuses, counted_as
from mcp_proxy_conformance.discovery.scenarios import ScenarioCase, plan_of
from mcp_proxy_conformance.discovery.targets.adapter import CAPABILITIES
from mcp_proxy_conformance.run.space.space import Scenario, in_words

MOST, NAMED = 40, 5
"""Tools that are listed each on a line, and names in a list of names."""


def case_page(case: Case | ScenarioCase) -> Iterator[str]:
    """Yield lines on a case: its request, the allowed answer, the tools that it touches.

    These have their locks, at most 40 of each server, and the steps of the stage that concern them
    or their servers. Of a scenario the lines are its rows, with their requests, and its steps.
    """
    if isinstance(case, ScenarioCase):
        plan = plan_of(Scenario(id=case.id, rows=case.rows), CAPABILITIES)
        yield "\nas a proxy is given it that can do everything:"
        for tool, row, request in zip(plan.tools, case.rows, plan.world.requests, strict=True):
            yield f"  {tool}: {in_words(row)}; asked for by {laid_out(request)}"
        yield "\nafter these steps:"
        yield from (
            f"  {line}" for step in plan.world.steps if (line := _step(step, {*plan.tools}))
        )
        return
    own = lean(case)
    world = stage(case.given.stage)
    agent = case.when.agent
    sees = f"; it may see {', '.join(world.agents[agent])}" if agent else ""
    yield f"\nwhen: {laid_out(own['when'])}, as {agent or 'the administrator'}{sees}"
    yield f"then: {laid_out(own['then'])}"
    touched = _touched(case, world)
    number = len(world.tools())
    yield f"\nit touches {len(touched)} of the {number} tools of the stage {world.id}:"
    servers = list(dict.fromkeys(tool.server for tool in sorted(touched)))
    states = final(world)
    for name in servers:
        yield f"  {_server(world.server(name))}"
        mine = sorted(tool for tool in touched if tool.server == name)
        for tool in mine[:MOST]:
            yield f"    {_tool(tool, states[tool], listing=case.when.do == 'list')}"
        if len(mine) > MOST:
            yield f"    ... and {len(mine) - MOST} more"
    near = [step for step in world.steps if not step.server or step.server in servers]
    if steps := [line for step in near if (line := _step(step, touched))]:
        yield "\nafter these steps:"
        yield from (f"  {line}" for line in steps)


def _touched(case: Case, world: World) -> set[ToolKey]:
    """Return the tools of the stage that the case names or that its request is about.

    A discovery is about what its query finds; a listing about all tools of the servers in
    `counts`, or of every server without `counts`.
    """
    when, then = case.when, case.then
    named = {*(then.disabled or ()), *then.withheld, *then.described}
    if then.tools is not None:
        for some in (then.tools.has, then.tools.lacks, then.tools.only):
            named |= {*(some or ())}
    if when.tool is not None:
        named.add(when.tool)
    tools = world.tools()
    touched = {key(name) for name in named} & tools.keys()
    if when.do == "discover":
        touched |= {name for name, tool in tools.items() if tool.holds(when.query or "")}
    if when.do == "list":
        servers = {*(then.counts or (server.name for server in world.servers))}
        touched |= {name for name in tools if name.server in servers}
    return touched


def _server(server: Server) -> str:
    """Return a server in words: its name, and whether it is trusted.

    If set, also the tools that the operator allows or denies, and the page size.
    """
    about = ["trusted" if server.trusted else "not trusted: its tools need approval"]
    if server.allow is not None:
        about.append(f"the operator allows only {_names(server.allow)}")
    if server.deny:
        about.append(f"the operator denies {_names(server.deny)}")
    if server.page_size:
        about.append(f"{server.page_size} tools per page")
    return f"server {server.name}: {'; '.join(about)}"


def _tool(tool: ToolKey, state: ToolState, *, listing: bool) -> str:
    """Return a tool in words: callable, or its locks and the statuses that the source allows.

    `listing`: those under which it may be counted, else those under which it may be listed.
    """
    if state.callable:
        return f"{tool}: callable"
    locks = [
        f"{name} ({on})" if on is not True else name for name, on in asdict(state).items() if on
    ]
    words = counted_as(state) if listing else allowed_statuses(state)
    how = "counted as" if listing else "listed as"
    return f"{tool}: locked by {', '.join(locks)}; {how} {' or '.join(sorted(words))}"


def _step(step: Step, touched: set[ToolKey]) -> str:
    """Return a step in words; a lock or unlock names the touched tools, or the whole server.

    Empty for a lock, unlock, addition or change of other tools; any other step is always in
    words.
    """
    verb = next(member for member in VERBS if getattr(step, member) is not None)
    if verb in ("lock", "unlock"):
        tools = [name for name in step.tools if ToolKey(step.server, name) in touched]
        if step.tools and not tools:
            return ""
        names = _names(tools or ["the whole server"])
        return f"{verb} {getattr(step, verb)} on {step.server}: {names}"
    if verb in ("add", "change", "call"):
        name = step.add.name if step.add is not None else step.change or step.call or ""
        tool = ToolKey(step.server, name)
        return f"{verb} {tool}" if tool in touched or verb == "call" else ""
    if verb == "ask":
        return f"ask {step.ask!r}"
    return f"{verb} {step.refresh or ''}".rstrip()


def _names(names: Iterable[str]) -> str:
    """Return the first five names, comma-separated, and the number of others; "none" for none."""
    some = list(names)
    rest = f" and {len(some) - NAMED} more" if len(some) > NAMED else ""
    return f"{', '.join(some[:NAMED])}{rest}" if some else "none"
