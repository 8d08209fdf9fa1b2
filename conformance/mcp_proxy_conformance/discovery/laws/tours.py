"""Tours: three fixed plans that every run plays besides generated ones, so that laws have cases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec import structs

from mcp_proxy_conformance.catalogue.world import Server, Tool
from mcp_proxy_conformance.discovery.laws.names import NOWHERE, SERVERS, SHARED, TEXTS
from mcp_proxy_conformance.discovery.laws.plan import Builder, Plan, WorldAct, a_tool

CROWD, FEW, MIXED = SHARED[:3]
"""Words of many tools that are all locked, of three such tools, and of locked and open ones."""


def tours(can: Collection[str]) -> list[Plan]:
    """Return the three handwritten plans, without acts that need other capabilities than `can`."""
    return [_kinds(can), _lists(can), _again(can)]


def _tools(first: int, *groups: Sequence[int], planted: bool = True, text: int = 1) -> list[Tool]:
    """Make one tool for each of these lists of groups, numbered from `first`, without verbs.

    Their descriptions take TEXTS in turn, from number `text` on; `planted` puts in a canary.
    """
    return [
        a_tool(first + at, "", TEXTS[(text + at) % len(TEXTS)], own, planted=planted)
        for at, own in enumerate(groups)
    ]


def _kinds(can: Collection[str]) -> Plan:
    """Return the plan of each kind of lock, alone and beside others; two agents ask as well.

    A user's lock is lifted, and tools are added and changed. What needs a capability that
    is not in `can` is left out.
    """
    crowd, few, both, mixed, none = (0,), (1,), (0, 1), (2,), ()
    servers = [
        Server(name=SERVERS[0], tools=tuple(_tools(0, *[crowd] * 13, mixed, mixed, none, text=5))),
        Server(
            name=SERVERS[1],
            tools=tuple(_tools(16, few, both, both, mixed, none, none, planted=False)),
            trusted="approval" not in can,
        ),
        Server(name=SERVERS[2], tools=tuple(_tools(22, crowd, mixed, none))),
        Server(name=SERVERS[3], tools=tuple(_tools(25, mixed, none))),
        Server(name=SERVERS[4], tools=tuple(_tools(27, mixed, mixed))),
    ]
    agents: dict[str, tuple[str, ...]] = {
        "north": (SERVERS[0], SERVERS[4]),
        "south": (SERVERS[1], SERVERS[4]),
    }
    acts = (
        WorldAct(do="user", server=1, tools=(0, 1, 2, 4)),
        WorldAct(do="user", server=2, tools=(2,)),
        None,
        WorldAct(do="user", server=0, tools=(0, 1, 2, 3, 4, 13)),
        WorldAct(do="config", server=0, tools=(5, 6, 7, 8, 9, 10, 11, 12)),
        None,
        WorldAct(do="unuser", server=2, tools=(2,)),
        WorldAct(do="add", server=1),
        None,
        WorldAct(do="change", server=1, tools=(1,)),
        WorldAct(do="change", server=1, tools=(5,)),
        WorldAct(do="reshape", server=1, tools=(3,)),
        WorldAct(do="config", server=0, tools=(4,)),
        WorldAct(do="config", server=1, tools=(2, 4, 5)),
        WorldAct(do="config", server=2, tools=(0,)),
        WorldAct(do="user", server=2, tools=(1,)),
        None,
        WorldAct(do="quarantine", server=2),
        WorldAct(do="config", server=3, tools=(0,)),
        WorldAct(do="user", server=3, tools=(1,)),
        WorldAct(do="off", server=3),
        None,
    )
    return _taken(Builder(servers, agents, can), acts, (CROWD, FEW, MIXED))


def _lists(can: Collection[str]) -> Plan:
    """Return the plan of operator's lists, pages, a stdio server, a name that two servers share.

    Config and user locks are added, and denied tools released. What needs a capability
    that is not in `can` is left out.
    """
    allow = {"config", "allow_list"} <= set(can)
    tools = [_tools(at, (0,), (2,), (), planted=at != 3) for at in (0, 3, 6, 9)]  # noqa: PLR2004
    tools[1][0] = structs.replace(tools[0][0], description=f"{tools[0][0].description} Also here.")
    servers = [
        Server(name=SERVERS[0], tools=tuple(tools[0]), deny=tuple(
            tool.name for tool in tools[0][:2]) if "config" in can else ()),
        Server(name=SERVERS[1], tools=tuple(tools[1]), trusted="approval" not in can,
               allow=tuple(tool.name for tool in tools[1]) if allow else None),
        Server(name=SERVERS[2], tools=tuple(tools[2]), page_size=1),
        Server(name=SERVERS[3], tools=tuple(tools[3]), transport="stdio"),
    ]  # fmt: skip
    acts = (
        WorldAct(do="change", server=1, tools=(2,)),
        WorldAct(do="config", server=1, tools=(1,)),
        WorldAct(do="config", server=2, tools=(1,)),
        WorldAct(do="user", server=2, tools=(2,)),
        WorldAct(do="config", server=3, tools=(0,)),
        WorldAct(do="user", server=3, tools=(1,)),
        None,
        WorldAct(do="config", server=1, tools=(0, 1, 2)),
        WorldAct(do="unconfig", server=0, tools=(0, 1)),
        None,
    )
    return _taken(Builder(servers, {}, can), acts, (CROWD, MIXED))


def _again(can: Collection[str]) -> Plan:
    """Return the plan of locks that are laid, asked for, lifted, laid again, then a restart.

    What needs a capability that is not in `can` is left out.
    """
    servers = [
        Server(name=SERVERS[0], tools=tuple(_tools(20, (0,), (0,), (2,), ()))),
        Server(
            name=SERVERS[1],
            tools=tuple(_tools(10, (1,), (2,), (), planted=False)),
            trusted="approval" not in can,
        ),
        Server(name=SERVERS[2], tools=tuple(_tools(5, (2,), (2,)))),
        Server(
            name=SERVERS[3],
            tools=tuple(_tools(30, (2,), (), planted=False)),
            trusted="approval" not in can,
        ),
    ]
    acts = (
        WorldAct(do="change", server=3, tools=(0,)),
        WorldAct(do="user", server=0, tools=(0, 2)),
        WorldAct(do="config", server=0, tools=(1,)),
        WorldAct(do="change", server=1, tools=(0,)),
        WorldAct(do="user", server=1, tools=(1,)),
        WorldAct(do="quarantine", server=2),
        None,
        WorldAct(do="unuser", server=0, tools=(0,)),
        WorldAct(do="unconfig", server=0, tools=(1,)),
        WorldAct(do="config", server=0, tools=(2,)),
        WorldAct(do="ask", server=0, tools=(2,), flag=True),
        WorldAct(do="unconfig", server=0, tools=(2,)),
        WorldAct(do="user", server=3, tools=(0,)),
        WorldAct(do="unuser", server=3, tools=(0,)),
        WorldAct(do="approve", server=1, tools=(0,)),
        WorldAct(do="release", server=2),
        WorldAct(do="config", server=2, tools=(0,)),
        None,
        WorldAct(do="user", server=0, tools=(0,)),
        WorldAct(do="config", server=0, tools=(0, 1)),
        WorldAct(do="unconfig", server=2, tools=(0,)),
        WorldAct(do="user", server=2, tools=(1,)),
        WorldAct(do="quarantine", server=3),
        None,
        WorldAct(do="unconfig", server=0, tools=(0,)),
        WorldAct(do="ask", server=0, tools=(0,), flag=True),
        WorldAct(do="restart"),
        None,
        WorldAct(do="unuser", server=2, tools=(1,)),
        None,
    )
    return _taken(Builder(servers, {"north": (SERVERS[0],)}, can), acts, (CROWD, FEW, MIXED))


def _taken(builder: Builder, acts: Sequence[WorldAct | None], words: Sequence[str]) -> Plan:
    """Take the acts and return the plan, with a look before them and wherever an act is None.

    Its requests are each of the words and one that no tool has, the first at limits 1, 5 and
    100, and each word once for each agent.
    """
    looks = [len(builder.steps)]
    for act in acts:
        if act is None:
            looks.append(len(builder.steps))
        else:
            builder.act(act)
    requests: list[dict[str, Any]] = [{"query": word} for word in (*words, NOWHERE)]
    requests += [{"query": words[0], "limit": limit} for limit in (1, 5, 100)]
    requests += [
        {"query": word, "agent": agent} for agent in builder.world.agents for word in words
    ]
    return builder.plan(looks, requests)
