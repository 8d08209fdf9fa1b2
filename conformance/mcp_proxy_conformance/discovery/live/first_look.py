"""First look at an endpoint: whether it speaks MCP, has the discovery tool, knows the flag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from mcp_proxy_conformance.catalogue.surface import Surface
from mcp_proxy_conformance.discovery.live.budget import OverBudget
from mcp_proxy_conformance.discovery.live.talk import BUSY, WIDEST, Talk
from mcp_proxy_conformance.discovery.presence import no_mention
from mcp_proxy_conformance.discovery.surface_names import (
    LONGEST_NAME,
    cut,
    discovery_tools,
    names_flag,
    no_tool,
    properties_of,
    required_arguments,
    text_arguments,
)
from mcp_proxy_conformance.verdict.outcome import DECLARATION, INCOMPLETE, Outcome, broke
from mcp_proxy_conformance.wire.client import FORBIDDEN
from mcp_proxy_conformance.wire.connection import within_origin
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable
from mcp_proxy_conformance.wire.session import TIMEOUT, opens_old_stream

NO_POST = (400, 404, 405)
NO_PATH = (404, 405)


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """All tools that an endpoint offers, the discovery tool among them, and its query argument.

    `unnamed`: the message about a tool that names the flag nowhere. It may not be the tool that the
    user meant, and is called only if the user gives queries or expected locks.
    """

    tools: list[dict[str, Any]]
    tool: dict[str, Any]
    query: str
    unnamed: str = ""


def first_look(talk: Talk) -> Offered | Outcome:
    """List the endpoint's tools; return them, or the Outcome of a run that can check nothing.

    That is incomplete if the budget is used up or the discovery tool missing, else broken or a
    wrong declaration. `talk.widest` is set to the largest limit that the tool takes.
    """
    name, place = talk.endpoint.surface.discovery_tool, talk.endpoint.place
    try:
        tools = talk.tools()
    except OverBudget as over:
        return Outcome("incomplete", INCOMPLETE, str(over))
    except Unreachable as error:
        option = "--stdio" if talk.endpoint.stdio else "--url"
        return _broken(f"the endpoint does not answer: {error}; start it, or correct {option}")
    except ProtocolFault as error:
        if talk.conversation.opening is not None and error.status not in FORBIDDEN:
            return _broken(
                f"{place} completed the handshake, but its tools cannot be listed: {error}"
            )
        if talk.endpoint.wire == "sse" and error.kind in ("http", "stream"):
            return _broken(_no_stream(place, error))
        return _broken(_no_handshake(place, error, lambda: _is_old(talk)))
    tool = next((entry for entry in tools if entry.get("name") == name), None)
    if tool is None:
        return Outcome("incomplete", INCOMPLETE, _no_discovery_tool(name, tools))
    query = _query(tool, talk.endpoint.surface.query)
    if isinstance(query, Outcome):
        return query
    talk.widest = _widest(tool, talk.endpoint.surface.limit)
    unnamed = "" if names_flag(tool) else no_mention(name)
    return Offered(tools=tools, tool=tool, query=query, unnamed=unnamed)


def _no_discovery_tool(name: str, tools: list[dict[str, Any]]) -> str:
    """Return the message for an endpoint without the tool `name`; it proposes likely ones."""
    likely = [cut(each, LONGEST_NAME) for each in discovery_tools(name, tools)]
    if likely:
        repair = f"if {likely[0]!r} finds tools, give --tool {likely[0]}"
        repair += f"; others that may: {', '.join(likely[1:])}" if likely[1:] else ""
    else:
        repair = "give the tool that finds tools by a text with --tool; a server that has none"
        repair += " is not what this profile judges"
    return f"{no_tool('discovery tool', name, tools)}; {repair}"


def _query(tool: dict[str, Any], declared: str) -> str | Outcome:
    """Return the argument that takes the query: `declared`, or the only (required) text argument.

    A schema without arguments does not contradict `declared`. Several texts, or a name of the
    user's that the schema lacks, return an Outcome: an error in the declaration.
    """
    properties = properties_of(tool)
    if not properties or declared in properties:
        return declared
    texts = text_arguments(tool)
    needed = [text for text in texts if text in required_arguments(tool)]
    for choice in (texts, needed) if declared == Surface().query else ():
        if len(choice) == 1:
            return choice[0]
    others = ", ".join(repr(cut(text, LONGEST_NAME)) for text in texts) or "none"
    return Outcome(
        "error in the declaration",
        DECLARATION,
        f"{tool.get('name')} has no argument {declared!r} (arguments for a text: {others}); name"
        " the one that takes the query with --query-argument",
    )


def _widest(tool: dict[str, Any], limit: str) -> int | None:
    """Return the largest value that the tool's schema allows its argument `limit`, at most 100.

    None if it has no such argument.
    """
    properties = properties_of(tool)
    if limit not in properties:
        return None
    maximum = properties[limit].get("maximum") if isinstance(properties[limit], dict) else None
    return min(WIDEST, maximum) if isinstance(maximum, int) and maximum > 0 else WIDEST


def _broken(why: str) -> Outcome:
    """Return the outcome of a run that ends because the endpoint cannot be used."""
    return broke(why)


def _is_old(talk: Talk) -> bool:
    """Whether the endpoint opens the stream of the older HTTP+SSE transport.

    False over stdio, or if time or requests do not suffice to try it.
    """
    endpoint = talk.endpoint
    if endpoint.stdio or talk.budget.seconds_left < TIMEOUT:
        return False
    try:
        return opens_old_stream(endpoint.url, endpoint.headers, talk.transcript, endpoint.dialing)
    except OverBudget:
        return False


def _no_stream(url: str, fault: ProtocolFault) -> str:
    """Return a sentence on an event stream that cannot be opened, with the repair."""
    if fault.status in (*FORBIDDEN, *BUSY):
        return _no_handshake(url, fault, lambda: False)
    return (
        f"{url} does not serve HTTP+SSE: {fault}; "
        "give the URL of its event stream, or leave --wire sse out"
    )


def _no_handshake(url: str, fault: ProtocolFault, opens_old: Callable[[], bool]) -> str:
    """Return a sentence on a failed handshake, by its status or fault, with the repair.

    `opens_old` is called, to try the old transport, only if a POST is not taken.
    """
    status = fault.status
    if status in FORBIDDEN:
        return (
            f"{url} rejects this client (HTTP {status}); "
            "give valid credentials with --header 'NAME: VALUE'"
        )
    if status in BUSY:
        when = f", Retry-After: {fault.retry_after}" if fault.retry_after else ""
        return f"{url} is busy (HTTP {status}{when}); try again later"
    if fault.location is not None:
        place = cut(_joined(url, fault.location), LONGEST_NAME)
        followed = within_origin(url, status or 0, fault.location) is not None
        why = "and then further" if followed else "which is not followed"
        return f"{url} redirects to {place} (HTTP {status}), {why}; give the URL that it leads to"
    if status in NO_POST and opens_old():
        return (
            f"{url} speaks the HTTP+SSE transport of 2024-11-05; "
            "give --wire sse, or the URL of its streamable HTTP endpoint"
        )
    if status in NO_PATH and fault.kind == "http":
        return (
            f"no MCP endpoint at {url} (HTTP {status} to a POST); "
            "give the URL, path included, of its streamable HTTP endpoint"
        )
    if fault.kind == "handshake":
        return f"{url} refuses the handshake: {fault}"
    return f"the server at {url} does not speak MCP: {fault}"


def _joined(url: str, place: str) -> str:
    """Return the URL of a redirect's place, resolved against `url`; an invalid one unchanged."""
    try:
        return urljoin(url, place)
    except ValueError:
        return place
