"""Policy: every decision of locked-tool discovery, as functions in one frozen value.

A deviating or a differently worded proxy is `dataclasses.replace(Policy(), member=…)`.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Purpose, Status
from mcp_proxy_reference.search import terms

POINTER = (
    "Call retrieve_tools with include_disabled=true to see locked tools and why they are locked."
)
REMEDIATION: Mapping[Status, str] = {
    "server_disabled": "The server is turned off: the server has to be enabled first.",
    "disabled_by_config": (
        "Locked by operator policy: the user cannot override this. "
        "Only the operator can lift it, by editing the proxy's configuration file."
    ),
    "disabled_by_user": "Turned off by the user: ask the user to re-enable it in the UI.",
    "pending_approval": "Not approved yet: ask the user to review and approve it in the UI.",
    "disabled_unknown": "The reason could not be determined: check the server logs.",
    "server_quarantined": (
        "The server is in quarantine: ask the user to review the server in the UI "
        "and to release it from quarantine."
    ),
}
FLAG_SCHEMA: Mapping[str, Any] = {
    "type": "boolean",
    "default": False,
    "description": "Also list matching tools that exist but cannot be called, each with why.",
}
LOCKED_CAP = 10
EXACT = math.inf
MAX_LIMIT = 100


class ArgumentError(ValueError):
    """An argument of a built-in tool is unusable; the message is a sentence for the caller."""


def may_call(facts: Facts, _surface: str) -> bool:
    """Whether no lock applies to the tool: the one decision behind calls, discovery and counts.

    The surface does not matter: "discovery", "listing", or the name of a built-in call tool.
    """
    return (
        facts.enabled
        and not facts.quarantined
        and not facts.denied
        and facts.approval == "approved"
        and not facts.disabled_by_user
    )


def classify(facts: Facts) -> Status:
    """Return the single reason why a tool is not callable; the first match wins.

    In this order: server off, config, quarantine, user, approval; else the reason is unknown.
    """
    if not facts.enabled:
        return "server_disabled"
    if facts.denied:
        return "disabled_by_config"
    if facts.quarantined:
        return "server_quarantined"
    if facts.disabled_by_user:
        return "disabled_by_user"
    if facts.approval in {"pending", "changed"}:
        return "pending_approval"
    return "disabled_unknown"


def indexed(facts: Facts) -> bool:
    """Whether the tool's text may be searched: it is approved and not in quarantine."""
    return not facts.quarantined and facts.approval == "approved"


def withheld_status(facts: Facts) -> Status | None:
    """Return the status to list for a tool outside the search index; None: not listed.

    None if its server is off or the config denies it, since approval would not make it callable.
    """
    if not facts.enabled or facts.denied:
        return None  # neither approval nor release would make it callable
    if facts.quarantined:
        return "server_quarantined"
    return "disabled_unknown" if facts.approval is None else "pending_approval"


def matches(query: str, facts: Facts) -> float:
    """Return how well the name of a tool outside the index matches; 0 for not at all.

    Infinite for the exact name or address, else the number of words that query and name share.
    """
    name = facts.tool.name
    if query.strip().casefold() in {name.casefold(), facts.tool.key.casefold()}:
        return EXACT
    return len(set(terms(query)) & set(terms(name)))


