"""Probe of a target before any check: the names of its surface, the presence of the feature."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG, Surface
from mcp_proxy_conformance.catalogue.world import Server, Tool, ToolKey, World
from mcp_proxy_conformance.discovery.answer import Answer, read_body
from mcp_proxy_conformance.discovery.arming import SHOW_LIMIT
from mcp_proxy_conformance.discovery.offered import conversations
from mcp_proxy_conformance.discovery.requests import ABSENT, discover
from mcp_proxy_conformance.discovery.surface_names import (
    LONGEST_NAME,
    Sightings,
    cut,
    missing_argument,
    missing_tool,
    names_flag,
    required_arguments,
)
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets.waits import poll
from mcp_proxy_conformance.verdict.result import Misshapen, Result
from mcp_proxy_conformance.wire.conversation import Conversation
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

OPEN, LOCKED = "zorvik", "mobel"
WORLD = World(
    id="presence",
    servers=(
        Server(
            name="forge",
            tools=(
                Tool(name="zorvik_list", description="Zorvik list."),
                Tool(name="mobel_drop", description="Mobel drop."),
            ),
            deny=("mobel_drop",),
        ),
    ),
)
"""A callable tool, and one that the operator's configuration denies from the start."""


@dataclass(frozen=True, slots=True)
class Missing:
    """The reason why nothing can be checked; `violated`: whether that breaches `clause`.

    Otherwise the declaration and the target do not fit each other.
    """

    why: str
    violated: bool
    clause: str = "FR-014.described"


def missing(started: Started) -> Missing | None:
    """Return why a target started on `WORLD` cannot be checked; None when it can.

    Every name of its surface is looked for; one that came under another name is a wrong
    declaration. A breach is a target that neither documents the flag nor reveals a tool by it,
    or that requires the flag in each call.
    """
    surface = started.target.surface
    within = started.target.settle_s
    if absent := poll(partial(_missing_tool, started), lambda fault: not fault, within):
        return Missing(absent, violated=False)
    tools = started.client(endpoint=surface.endpoints[0]).tools()
    tool = next((entry for entry in tools if entry.get("name") == surface.discovery_tool), {})
    if absent := missing_argument(surface, tool):
        return Missing(absent, violated=False)
    if reason := _required(started):
        why = f"FR-001.declared: {surface.discovery_tool} {reason}"
        return Missing(why, violated=True, clause="FR-001.declared")
    if misnamed := _misnamed_member(started):
        return Missing(misnamed, violated=False)
    if names_flag(tool):
        return None
    poll(lambda: _ask(started, OPEN).tools, bool, started.target.ready_s)
    flagged = poll(lambda: _ask(started, LOCKED, True).disabled, bool, started.target.settle_s)
    if flagged:
        return None
    why = f"{no_mention(surface.discovery_tool)}, and the flag reveals no locked tool"
    return Missing(f"FR-014.described: {why}", violated=True)


def no_mention(name: str) -> str:
    """Return the message for a discovery tool `name` that does not name the flag."""
    return f"neither the description nor the schema of {name} names {FLAG}"


def _required(started: Started) -> str:
    """Return how and where a schema or a call requires the flag; "" if none does.

    Tried are all endpoints, the same in the stateless revision, and stdio; one that fails is left
    out.
    """
    name, wait = started.target.surface.discovery_tool, started.target.ready_s
    for place, opened in conversations(started).items():
        with suppress(ProtocolFault, Unreachable), opened() as client:
            tool = next((entry for entry in client.tools() if entry["name"] == name), {})
            if FLAG in required_arguments(tool):
                return f"requires {FLAG} in its inputSchema{f' at {place}' if place else ''}"
            if tool and (refused := needs_flag(client, started.target.surface, OPEN, wait)):
                return f"refuses a call without {FLAG}: {cut(refused, LONGEST_NAME)}"
            wait = 0.0  # it has answered
    return ""


