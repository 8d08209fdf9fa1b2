"""Pieces of which several mutants and variants of the proxy are built."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

from mcp_proxy_mutants.proxy.changed_parts import Request
from mcp_proxy_mutants.proxy.gateway_changes import decide
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Connection
from mcp_proxy_reference.upstream import Upstream

CONFIG: Final = "disabled_by_config"
USER: Final = "disabled_by_user"
PENDING: Final = "pending_approval"
OFF: Final = "server_disabled"
UNKNOWN: Final = "disabled_unknown"
QUARANTINED: Final = "server_quarantined"
Chosen = Callable[[Facts], bool]
Texts = Mapping[Status, str]
Tally = Sequence[tuple[Facts, Status | None]]
Counts = Callable[[Tally], Any]
Entry = Callable[[Facts, Status, bool], Json]
Windows = tuple[Sequence[Match], Sequence[Match]]
FLAG = "include_disabled"
HOLDS: Mapping[str, Callable[[Facts], bool]] = {
    OFF: lambda facts: not facts.enabled,
    CONFIG: lambda facts: facts.denied,
    QUARANTINED: lambda facts: facts.quarantined,
    USER: lambda facts: facts.disabled_by_user,
    PENDING: lambda facts: facts.approval in {"pending", "changed"},
    UNKNOWN: lambda facts: facts.approval is None,
}
WITHHELD = {PENDING, QUARANTINED}


def ordered(*statuses: str) -> Callable[[Facts], str]:
    """Return a classifier: the first of these statuses that holds for a tool, else unknown."""
    return lambda facts: next((status for status in statuses if HOLDS[status](facts)), UNKNOWN)


def is_call(surface: str) -> bool:
    """Whether the surface is one of the built-in tools that call a tool, not a list."""
    return surface.startswith("call_tool_")


def unanswered(gateway: Gateway) -> set[str]:
    """Return the enabled servers whose last load failed."""
    outcomes = {name: upstream.outcome for name, upstream in gateway.upstreams.items()}
    return {name for name, got in outcomes.items() if got and got.status != "available"}


def every_nth(number: int) -> Callable[[], bool]:
    """Return a condition that is true at every Nth call."""
    turns = count(1)
    return lambda: next(turns) % number == 0


def crowded() -> bool:
    """Whether another HTTP request is under way."""
    tasks = [getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks()]
    return tasks.count("run_asgi") > 1


def by_allow_list(gateway: Gateway, facts: Facts) -> bool:
    """Whether the tool is denied by its absence from an allow list."""
    server = gateway.config.servers[facts.tool.server]
    return facts.denied and server.enabled_tools is not None


def left_out(dropped: Callable[[Facts], bool]) -> Callable[[Gateway], None]:
    """Return a swap that hides tools from discovery, from its index and from the withheld ones."""

    def swap(gateway: Gateway) -> None:
        decide(
            gateway,
            indexed=lambda facts: std.indexed(facts) and not dropped(facts),
            withheld_status=lambda facts: None if dropped(facts) else std.withheld_status(facts),
        )

    return swap


def bare(facts: Facts) -> Facts:
    """Return the facts of the same tool as if nothing locked it."""
    return replace(
        facts,
        enabled=True,
        quarantined=False,
        denied=False,
        approval="approved",
        disabled_by_user=False,
    )


def flagged(change: Callable[[Json, Request], Json]) -> Callable[[Json, Request], Json]:
    """Return a change of answers that applies to requests with the flag only."""
    return lambda document, request: change(document, request) if request.flag else document


def flag_false(change: Callable[[Json], Json]) -> Callable[[Json, Request], Json]:
    """Return a change of answers that applies where the flag is false, not where it is absent."""
    return lambda document, request: (
        change(document) if request.arguments.get(FLAG) is False else document
    )


def texts(**change: str) -> dict[str, str]:
    """Return the remediation texts, some of them replaced."""
    return {**{str(status): text for status, text in std.REMEDIATION.items()}, **change}


def on_later_pages(gateway: Gateway) -> Chosen:
    """Return a condition: the tool came on a later page of its server's list."""
    later: set[tuple[str, str]] = set()

    def noting(upstream: Upstream) -> None:
        real = upstream._connect  # noqa: SLF001 - pages are seen nowhere else

        async def connect(connection: Connection) -> Any:
            session = await real(connection)
            ask = session.request

            async def request(method: str, params: Json) -> Json:
                result = await ask(method, params)
                if method == "tools/list" and params.get("cursor"):
                    names = [tool["name"] for tool in result.get("tools", [])]
                    later.update((connection.server_id, name) for name in names)
                return result

            session.request = request  # type: ignore[method-assign]
            return session

        upstream._connect = connect  # type: ignore[assignment] # noqa: SLF001

    for upstream in gateway.upstreams.values():
        noting(upstream)
    return lambda facts: (facts.tool.server, facts.tool.name) in later


