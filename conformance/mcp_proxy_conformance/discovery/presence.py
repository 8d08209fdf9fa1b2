"""Whether a target has the feature at all: looked at once, before any check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.catalogue.world import Server, Tool, World
from mcp_proxy_conformance.discovery.answer import Answer
from mcp_proxy_conformance.discovery.requests import ABSENT, discover
from mcp_proxy_conformance.targets.started import Started, poll
from mcp_proxy_conformance.verdict.result import Result

SHOWN, LONGEST_NAME = 8, 200
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
    """Why nothing can be checked; `violated`: whether that is a breach, of that clause."""

    why: str
    violated: bool
    clause: str = "FR-014.described"


def missing(started: Started) -> Missing | None:
    """Why a target started on `WORLD` has no such feature; None when it has it.

    It has when the discovery tool names the flag, or when the flag brings up anything locked. One
    that is not asked without the flag cannot be set up: that no tool is callable shows nothing.
    """
    surface = started.target.surface
    tools = started.client(endpoint=surface.endpoints[0]).tools()
    found = next((one for one in tools if one.get("name") == surface.discovery_tool), None)
    if found is None:
        return Missing(no_tool(surface.discovery_tool, tools), violated=False)
    if requires_flag(found) and (refused := _plain_refusal(started)):
        told = f"{surface.discovery_tool} requires {FLAG}, and refuses a call without it"
        why = f"FR-001.declared: {told}: {cut(refused, LONGEST_NAME)}"
        return Missing(why, violated=True, clause="FR-001.declared")
    if names_flag(found):
        return None
    poll(lambda: _asked(started, OPEN).tools, bool, started.target.ready_s)
    flagged = poll(lambda: _asked(started, LOCKED, True), _has_section, started.target.settle_s)
    if _has_section(flagged):
        return None
    why = f"{no_mention(surface.discovery_tool)}, and it brings up nothing that is locked"
    return Missing(why, violated=True)


def no_tool(name: str, tools: Sequence[dict[str, Any]]) -> str:
    """The sentence for an endpoint without a discovery tool; the first tools are named."""
    shown = [cut(str(one.get("name")), LONGEST_NAME) for one in tools[:SHOWN]]
    more = [f"and {len(tools) - SHOWN} more"] if len(tools) > SHOWN else []
    told = ", ".join([*shown, *more]) or "none"
    return f"no discovery tool named {name!r} on this endpoint (tools: {told})"


def no_mention(name: str) -> str:
    """The sentence for a discovery tool that does not tell of the flag."""
    return f"FR-014.described: {name} names {FLAG} neither in its description nor in its schema"


def names_flag(tool: dict[str, Any]) -> bool:
    """Whether a tool's description or its schema's properties name the flag."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    named = isinstance(properties, dict) and FLAG in properties
    return named or FLAG in str(tool.get("description", ""))


def requires_flag(tool: dict[str, Any]) -> bool:
    """Whether the schema of a tool asks for the flag in each call."""
    schema = tool.get("inputSchema")
    required = schema.get("required") if isinstance(schema, dict) else None
    return isinstance(required, list) and FLAG in required


def _plain_refusal(started: Started) -> str:
    """What a call without the flag is refused with, as long as it is; empty if it is not."""
    plain = poll(
        lambda: _asked(started, OPEN).error, lambda error: not error, started.target.ready_s
    )
    return plain or ""


def cut(text: str, longest: int) -> str:
    """The text, at most so many characters of it."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _asked(started: Started, query: str, flag: Any = ABSENT) -> Answer:
    first = started.target.surface.endpoints[0]
    return discover(started, query, include_disabled=flag, endpoint=first)


def _has_section(answer: Answer) -> bool:
    return bool(answer.disabled)


def breach(
    why: str, stage: str, messages: tuple[str, ...] = (), clause: str = "FR-014.described"
) -> Result:
    """What is found without any check: a flag that is named nowhere, or that each call needs."""
    return Result(
        check="presence",
        case=None,
        clauses=(clause,),
        judgement="F",
        verdict="fail",
        reason=why,
        blame="target",
        stage=stage,
        messages=messages,
    )
