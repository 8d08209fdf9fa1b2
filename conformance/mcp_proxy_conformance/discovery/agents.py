"""What lies within and beyond the scope of an agent, and all who look at a target."""

from __future__ import annotations

from contextlib import suppress

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import elsewhere
from mcp_proxy_conformance.verdict.result import Inconclusive


def scoped(bench: Bench, agent: str) -> Bench:
    """The agent's view, once it has shown a callable tool of its own (section 0, control)."""
    view = bench.as_agent(agent)
    own = [k for k in sorted(bench.armed.called) if k.server in bench.world.agents[agent]]
    free = [k for k in own if bench.states[k].callable]
    seen = any(k in view.discover(bench.tools[k].word or k.tool).callables() for k in free)
    bench.require(seen, "the agent was not shown a callable tool of its own")
    return view


def everywhere(bench: Bench) -> list[Bench]:
    """The views of agents whose scope is every server, once they were shown a callable tool."""
    place = ("agents of every server",)
    found = bench.started.answers.get(place)
    if found is None:
        names = [one for one in bench.world.agents if not beyond(bench.world, one)]
        found = bench.started.answers[place] = [v for one in names if (v := _proven(bench, one))]
    return list(found)


def beyond(world: World, agent: str) -> tuple[str, ...]:
    """The servers outside the agent's scope."""
    return tuple(one.name for one in world.servers if one.name not in world.agents[agent])


def statuses_beyond(bench: Bench, agent: str, query: str) -> set[str]:
    """The statuses that one who sees everything is told of tools beyond the agent's scope."""
    told = bench.revealed(query, limit=100)
    return {str(told[key]) for key in told if key.server in beyond(bench.world, agent)}


def telling_queries(bench: Bench, agent: str) -> list[str]:
    """The queries that reveal a tool beyond the agent's scope to one who sees everything."""
    outside = beyond(bench.world, agent)
    hidden = {bench.states[key]: key for key in bench.states if key.server in outside}
    words = [group for one in bench.tools.values() for group in one.groups]
    words += [bench.tools[key].word for key in hidden.values()]
    queries = dict.fromkeys([*words, *(key.tool for key in hidden.values())])
    found = [query for query in queries if statuses_beyond(bench, agent, query)]
    bench.require(found, "the flag revealed no tool beyond the scope to anybody")
    return found


def names_beyond(world: World, agent: str, text: str, query: str = "") -> list[str]:
    """Names, words and canaries beyond the scope that stand in a text, less those asked for."""
    wanted = [*beyond(world, agent)]
    for key, tool in world.tools().items():
        if key.server in beyond(world, agent):
            wanted += [tool.name, tool.word, *tool.canaries]
    return [name for name in wanted if name in text and name not in query]


def _proven(bench: Bench, agent: str) -> Bench | None:
    with suppress(Inconclusive):
        return scoped(bench, agent)
    return None


def onlookers(bench: Bench, tool: str = "") -> dict[str, Bench]:
    """The views from the other endpoints that offer discovery, and of agents of every server.

    By a name for reports; `tool`: the endpoints that offer that one of the target's own tools.
    """
    found = {f"at {endpoint}": bench.at(endpoint) for endpoint in elsewhere(bench, tool)}
    return found | {f"as agent {view.agent}": view for view in everywhere(bench)}
