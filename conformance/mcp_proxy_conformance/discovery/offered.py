"""Places where a target offers its discovery tool, and its entry in tools/list at each of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.revisions import LATEST_STATELESS

STATELESS = f" ({LATEST_STATELESS})"
"""End of the name of a place that is looked at in the stateless revision."""


def offered(bench: Bench, tool: str = "") -> dict[str, dict[str, Any]]:
    """Return the discovery tool's entry in tools/list, by the path of each endpoint that has it.

    Inconclusive without any. `tool`: another of the target's own tools, instead of discovery.
    """
    name, entries = tool or bench.surface.discovery_tool, {}
    for endpoint in bench.surface.endpoints:
        with suppress(Inconclusive):
            client = bench.started.client(bench.agent, endpoint)
            entries[endpoint] = _entry(client, name)
    bench.require(entries, f"no declared endpoint offers {name}")
    return entries


def elsewhere(bench: Bench, tool: str = "") -> list[str]:
    """Return the endpoints other than the first that offer this built-in tool, or discovery.

    They are found once and kept with the target's answers, until the target is changed.
    Inconclusive if no endpoint offers it.
    """
    place = ("endpoints", bench.agent, tool)
    endpoints = bench.started.answers.get(place)
    if endpoints is None:
        first = {"", bench.surface.endpoints[0], urlsplit(bench.started.access.url).path}
        endpoints = [endpoint for endpoint in offered(bench, tool) if endpoint not in first]
        bench.started.answers[place] = endpoints
    return list(endpoints)


def places(bench: Bench, tool: str = "") -> dict[str, Bench]:
    """Return a bench for each other endpoint that offers the tool, by a name for reports.

    The last one is in the stateless revision, if the target speaks it and the bench does not;
    without another endpoint, that revision is used at the bench's own. Inconclusive if no endpoint
    offers it.
    """
    views = {f"at {endpoint}": bench.at(endpoint) for endpoint in elsewhere(bench, tool)}
    if bench.wire != "auto" or not bench.is_stateless:
        return views
    name, view = views.popitem() if views else ("", bench)
    return views | {f"{name}{STATELESS}".strip(): view.over("stateless")}


def offered_anywhere(bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the discovery tool's entry in tools/list, by every place that offers it.

    Places are those of `conversations`, one where the stateless revision is not spoken left out.
    Inconclusive without any.
    """
    entries = {}
    for place, opened in conversations(bench.started, bench.agent).items():
        with suppress(Inconclusive, *unspoken(place)), opened() as client:
            entries[place] = _entry(client, bench.surface.discovery_tool)
    bench.require(entries, f"no declared endpoint offers {bench.surface.discovery_tool}")
    return entries


Opened = Callable[[], AbstractContextManager[Conversation]]


def conversations(started: Started, agent: str | None = None) -> dict[str, Opened]:
    """Return, by the name of a place, a function that opens a conversation with the target there.

    Places are the declared endpoints, the same in the stateless revision, and stdio where it is
    served, which is for the administrator.
    """

    def over_http(endpoint: str, wire: Wire) -> AbstractContextManager[Conversation]:
        """Return the client of that endpoint and wire, which stays open at the end of the block."""
        return nullcontext(started.client(agent, endpoint, wire))

    endpoints = started.target.surface.endpoints
    places: dict[str, Opened] = {e: partial(over_http, e, "auto") for e in endpoints}
    places |= {e + STATELESS: partial(over_http, e, "stateless") for e in endpoints}
    if agent is None and started.access.stdio is not None:
        places["stdio"] = started.stdio
    return places


def unspoken(place: str) -> tuple[type[Exception], ...]:
    """Return the errors to suppress at a place: for a stateless one those of not being spoken.

    Empty for other places.
    """
    return (ProtocolFault, Unreachable) if place.endswith(STATELESS) else ()


def _entry(client: Conversation, name: str) -> dict[str, Any]:
    """Return the tool's entry in tools/list; inconclusive without one."""
    for tool in client.tools():
        if tool.get("name") == name:
            return tool
    raise Inconclusive(f"the tool {name!r} is not offered", cause="not_offered")
