"""Plan shown to the user before the first request: the maximum of requests of each kind."""

from __future__ import annotations

from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.survey import (
    ALONE,
    ASKED,
    EXPECTED,
    INSPECTED,
    NAMES,
    ROUND,
    ROUNDS,
    SEARCHES,
    SHARED,
    TIGHT,
    TURNS,
)

OPENING = 3


def plan(endpoint: Endpoint) -> list[str]:
    """Return lines that show a user the limits, the most requests of each kind, and their total."""
    named = len({*endpoint.expect, *endpoint.call})
    names = max(NAMES, min(named, EXPECTED))
    surface = endpoint.surface
    kinds = [
        (OPENING * (1 + len(endpoint.agents)), "to open and end a session, and tools/list"),
        (SEARCHES, f"{surface.discovery_tool} with the flag, to find locked tools"),
        (
            ROUNDS * len(ROUND),
            f"{surface.discovery_tool} with the flag absent, false and true, for {ROUNDS} queries",
        ),
        (names * len(ALONE), f"{surface.discovery_tool} for each of {names} locked tools"),
        (len(TIGHT), f"{surface.discovery_tool} with small limits"),
    ]
    if endpoint.stdio:
        until = "until the started program knows its tools"
        kinds.insert(1, (ASKED * TURNS, f"{surface.discovery_tool}, {until}"))
    if endpoint.listing:
        kinds.append(
            (
                2 + names,
                f"{surface.listing.tool}, and {surface.discovery_tool} for the locked tools again",
            )
        )
    if endpoint.listing and surface.inspect is not None:
        kinds.append((INSPECTED, f"{surface.inspect.tool} for one server"))
    kinds += [
        (3 * SHARED + endpoint.listing, f"{surface.discovery_tool}, a third of them as {name}")
        for name in endpoint.agents
    ]
    if endpoint.call and endpoint.calls:
        number = len(endpoint.call)
        kinds.append((2 * number, f"{surface.discovery_tool} before and after each call of --call"))
        kinds.append((number, f"{surface.calls[0].tool}, only of tools listed as locked"))
    called = [surface.discovery_tool]
    called += [surface.listing.tool] if endpoint.listing else []
    called += [surface.inspect.tool] if endpoint.listing and surface.inspect is not None else []
    called += [surface.calls[0].tool] if endpoint.call and endpoint.calls else []
    only = f"; of its tools, only {', '.join(called)} {'are' if called[1:] else 'is'} called"
    most = f"at most {endpoint.max_requests} requests, {endpoint.rate:g} a second"
    once = sum(number for number, _ in kinds)
    again = f"these are {once} requests; others only confirm a failure before it is reported"
    return [
        f"{endpoint.place}: {most}, in {endpoint.within_s:g} s{only}",
        *(f"  up to {number:3} {what}" for number, what in kinds),
        f"  {again}",
    ]
