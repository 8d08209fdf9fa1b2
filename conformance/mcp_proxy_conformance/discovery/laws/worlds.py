"""Generated worlds: recipes of servers, tools, agents, requests and acts, built into plans."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from mcp_proxy_conformance.catalogue.world import Server
from mcp_proxy_conformance.discovery.laws.names import NOWHERE, SERVERS, SHARED, TEXTS, VERBS
from mcp_proxy_conformance.discovery.laws.plan import Builder, Plan, WorldAct, a_tool

MOST_SERVERS, MOST_TOOLS, MOST_ACTS, MOST_LOOKS = 6, 30, 12, 2
FIRST = 3
"""Number of the first act after which there may be a look."""
LIMITS = (0, 1, 2, 5, 9, 10, 11, 50, 100)
KINDS = ("trusted", "trusted", "untrusted", "untrusted", "allow", "deny", "pages", "stdio")
DEEDS = (
    "config", "user", "user", "config", "quarantine", "off", "change", "add", "unconfig", "unuser",
    "approve", "release", "on", "ask", "call", "restart",
)  # fmt: skip


ASKED = ("group", "group", "word", "name", "words", "nowhere")
"""Kinds of queries; `words` contains signs that searches may take for operators."""


class ServerRecipe(NamedTuple):
    """Recipe of a server: its kind, and for each tool its verb, text and groups."""

    kind: str
    tools: list[tuple[int, int, list[int]]]


class Recipe(NamedTuple):
    """Recipe of a world: its servers, acts, agents' scopes and requests."""

    servers: list[ServerRecipe]
    acts: list[WorldAct]
    scopes: list[list[int]]
    requests: list[tuple[str, int, int]]


def recipes() -> st.SearchStrategy[Recipe]:
    """Return the strategy that generates recipes: up to six servers with one to eight tools each.

    They have 5 to 12 acts, up to two agents' scopes, and one to three requests.
    """
    groups = st.lists(st.integers(0, 3), max_size=2)
    tools = st.tuples(st.integers(0, len(VERBS) - 1), st.integers(0, len(TEXTS) - 1), groups)
    servers = st.builds(
        ServerRecipe, st.sampled_from(KINDS), st.lists(tools, min_size=1, max_size=8)
    )
    several = st.lists(st.integers(0, 11), min_size=1, max_size=8).map(tuple)
    acts = st.builds(
        WorldAct,
        do=st.sampled_from(DEEDS),
        server=st.integers(0, MOST_SERVERS - 1),
        tools=several,
        flag=st.sampled_from([None, True, False]),
    )
    scopes = st.lists(st.integers(0, MOST_SERVERS - 1), min_size=1, max_size=2)
    requests = st.tuples(st.sampled_from(ASKED), st.integers(0, 40), st.sampled_from(range(9)))
    return st.builds(
        Recipe,
        servers=st.lists(servers, min_size=1, max_size=MOST_SERVERS),
        acts=st.lists(acts, min_size=5, max_size=MOST_ACTS),
        scopes=st.lists(scopes, max_size=2),
        requests=st.lists(requests, min_size=1, max_size=3),
    )


def built(recipe: Recipe, can: Collection[str]) -> Plan:
    """Return the plan of a recipe for a target with the capabilities `can`.

    Looks follow up to two of the last acts that change something, and the end. Up to two agents
    repeat the first request.
    """
    servers = list(_servers(recipe.servers, can))
    names = [server.name for server in servers]
    agents = {
        name: tuple(dict.fromkeys(names[at % len(names)] for at in scope))
        for name, scope in zip(("north", "south"), recipe.scopes, strict=False)
    }
    builder, looks = Builder(servers, agents, can), []
    for number, act in enumerate(recipe.acts, 1):
        if builder.act(act) and number >= FIRST and act.do not in ("ask", "call"):
            looks.append(len(builder.steps))
    requests = list(_requests(recipe.requests, builder))
    return builder.plan(
        looks[-MOST_LOOKS:], [*requests, *[requests[0] | {"agent": name} for name in agents]]
    )


def _servers(recipes: Iterable[ServerRecipe], can: Collection[str]) -> Iterable[Server]:
    """Yield the servers of these recipes, with up to 30 tools in all.

    What a target with the capabilities `can` cannot have (approval, deny and allow lists) is
    left out.
    """
    number, verbs = 0, dict.fromkeys(VERBS)
    for name, recipe in zip(SERVERS, recipes, strict=False):
        if number >= MOST_TOOLS:
            return
        kind = recipe.kind
        if kind == "untrusted" and "approval" not in can:
            kind = "trusted"
        room = MOST_TOOLS - number
        tools = tuple(
            a_tool(
                number + at,
                _first_use(verbs, verb),
                TEXTS[text],
                groups,
                planted=kind != "untrusted",
            )
            for at, (verb, text, groups) in enumerate(recipe.tools[:room])
        )
        number += len(tools)
        known = tuple(tool.name for tool in tools)
        yield Server(
            name=name,
            tools=tools,
            trusted=kind != "untrusted",
            transport="stdio" if kind == "stdio" else "http",
            deny=known[:1] if kind == "deny" and "config" in can else (),
            allow=known if kind == "allow" and {"config", "allow_list"} <= set(can) else None,
            page_size=2 if kind == "pages" else 0,
        )


def _first_use(verbs: dict[str, None], number: int) -> str:
    """Return verb `number` if it is unused and mark it as used; else "".

    So the name `verb` is the query of one tool only.
    """
    verb = VERBS[number]
    return verb if verbs.pop(verb, 0) is None else ""


def _requests(
    choices: Sequence[tuple[str, int, int]], builder: Builder
) -> Iterable[dict[str, Any]]:
    """Yield the requests of a recipe's choices, each (kind of query, tool or group, limit).

    The last two are numbers; one beyond the world's tools or groups counts on from the first, and
    that of the limit 0 sends no limit.
    """
    tools = list(builder.world.tools().values())
    groups = [group for tool in tools for group in tool.groups] or [SHARED[0]]
    for kind, at, limit in choices:
        tool = tools[at % len(tools)]
        query = {
            "group": groups[at % len(groups)],
            "word": tool.word,
            "name": tool.name,
            "words": f'"{tool.word} OR {groups[at % len(groups)]}* -',
            "nowhere": NOWHERE,
        }[kind]
        yield {"query": query} | ({"limit": LIMITS[limit]} if LIMITS[limit] else {})
