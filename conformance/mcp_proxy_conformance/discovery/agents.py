"""A target as its agents see it: benches of agents, servers beyond a scope, names leaked."""

from __future__ import annotations

from contextlib import suppress

from mcp_proxy_conformance.catalogue.world import World
from mcp_proxy_conformance.discovery.answer import Listing
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.offered import places
from mcp_proxy_conformance.verdict.exchanges import View
from mcp_proxy_conformance.verdict.result import Inconclusive


def scoped(bench: Bench, agent: str) -> Bench:
    """Return a bench of the same target that sends requests as this agent.

    Inconclusive unless a query of the agent lists a callable tool of its scope: only then does
    a tool that it does not see count as hidden.
    """
    view = bench.as_agent(agent)
    own = [k for k in sorted(bench.armed.called) if k.server in bench.world.agents[agent]]
    free = [k for k in own if bench.states[k].callable]
    shown = any(k in view.widest(bench.tools[k].word or k.tool).callables() for k in free)
    bench.require(shown, "the agent saw no callable tool within its scope")
    return view


def everywhere(bench: Bench) -> list[Bench]:
    """Return a bench for each agent that may see every server and gets a callable tool listed.

    They are found once and kept with the target's shared answers, and looked for again after
    each change of the target.
    """
    place = ("agents that see every server",)
    views = bench.started.answers.get(place)
    if views is None:
        names = [name for name in bench.world.agents if not beyond(bench.world, name)]
        views = bench.started.answers[place] = [v for name in names if (v := _proven(bench, name))]
    return list(views)


def beyond(world: World, agent: str) -> tuple[str, ...]:
    """Return the names of the servers outside the agent's scope, in the world's order."""
    return tuple(server.name for server in world.servers if server.name not in world.agents[agent])


def statuses_beyond(bench: Bench, agent: str, query: str) -> set[str]:
    """Return the statuses, of tools beyond the agent's scope, that the flag reveals for this query.

    The request is sent by the bench itself, not by the agent. Inconclusive if it
    is answered with an error.
    """
    revealed = bench.revealed(query)
    return {str(revealed[key]) for key in revealed if key.server in beyond(bench.world, agent)}


def queries_beyond(bench: Bench, agent: str) -> list[str]:
    """Return queries by which the bench, not the agent, reveals a tool beyond the agent's scope.

    Tried are groups of tools, and words and names of tools beyond it. Inconclusive if none
    reveals one.
    """
    outside = beyond(bench.world, agent)
    hidden = {bench.states[key]: key for key in bench.states if key.server in outside}
    words = [group for tool in bench.tools.values() for group in tool.groups]
    words += [bench.tools[key].word for key in hidden.values()]
    queries = dict.fromkeys([*words, *(key.tool for key in hidden.values())])
    revealing = [query for query in queries if statuses_beyond(bench, agent, query)]
    bench.require(revealing, "the flag revealed no tool beyond the agent's scope to any caller")
    return revealing


def listing_of(view: Bench) -> Listing:
    """Return the listing that the view's agent gets; one that is refused has no servers."""
    template = view.surface.listing
    reply = view.tool_call(template.tool, template.arguments, endpoint=template.endpoint)
    if reply.error is not None or reply.is_error:
        return Listing(reply=reply, servers={})
    return view.listing(reply)


def names_beyond(world: World, agent: str, text: str, query: str = "") -> list[str]:
    """Return the names in a text that give servers beyond the agent's scope away; [] if none.

    These are names of servers and tools, words that only one tool has, and planted canaries. What
    the query contains is left out, as an answer may repeat it.
    """
    wanted = [*beyond(world, agent)]
    for key, tool in world.tools().items():
        if key.server in beyond(world, agent):
            wanted += [tool.name, tool.word, *tool.canaries]
    return [name for name in wanted if name in text and name not in query]


def _proven(bench: Bench, agent: str) -> Bench | None:
    """Return a bench that sends as this agent; None unless a query of it lists a callable tool."""
    with suppress(Inconclusive):
        return scoped(bench, agent)
    return None


def onlookers(bench: Bench, tool: str = "") -> dict[View, Bench]:
    """Return the target's other views: its other endpoints, and agents that may see every server.

    Keys are names for reports, such as `as agent north`; values are benches. With `tool`, a
    built-in tool, only endpoints that offer it count. Inconclusive if no endpoint at all offers
    it.
    """
    return places(bench, tool) | {view.place: view for view in everywhere(bench)}