def needs_flag(client: Conversation, surface: Surface, query: str, wait_s: float = 0.0) -> str:
    """Return the error of a call that is refused without the flag and answered with it; else "".

    The call is repeated up to `wait_s` seconds while it is refused.
    """

    def error(flags: dict[str, Any]) -> str:
        """Make one call with the further arguments `flags`; return its error, "" without one."""
        reply = client.call_tool(surface.discovery_tool, {surface.query: query, **flags})
        if reply.error is not None:
            return str(reply.error.get("message", reply.error))
        return "\n".join(reply.texts) or "an error" if reply.is_error else ""

    plain = poll(lambda: error({}), lambda text: not text, wait_s)
    return "" if plain and error({FLAG: True}) else plain


def _missing_tool(started: Started) -> str:
    """Return a sentence on a tool of the surface that its endpoint does not list; else ""."""
    surface = started.target.surface

    @cache  # a list may be long
    def tools(endpoint: str) -> list[dict[str, Any]] | None:
        """Return the tools of an endpoint, asked for once; None if a further endpoint fails."""
        try:
            return started.client(endpoint=endpoint).tools()
        except ProtocolFault:
            if endpoint == surface.endpoints[0]:
                raise
            return None  # the checks that look there say so

    return missing_tool(surface, tools)


def _misnamed_member(started: Started) -> str:
    """Return a sentence on a member that came under another name only; else "".

    It waits up to the ready time for the callable tool, up to the settle time for what the lock
    brings; an endpoint that does not answer is ignored.
    """
    sightings = Sightings(started.target.surface.members)
    locked = bool(started.world.servers[0].deny)
    with suppress(Unreachable):
        poll(partial(_look_at, sightings, started, OPEN), bool, started.target.ready_s)
        poll(partial(_look_at_lock, sightings, started), lambda over: over or not locked,
             started.target.settle_s)  # fmt: skip
    return sightings.misnamed()


def _look_at(sightings: Sightings, started: Started, query: str, flag: Any = ABSENT) -> bool:
    """Ask for `query` and record the members of the answer; return whether it lists callable tools.

    A tool counts whatever member it is under; an answer that cannot be read is empty.
    """
    surface = started.target.surface
    arguments = {surface.query: query} | ({} if flag is ABSENT else {FLAG: flag})
    body = _body(started, surface.discovery_tool, arguments, surface.endpoints[0])
    sightings.see_answer(body, flagged=flag is True)
    return bool(body.get(surface.members.tools)) or "tools" in sightings.instead


def _look_at_lock(sightings: Sightings, started: Started) -> bool:
    """Record the members of all answers that show a lock; return whether all came as declared.

    Answers are two of discovery, the listing, and the view of one server. The note counts only
    if no callable tool is listed.
    """
    surface, server = started.target.surface, started.world.servers[0].name
    wanted = {"disabled", "remediation", "note", "servers", "counts"}
    if _look_at(sightings, started, LOCKED):
        wanted.remove("note")
    _look_at(sightings, started, LOCKED, True)
    listing = surface.listing
    tool, arguments = listing.filled(ToolKey("", ""), {})
    sightings.see_listing(_body(started, tool, arguments, listing.endpoint), server)
    if surface.inspect is not None:
        tool, arguments = surface.inspect.filled(ToolKey(server, ""), {})
        sightings.see_view(_body(started, tool, arguments, surface.inspect.endpoint), server)
    return wanted <= sightings.declared


def _body(started: Started, tool: str, arguments: Any, endpoint: str) -> Mapping[str, Any]:
    """Return the JSON object that a built-in tool answers; {} if there is none."""
    with suppress(Misshapen, ProtocolFault):
        return read_body(started.client(endpoint=endpoint).call_tool(tool, arguments))
    return {}


def _ask(started: Started, query: str, flag: Any = ABSENT) -> Answer:
    """Send a discovery query to the first endpoint as the administrator; return the answer."""
    return discover(started, query, include_disabled=flag, limit=SHOW_LIMIT,
                    endpoint=started.target.surface.endpoints[0])  # fmt: skip


def breach(
    why: str, stage: str, messages: tuple[str, ...] = (), clause: str = "FR-014.described"
) -> Result:
    """Return the failed Result of the probe, whose reason is `why`."""
    return Result(
        check="presence",
        case=None,
        clauses=(clause,),
        level="required",
        verdict="fail",
        reason=why,
        blame="target",
        stage=stage,
        messages=messages,
    )
