"""Pieces shared by mutants and variants of the proxy: statuses, conditions, changed decisions."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
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
    """Return a function from a tool's facts to the first of these statuses whose lock it has.

    Without any, it returns `disabled_unknown`.
    """
    return lambda facts: next((status for status in statuses if HOLDS[status](facts)), UNKNOWN)


def is_call(surface: str) -> bool:
    """Whether `may_call` is asked for a call: the surface is the name of a built-in call tool.

    Else it is "discovery" or "listing".
    """
    return surface.startswith("call_tool_")


def unanswered(gateway: Gateway) -> set[str]:
    """Return the names of servers that were loaded and whose last load did not succeed."""
    outcomes = {name: upstream.outcome for name, upstream in gateway.upstreams.items()}
    return {name for name, got in outcomes.items() if got and got.status != "available"}


def every_nth(number: int) -> Callable[[], bool]:
    """Return a function that returns true at every `number`th call, else false."""
    turns = count(1)
    return lambda: next(turns) % number == 0


def crowded() -> bool:
    """Whether at least two HTTP requests, this one included, are being served at this moment."""
    tasks = [getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks()]
    return tasks.count("run_asgi") > 1


def by_allow_list(gateway: Gateway, facts: Facts) -> bool:
    """Whether config denies the tool because its server has an allow list without it."""
    server = gateway.config.servers[facts.tool.server]
    return facts.denied and server.enabled_tools is not None


def left_out(dropped: Callable[[Facts], bool]) -> Callable[[Gateway], None]:
    """Return a gateway change that hides the tools that `dropped` selects from all of discovery.

    They are neither in the search index nor among the withheld tools; calls are unchanged.
    """

    def swap(gateway: Gateway) -> None:
        decide(
            gateway,
            indexed=lambda facts: std.indexed(facts) and not dropped(facts),
            withheld_status=lambda facts: None if dropped(facts) else std.withheld_status(facts),
        )

    return swap


def flagged(change: Callable[[Json, Request], Json]) -> Callable[[Json, Request], Json]:
    """Return an `answer` change that applies `change` to requests with a true flag only."""
    return lambda document, request: change(document, request) if request.flag else document


def flag_false(change: Callable[[Json], Json]) -> Callable[[Json, Request], Json]:
    """Return an `answer` change for requests whose flag is given as false; not for absent flags."""
    return lambda document, request: (
        change(document) if request.arguments.get(FLAG) is False else document
    )


def texts(**change: str) -> dict[str, str]:
    """Return the reference's remediation texts by status, with those of `change` in their place."""
    return {**{str(status): text for status, text in std.REMEDIATION.items()}, **change}


def on_later_pages(gateway: Gateway) -> Chosen:
    """Watch the gateway's upstreams; return a condition: a tool came on a later page of a list."""
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
    """Return a gateway change: discovery and listing take `read` for the operator's denial.

    Calls still follow the real denial.
    """

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
    """Return a `locked_entry` decision: the usual entry with what `members` returns added.

    Members of the same name are replaced.
    """
    return lambda facts, status, withheld: (
        std.locked_entry(facts, status, withheld) | members(facts, status, withheld)
    )


def then(change: Callable[[Json, Tally], Any]) -> Counts:
    """Return a `counts` decision that passes a server's usual counts through `change`.

    A server without counts (nothing is locked) still has none.
    """

    def counts(tools: Tally) -> Any:
        block = std.counts(tools)
        return None if block is None else change(block, tools)

    return counts


def as_(status: Callable[[Facts, Status | None], Any]) -> Counts:
    """Return a `counts` decision that counts each tool under the status that `status` returns.

    `status` gets the tool's facts and its right status; None stands for callable.
    """
    return lambda tools: std.counts([(facts, status(facts, current)) for facts, current in tools])


def by_name(relevance: Callable[[str, Facts], float]) -> Callable[[Gateway], None]:
    """Return a gateway change: locked tools leave the search index, and `relevance` finds them.

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
    """Change the gateway: the limit of discovery requests without one is five.

    With `publishes`, the input schema in tools/list says so; else it gives no default at all.
    """

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

    decide(
        gateway,
        limit=lambda arguments, default: std.limit(
            arguments, 5 if arguments.get("limit") is None else default
        ),
        reply=reply,
    )


TEXTS = texts()
