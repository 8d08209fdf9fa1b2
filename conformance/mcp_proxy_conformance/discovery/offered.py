"""Places where a target offers its discovery tool, and its entry in tools/list at each of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.verdict.comparison import messages_read, note_exchange
from mcp_proxy_conformance.verdict.exchanges import Named, View
from mcp_proxy_conformance.verdict.result import Inconclusive
from mcp_proxy_conformance.wire.client import Wire
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.revisions import LATEST_STATELESS
from mcp_proxy_conformance.wire.transcript import last_exchange

STATELESS = f" in {LATEST_STATELESS}"
"""End of the name of a place that is looked at in the stateless revision."""


def offered(bench: Bench, tool: str = "") -> dict[str, dict[str, Any]]:
    """Return the discovery tool's entry in tools/list, by the path of each endpoint that has it.

    `tool` names another of the target's built-in tools instead. Inconclusive without any.
    """
    name, entries = tool or bench.surface.discovery_tool, {}
    for endpoint in bench.surface.endpoints:
        with suppress(Inconclusive):
            client = bench.started.client(bench.agent, endpoint)
            entries[endpoint] = _entry(bench, endpoint, client, name)
    bench.require(entries, f"no declared endpoint offers {name}")
    return entries


def elsewhere(bench: Bench, tool: str = "") -> list[str]:
    """Return the paths of the endpoints, but the first, that offer this built-in tool.

    `tool` is by default the discovery tool. They are found once and kept until the target changes.
    Inconclusive if no endpoint offers it.
    """
    place = ("endpoints", bench.agent, tool)
    endpoints = bench.started.answers.get(place)
    if endpoints is None:
        first = {"", bench.surface.endpoints[0], urlsplit(bench.started.access.url).path}
        endpoints = [endpoint for endpoint in offered(bench, tool) if endpoint not in first]
        bench.started.answers[place] = endpoints
    return list(endpoints)


def places(bench: Bench, tool: str = "") -> dict[View, Bench]:
    """Return a bench for each endpoint, but the first, that offers the tool, by its view's name.

    If the target speaks the stateless revision and the bench's wire is `auto`, the last endpoint
    is also there in that revision, or the bench's own without another one. Inconclusive if no
    endpoint offers the tool.
    """
    views = [bench.at(endpoint) for endpoint in elsewhere(bench, tool)]
    if bench.wire == "auto" and bench.is_stateless:
        views.append([bench, *views][-1].over("stateless"))
    return {view.place: view for view in views}


def offered_anywhere(bench: Bench, *, anew: bool = False) -> dict[str, dict[str, Any]]:
    """Return the discovery tool's entry in tools/list, by every place that offers it.

    Places are the declared endpoints, the same in the stateless revision where it is spoken, and
    stdio for the administrator. Entries are kept until the target changes, unless a stateless place
    failed; `anew` asks in any case. Inconclusive if no place offers the tool.
    """
    key = ("entries", bench.agent)
    kept: dict[str, dict[str, Any]] | None = bench.started.answers.get(key)
    if kept is not None and not anew:
        for place in kept:
            note_exchange(bench.started.answers[(*key, place)], _members(bench, place))
        return dict(kept)
    bench.started.answers.pop(key, None)
    entries, failed = {}, False
    for place, opened in conversations(bench.started, bench.agent).items():
        try:
            with suppress(Inconclusive), opened() as client:
                entries[place] = _entry(bench, place, client, bench.surface.discovery_tool)
                bench.started.answers[(*key, place)] = messages_read()
        except unspoken(place):
            failed = True
    bench.require(entries, f"no declared endpoint offers {bench.surface.discovery_tool}")
    if not failed:
        bench.started.answers[key] = entries
    return dict(entries)


Opened = Callable[[], AbstractContextManager[Conversation]]


def conversations(started: Started, agent: str | None = None) -> dict[str, Opened]:
    """Return, by the name of a place, a function that opens a conversation with the target there.

    Places are the declared endpoints, the same in the stateless revision and, for the
    administrator only, stdio if it is served.
    """

    def over_http(endpoint: str, wire: Wire) -> AbstractContextManager[Conversation]:
        """Return the client of that endpoint and wire, which stays open at the end of the block."""
        return nullcontext(started.client(agent, endpoint, wire))

    endpoints = started.target.surface.endpoints
    places: dict[str, Opened] = {e: partial(over_http, e, "auto") for e in endpoints}
    places |= {e + STATELESS: partial(over_http, e, "stateless") for e in endpoints}
    if agent is None and started.access.stdio is not None:
        places["stdio"] = lambda: nullcontext(started.conversation(way="stdio"))
    return places


def unspoken(place: str) -> tuple[type[Exception], ...]:
    """Return the errors by which a stateless place shows that the revision is not spoken.

    Empty for other places.
    """
    return (ProtocolFault, Unreachable) if place.endswith(STATELESS) else ()


def listed_at(place: str) -> Named:
    """Return the part of a finding's place that names the tools/list of a place."""
    return Named(f"tools/list at {place}", [("place", place)])


def _members(bench: Bench, place: str) -> list[tuple[str, Any]]:
    return [("place", place), ("agent", bench.agent or ""), ("endpoint", ""), ("wire", bench.wire)]


def _entry(bench: Bench, place: str, client: Conversation, name: str) -> dict[str, Any]:
    """Return the tool's entry in tools/list; raise Inconclusive without one."""
    since = bench.started.transcript.mark()
    try:
        tools = client.tools()
    finally:
        messages = last_exchange(bench.started.transcript.since(since), {"client"})
        note_exchange(messages, _members(bench, place))
    for tool in tools:
        if tool.get("name") == name:
            return tool
    raise Inconclusive(f"the tool {name!r} is not offered", cause="not_offered")
