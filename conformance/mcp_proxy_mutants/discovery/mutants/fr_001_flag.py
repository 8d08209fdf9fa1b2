"""Mutants of the flag `include_disabled`: its schema, its reading, its default, its lifetime."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import FLAG, Windows, crowded, flagged, left_out
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Match
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.protocol import META, PARAMS, RpcError


def _denials_unseen_after_restart(gateway: Gateway) -> None:
    """After a restart, discovery decides as if no tool were denied until the config changes.

    A restart is a start with stored records; calls are still refused.
    """
    restarted = bool(gateway.store.records())
    first = gateway.config.servers

    def discovered(facts: Facts, surface: str) -> bool:
        stale = restarted and gateway.config.servers == first and surface == "discovery"
        return std.may_call(replace(facts, denied=False) if stale else facts, surface)

    decide(gateway, may_call=discovered)


def _flag_beside_limit(arguments: Mapping[str, Any]) -> bool:
    """Return the flag; raise ArgumentError if it is true and the request has no limit."""
    wanted = std.flag(arguments)
    if wanted and "limit" not in arguments:
        raise std.ArgumentError("include_disabled needs a limit.")
    return wanted


def _refused_to_agents(document: Json, request: Request) -> Json:
    """Return the answer; raise ArgumentError if an agent of limited scope sets the flag."""
    if request.flag and request.agent.servers is not None:
        raise std.ArgumentError("Only the administrator may ask for locked tools.")
    return document


def _nothing_locked(document: Json, request: Request) -> Json:
    """Return the answer; raise ArgumentError for a flagged request that finds no locked tool."""
    if request.flag and "disabled" not in document:
        raise std.ArgumentError("No locked tool matches.")
    return document


def _sticky() -> Callable[[Mapping[str, Any]], bool]:
    """Return a `flag` decision: a request without the flag gets the value that was last sent."""
    last = False

    def sticky(arguments: Mapping[str, Any]) -> bool:
        nonlocal last
        if "include_disabled" in arguments:
            last = std.flag(arguments)
        return last

    return sticky


def _next_too() -> Callable[[Mapping[str, Any]], bool]:
    """Return a `flag` decision that takes the previous request's flag while another is served."""
    last = [False]

    def flag(arguments: Mapping[str, Any]) -> bool:
        before, last[0] = last[0], std.flag(arguments)
        return before if crowded() else last[0]

    return flag


def _locked_among_tools(gateway: Gateway) -> None:
    """Without the flag, list locked hits among the callable ones; with it, leave their places."""

    def window(hits: Sequence[Match], limit: int) -> Windows:
        return hits[:limit], [hit for hit in hits if not hit.may_call]

    decide(
        gateway,
        window=window,
        answer=flagged(
            lambda document, _: (
                document
                | {
                    "tools": [
                        entry
                        for entry in document["tools"]
                        if entry["name"]
                        not in {entry["name"] for entry in document.get("disabled", [])}
                    ]
                }
            )
        ),
    )


def _schema(**change: Any) -> dict[str, Any]:
    """Return the flag's published input schema with these members replaced."""
    return {**std.FLAG_SCHEMA, **change}


def _dropped_in_time(gateway: Gateway) -> None:
    """Hide config- and user-locked tools from discovery once the proxy has run for 20 seconds."""
    start = time.monotonic()
    left_out(
        lambda facts: (facts.denied or facts.disabled_by_user) and time.monotonic() > start + 20
    )(gateway)


def _stateless(message: Json) -> bool:
    """Whether the request is of the stateless revision: its `_meta` names the revision."""
    return f"{META}protocolVersion" in (message.get("params") or {}).get("_meta", {})


async def _required_of_stateless(
    _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
) -> Json:
    """Return the reply; tools/list of the stateless revision makes the flag a required argument.

    It is one of `retrieve_tools`, beside `query`; other replies are unchanged.
    """
    reply = await respond()
    if message["method"] == "tools/list" and _stateless(message):
        for tool in reply["result"]["tools"]:
            if tool["name"] == "retrieve_tools":
                tool["inputSchema"]["required"] = ["query", FLAG]
    return reply