def window(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    """Return the callable hits up to the limit, and all locked hits."""
    callables = [hit for hit in hits if hit.may_call]
    return callables[:limit], [hit for hit in hits if not hit.may_call]


def cap(limit: int) -> int:
    """Return the most locked entries of one answer: the limit, at most ten."""
    return min(limit, LOCKED_CAP)


def callable_entry(hit: Match) -> Json:
    """Return a callable tool's entry in a discovery answer, with how to call it and its score."""
    tool = hit.facts.tool
    return {
        "call_with": f"call_tool_{permission(tool.annotations)}",
        "description": tool.description,
        "inputSchema": tool.schema,
        "name": tool.key,
        "score": hit.score,
        "server": tool.server,
    }


def locked_entry(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return a locked tool's entry in a discovery answer; a withheld one has no description."""
    tool = facts.tool
    entry: Json = {"name": tool.key, "server": tool.server}
    if not withheld:
        entry["description"] = tool.description
    return entry | {"status": status}


def permission(annotations: Mapping[str, Any]) -> Literal["read", "write", "destructive"]:
    """Return the kind of call that the annotations require; `read` by default.

    `write` only if they deny `readOnlyHint`.
    """
    if annotations.get("destructiveHint") is True:
        return "destructive"
    return "write" if annotations.get("readOnlyHint") is False else "read"


def remediation_map(
    shown: Sequence[Status], _matched: Sequence[Status], texts: Mapping[Status, str]
) -> Json:
    """Return the text of each status among the shown entries, sorted by status.

    `_matched`, the statuses of entries cut by the limit too, is for replacements of this function.
    """
    return {status: texts[status] for status in sorted(set(shown))}


def sections(entries: Sequence[Json], remediation: Mapping[str, str]) -> Json:
    """Return the members that the flag adds to an answer; none without a locked entry."""
    return {"disabled": list(entries), "remediation": dict(remediation)} if entries else {}


def note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the one-line hint at locked matches, with their number and the flag's name.

    None with the flag, a callable tool, or no locked match.
    """
    if flag or callables or not locked:
        return None
    count = len(locked)
    subject = "1 matching tool exists" if count == 1 else f"{count} matching tools exist"
    return f"{subject} but cannot be called; search again with include_disabled=true to see why."


def counts(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
    """Return a server's counts by status, with `callable` ones first; None if none is locked.

    `tools` are pairs of facts and status, None for a callable tool.
    """
    tally: Counter[str] = Counter(status for _, status in tools if status is not None)
    if not tally:
        return None
    return {"callable": len(tools) - tally.total(), **tally}


def scope(agent: Agent, server: str, _purpose: Purpose) -> bool:
    """Whether the server is in the agent's scope, for any purpose.

    Without a scope, the agent may know every server.
    """
    return agent.servers is None or server in agent.servers


def rejection(facts: Facts, texts: Mapping[Status, str]) -> str:
    """Return the text that refuses a call: the tool, its status's remediation, and POINTER."""
    return f"The tool {facts.tool.key} was not called. {texts[classify(facts)]} {POINTER}"


def unknown(name: str) -> str:
    """Return the text that answers a call of a tool that is unknown to this agent."""
    return f"There is no tool {name}. Call retrieve_tools to find the tools that exist."


def flag(arguments: Mapping[str, Any]) -> bool:
    """Return the opt-in flag of a discovery request, false by default.

    ArgumentError unless it is boolean or null.
    """
    value = arguments.get("include_disabled")
    if value is not None and not isinstance(value, bool):
        raise ArgumentError("include_disabled must be true or false.")
    return bool(value)


def limit(arguments: Mapping[str, Any], default: int) -> int:
    """Return the result limit of a discovery request as an integer within 1 and 100.

    `default` without one; ArgumentError for a limit that is not a number.
    """
    value = arguments.get("limit")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError("limit must be a number between 1 and 100.")
    return int(max(1, min(value, MAX_LIMIT)))


def description(_endpoint: str) -> str:
    """Return the discovery tool's sentence on the flag, the same at every endpoint."""
    return "Set include_disabled to true to also list matching tools that are locked, and why."


def opted_in(flagged: bool) -> int:
    """Return what a discovery request adds to the opt-in counter: 1 with the flag, 0 without."""
    return int(flagged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The decisions of a proxy as replaceable members; the defaults conform."""

    may_call: Callable[[Facts, str], bool] = may_call
    classify: Callable[[Facts], Status] = classify
    indexed: Callable[[Facts], bool] = indexed
    withheld_status: Callable[[Facts], Status | None] = withheld_status
    matches: Callable[[str, Facts], float] = matches
    window: Callable[[Sequence[Match], int], tuple[Sequence[Match], Sequence[Match]]] = window
    cap: Callable[[int], int] = cap
    callable_entry: Callable[[Match], Json] = callable_entry
    locked_entry: Callable[[Facts, Status, bool], Json] = locked_entry
    remediation: Mapping[Status, str] = field(default_factory=lambda: REMEDIATION)
    remediation_map: Callable[[Sequence[Status], Sequence[Status], Mapping[Status, str]], Json] = (
        remediation_map
    )
    sections: Callable[[Sequence[Json], Mapping[str, str]], Json] = sections
    note: Callable[[bool, int, Sequence[Facts]], str | None] = note
    counts: Callable[[Sequence[tuple[Facts, Status | None]]], Json | None] = counts
    scope: Callable[[Agent, str, Purpose], bool] = scope
    rejection: Callable[[Facts, Mapping[Status, str]], str] = rejection
    rejection_is_error: bool = True
    unknown: Callable[[str], str] = unknown
    flag: Callable[[Mapping[str, Any]], bool] = flag
    flag_schema: Mapping[str, Any] | None = field(default_factory=lambda: FLAG_SCHEMA)
    limit: Callable[[Mapping[str, Any], int], int] = limit
    description: Callable[[str], str] = description
    opted_in: Callable[[bool], int] = opted_in
