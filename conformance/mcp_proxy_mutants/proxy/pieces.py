"""What several faults are made of."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from mcp_proxy_mutants.proxy.swapping import decide, own, put
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json
from mcp_proxy_reference.gateway import Gateway

HOLDS: Mapping[str, Callable[[Facts], bool]] = {
    "server_disabled": lambda facts: not facts.enabled,
    "disabled_by_config": lambda facts: facts.denied,
    "server_quarantined": lambda facts: facts.quarantined,
    "disabled_by_user": lambda facts: facts.disabled_by_user,
    "pending_approval": lambda facts: facts.approval in {"pending", "changed"},
    "disabled_unknown": lambda facts: facts.approval is None,
}
WITHHELD = {"pending_approval", "server_quarantined"}


def ordered(*statuses: str) -> Callable[[Facts], str]:
    """A classification that looks at the reasons in the order given."""
    return lambda facts: next((one for one in statuses if HOLDS[one](facts)), "disabled_unknown")


def called(surface: str) -> bool:
    """Whether a decision is taken for a call, not for a list."""
    return surface.startswith("call_tool_")


def every(number: int) -> Callable[[], bool]:
    """True each time that many questions have been asked."""
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
    """Tools that are in neither pass of discovery."""

    def swap(gateway: Gateway) -> None:
        decide(
            gateway,
            indexed=lambda facts: std.indexed(facts) and not dropped(facts),
            withheld_status=lambda facts: None if dropped(facts) else std.withheld_status(facts),
        )

    return swap


def bare(facts: Facts) -> Facts:
    """The same tool as if nothing locked it."""
    return replace(
        facts,
        enabled=True,
        quarantined=False,
        denied=False,
        approval="approved",
        disabled_by_user=False,
    )


def flagged(change: Callable[[Json, Request], Json]) -> Callable[[Json, Request], Json]:
    """An answer that is changed under the flag only."""
    return lambda document, request: change(document, request) if request.flag else document


def given_off(change: Callable[[Json], Json]) -> Callable[[Json, Request], Json]:
    """An answer that is changed when the flag is given and is false."""
    return lambda document, request: (
        change(document) if request.arguments.get("include_disabled") is False else document
    )


def texts(**change: str) -> dict[str, str]:
    """The remediation texts, some of them replaced."""
    return {**{str(status): text for status, text in std.REMEDIATION.items()}, **change}


def later_pages(gateway: Gateway) -> set[str]:
    """The addresses of tools that did not come with the first page, filled as servers are read."""
    later: set[str] = set()
    attach = own(gateway, "_attach")

    def watch(upstream: Any) -> Any:
        name, connect = upstream.connection.server_id, own(upstream, "_connect")

        async def connected(connection: Any) -> Any:
            session = await connect(connection)
            request = session.request

            async def asked(method: str, params: Json) -> Json:
                result: Json = await request(method, params)
                if method == "tools/list" and "cursor" in params:
                    later.update(f"{name}:{tool['name']}" for tool in result.get("tools", []))
                return result

            put(session, request=asked)
            return session

        put(upstream, _connect=connected)
        return upstream

    for upstream in gateway.upstreams.values():
        watch(upstream)
    put(gateway, _attach=lambda server: watch(attach(server)))
    return later