def viewed_as(read: Callable[[Gateway, Facts], bool]) -> Callable[[Gateway], None]:
    """Return a swap: lists and searches take `read` for the operator's denial, calls do not."""

    def swap(gateway: Gateway) -> None:
        def view(facts: Facts) -> Facts:
            return replace(facts, denied=read(gateway, facts))

        decide(
            gateway,
            may_call=lambda facts, surface: std.may_call(
                facts if is_call(surface) else view(facts), surface
            ),
            classify=lambda facts: std.classify(view(facts)),
            withheld_status=lambda facts: std.withheld_status(view(facts)),
        )

    return swap


def plus(members: Callable[[Facts, Status, bool], Json]) -> Entry:
    """Return a `locked_entry` decision that adds or replaces members."""
    return lambda facts, status, withheld: (
        std.locked_entry(facts, status, withheld) | members(facts, status, withheld)
    )


def then(change: Callable[[Json, Tally], Any]) -> Counts:
    """Return a `counts` decision that applies `change` to a server's counts, where it has any."""

    def counts(tools: Tally) -> Any:
        block = std.counts(tools)
        return None if block is None else change(block, tools)

    return counts


def as_(status: Callable[[Facts, Status | None], Any]) -> Counts:
    """Return a `counts` decision that counts each tool under the status that `status` returns."""
    return lambda tools: std.counts([(facts, status(facts, current)) for facts, current in tools])


def by_name(relevance: Callable[[str, Facts], float]) -> Callable[[Gateway], None]:
    """Return a swap: locked tools are not in the index but found by `relevance`.

    That returns how well a tool matches a query; 0 for not at all.
    """

    def swap(gateway: Gateway) -> None:
        def apart(facts: Facts) -> bool:
            return facts.denied or facts.disabled_by_user or not facts.enabled

        decide(
            gateway,
            indexed=lambda facts: std.indexed(facts) and not apart(facts),
            withheld_status=lambda facts: (
                std.classify(facts) if std.indexed(facts) else std.withheld_status(facts)
            ),
            matches=lambda query, facts: (
                relevance(query, facts) if std.indexed(facts) else std.matches(query, facts)
            ),
            locked_entry=lambda facts, status, _: std.locked_entry(
                facts, status, status in WITHHELD
            ),
        )

    return swap


def default_of_five(gateway: Gateway, *, publishes: bool) -> None:
    """Make five the default limit; `publishes`: the schema says five, else it gives no default."""

    def limit(arguments: Mapping[str, Any], default: int) -> int:
        return std.limit(arguments, 5 if arguments.get("limit") is None else default)

    async def reply(
        _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
    ) -> Json:
        answer = await respond()
        if message["method"] == "tools/list":
            search = answer["result"]["tools"][0]["inputSchema"]["properties"]["limit"]
            search |= {"default": 5} if publishes else {}
            if not publishes:
                del search["default"]
        return answer

    decide(gateway, limit=limit, reply=reply)


TEXTS = texts()