async def _missed_by_stateless(
    _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
) -> Json:
    """Raise RpcError for a search of the stateless revision without the flag; else reply as usual.

    A search is a call of `retrieve_tools`.
    """
    params = message.get("params") or {}
    searches = message["method"] == "tools/call" and params.get("name") == "retrieve_tools"
    if searches and _stateless(message) and FLAG not in (params.get("arguments") or {}):
        raise RpcError(PARAMS, f"{FLAG} is missing.")
    return await respond()


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "flag-required-of-stateless-clients",
        "In the stateless revision, the input schema requires the flag.",
        "FR-001.declared",
        reply=_required_of_stateless,
    ),
    mutant(
        "flag-missed-by-stateless-calls",
        "In the stateless revision, a search without the flag is refused.",
        "FR-001.declared",
        reply=_missed_by_stateless,
    ),
    mutant(
        "flag-needs-a-limit",
        "The flag is refused unless a limit comes with it.",
        "FR-001.accepts",
        flag=_flag_beside_limit,
    ),
    mutant(
        "flag-refused-to-agents",
        "Only the administrator may use the flag.",
        "FR-001.accepts",
        answer=_refused_to_agents,
    ),
    mutant(
        "flag-without-locks-fails",
        "A request with the flag fails when no locked tool matches.",
        "FR-001.accepts",
        answer=_nothing_locked,
    ),
    mutant(
        "locked-answers-wrapped",
        "An answer with locked tools is wrapped in another object.",
        "FR-001.accepts",
        answer=lambda document, request: (
            {"result": document} if request.flag and "disabled" in document else document
        ),
    ),
    mutant(
        "flag-declared-as-constant",
        "The input schema allows only true for the flag.",
        "FR-001.declared",
        flag_schema={"type": "boolean", "const": True},
    ),
    mutant(
        "flag-declared-on",
        "The input schema says that the flag is on by default.",
        "FR-001.declared",
        flag_schema={**std.FLAG_SCHEMA, "default": True},
    ),
    mutant(
        "schema-on",
        "The published default of the flag is true.",
        "FR-001.declared",
        flag_schema=_schema(default=True),
    ),
    mutant(
        "schema-text",
        "The published type of the flag is text.",
        "FR-001.declared",
        flag_schema={"type": "string", "enum": ["true", "false"]},
    ),
    mutant(
        "false-not-allowed",
        "The published schema does not allow false for the flag.",
        "FR-001.declared",
        flag_schema=_schema(const=True),
    ),
    mutant(
        "restart-offers-denied-tools",
        "After a restart, search lists denied tools as callable again.",
        "FR-001.default-off",
        swap=_denials_unseen_after_restart,
    ),
    mutant(
        "flag-sticks",
        "A request without the flag takes the flag of the previous request.",
        "FR-001.default-off",
        "FR-002.absent-is-false",
        flag=Fresh(_sticky),
    ),
    mutant(
        "flag-by-presence",
        "The flag counts as true whenever it is present, even as false.",
        "FR-001.default-off",
        "FR-002.absent-is-false",
        flag=lambda arguments: std.flag(arguments) or "include_disabled" in arguments,
    ),
    mutant(
        "limit-one-opts-in",
        "A request with limit 1 reveals locked tools without the flag.",
        "FR-001.default-off",
        "FR-002.no-section",
        flag=lambda arguments: (
            std.flag(arguments)
            or (arguments.get("limit") == 1 and "include_disabled" not in arguments)
        ),
    ),
    mutant(
        "flag-on",
        "The flag is on unless it is false.",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        "FR-002.absent-is-false",
        flag=lambda arguments: std.flag({FLAG: True, **arguments}),
    ),
    mutant(
        "flag-crowded",
        "While another request is served, the previous request's flag is used.",
        "FR-001.default-off",
        flag=Fresh(_next_too),
    ),
    mutant(
        "default-locked-among-tools",
        "Without the flag, locked hits are listed like callable ones.",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        "FR-004.follows-state",
        swap=_locked_among_tools,
    ),
    mutant(
        "dropped-in-time",
        "Locked tools are removed from the index after twenty seconds.",
        "FR-001.endures",
        swap=_dropped_in_time,
    ),
)
