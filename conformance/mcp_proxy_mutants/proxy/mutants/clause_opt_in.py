"""Faults of the opt-in: what the flag takes, reveals and says of itself, clause by clause."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status, Surface, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Outcome
from mcp_proxy_reference.policy import (
    FLAG_SCHEMA,
    ArgumentError,
    classify,
    flag,
    may_call,
    scope,
    window,
    withheld_status,
)
from mcp_proxy_reference.search import terms

Windows = tuple[Sequence[Match], Sequence[Match]]


def _flag_beside_limit(arguments: Mapping[str, Any]) -> bool:
    wanted = flag(arguments)
    if wanted and "limit" not in arguments:
        raise ArgumentError("include_disabled needs a limit.")
    return wanted


def _refused_to_agents(document: Json, request: Request) -> Json:
    if request.flag and request.agent.servers is not None:
        raise ArgumentError("Only the administrator may ask for locked tools.")
    return document


def _wrapped(document: Json, request: Request) -> Json:
    return {"result": document} if request.flag and "disabled" in document else document


def _nothing_locked(document: Json, request: Request) -> Json:
    if request.flag and "disabled" not in document:
        raise ArgumentError("No locked tool matches.")
    return document


def _changed_or_else_new(gateway: Gateway) -> None:
    def status(facts: Facts) -> Status | None:
        listed = gateway.known()[facts.tool.server]
        changed = any(one.approval == "changed" for one in listed)
        return None if changed and facts.approval == "pending" else withheld_status(facts)

    decide(gateway, withheld_status=status)


def _only_allowed_loaded(gateway: Gateway) -> None:
    real = gateway.tools

    def tools(server: str) -> Mapping[str, Tool]:
        entry = gateway.config.servers.get(server)
        allowed = entry.enabled_tools if entry else None
        found = real(server)
        return found if allowed is None else {one: found[one] for one in found if one in allowed}

    gateway.tools = tools  # type: ignore[method-assign]


def _hiding(gateway: Gateway, hidden: Callable[[Facts], bool]) -> None:
    """Leave locked tools out of every search, while calls are refused as before."""

    def without(found: Sequence[Match], limit: int) -> Windows:
        callables, rest = window(found, limit)
        return callables, [hit for hit in rest if not hidden(hit.facts)]

    decide(gateway, window=without)


def _long_deny_list_hidden(gateway: Gateway) -> None:
    def hidden(facts: Facts) -> bool:
        server = gateway.config.servers[facts.tool.server]
        return facts.denied and len(server.disabled_tools) > 1

    _hiding(gateway, hidden)


def _refresh_forgets(gateway: Gateway) -> None:
    forgotten: set[str] = set()
    real = gateway.refresh

    async def refresh(name: str) -> Outcome:
        outcome = await real(name)
        locked = [one for one in gateway.known()[name] if one.disabled_by_user]
        forgotten.update(one.tool.key for one in locked)
        return outcome

    gateway.refresh = refresh  # type: ignore[method-assign]
    _hiding(gateway, lambda facts: facts.disabled_by_user and facts.tool.key in forgotten)


def _restart_forgets(gateway: Gateway) -> None:
    before = {key for key, record in gateway.store.records().items() if record.disabled}

    def hidden(facts: Facts) -> bool:
        return facts.disabled_by_user and (facts.tool.server, facts.tool.name) in before

    _hiding(gateway, hidden)


def _administrators_pass(agent: Agent, server: str, surface: Surface) -> bool:
    if surface == "quarantine" and agent.servers is not None:
        return False
    return scope(agent, server, surface)


def _changed_told_once() -> Callable[[Facts], Status | None]:
    told: dict[str, int] = {}

    def status(facts: Facts) -> Status | None:
        key = facts.tool.key
        if facts.approval == "changed":
            told[key] = told.get(key, 0) + 1
        return None if told.get(key, 0) > 1 else withheld_status(facts)

    return status


def _quarantine_drops_tools(gateway: Gateway) -> None:
    real = gateway.tools

    def tools(server: str) -> Mapping[str, Tool]:
        entry = gateway.config.servers.get(server)
        return {} if entry and entry.quarantined else real(server)

    gateway.tools = tools  # type: ignore[method-assign]


def _trusted_left_out(gateway: Gateway) -> None:
    def status(facts: Facts) -> Status | None:
        server: Server = gateway.config.servers[facts.tool.server]
        return None if gateway.config.trusts(server) else withheld_status(facts)

    decide(gateway, withheld_status=status)


def _named_only(statuses: set[str]) -> Callable[[Json, Request], Json]:
    """Keep entries of these statuses only where the query has a word of their name."""

    def answer(document: Json, request: Request) -> Json:
        wanted = set(terms(request.query))
        kept = [
            entry
            for entry in document.get("disabled", [])
            if entry["status"] not in statuses or wanted & set(terms(entry["name"]))
        ]
        shown = {entry["status"] for entry in kept}
        rest = {one: document[one] for one in document if one not in {"disabled", "remediation"}}
        if not kept:
            return rest
        texts = {one: text for one, text in document["remediation"].items() if one in shown}
        return rest | {"disabled": kept, "remediation": texts}

    return answer


def _sticky() -> Callable[[Mapping[str, Any]], bool]:
    last = False

    def sticky(arguments: Mapping[str, Any]) -> bool:
        nonlocal last
        if "include_disabled" in arguments:
            last = flag(arguments)
        return last

    return sticky


MUTANTS: tuple[Mutant, ...] = (
    mutant("flag-needs-a-limit", "The flag is refused unless a limit comes with it.",
           "FR-001.accepts", flag=_flag_beside_limit),
    mutant("flag-refused-to-agents", "Only the administrator may use the flag.",
           "FR-001.accepts", answer=_refused_to_agents),
    mutant("flag-without-locks-fails", "The flag is an error where no locked tool matches.",
           "FR-001.accepts", answer=_nothing_locked),
    mutant("locked-answers-wrapped", "An answer that lists locked tools is wrapped once more.",
           "FR-001.accepts", answer=_wrapped),
    mutant("allow-list-loads-what-it-names", "Tools missing from an allow list are never loaded.",
           "FR-001.reveals-config", swap=_only_allowed_loaded),
    mutant("long-deny-list-hides", "A deny list of more than one name hides its tools.",
           "FR-001.reveals-config", swap=_long_deny_list_hidden),
    mutant("refresh-forgets-user-locked", "After a refresh user-locked tools are not found.",
           "FR-001.reveals-user", swap=_refresh_forgets),
    mutant("restart-forgets-user-locked", "After a restart user-locked tools are not found.",
           "FR-001.reveals-user", swap=_restart_forgets),
    mutant("pass-skips-new-tools", "The pass over unapproved tools knows changed ones only.",
           "FR-001.reveals-pending",
           withheld_status=lambda facts: None if facts.approval == "pending"
           else withheld_status(facts)),
    mutant("pass-takes-changed-or-new", "A server's new tools hide behind one that has changed.",
           "FR-001.reveals-pending", swap=_changed_or_else_new),
    mutant("pass-for-the-administrator-only", "Agents are shown no unapproved or quarantined tool.",
           "FR-001.reveals-pending", "FR-001.reveals-changed", scope=_administrators_pass),
    mutant("pass-skips-changed-tools", "The pass over unapproved tools knows new ones only.",
           "FR-001.reveals-changed",
           withheld_status=lambda facts: None if facts.approval == "changed"
           else withheld_status(facts)),
    mutant("changed-tool-told-once", "A changed tool is revealed by one answer and then no more.",
           "FR-001.reveals-changed", withheld_status=Fresh(_changed_told_once)),
    mutant("quarantine-drops-the-tools", "A server in quarantine loses the tools it had.",
           "FR-001.reveals-quarantined", swap=_quarantine_drops_tools),
    mutant("pass-skips-trusted-servers",
           "Quarantine of a trusted server reveals none of its tools.",
           "FR-001.reveals-quarantined", swap=_trusted_left_out),
    mutant("server-off-still-offered", "Search still offers the tools of a switched-off server.",
           "FR-001.server-off",
           may_call=lambda facts, surface: may_call(
               replace(facts, enabled=True) if surface == "discovery" else facts, surface)),
    mutant("server-off-is-unknown", "Tools of a switched-off server count as undetermined.",
           "FR-001.server-off", "FR-004.precedence",
           classify=lambda facts: classify(facts) if facts.enabled else "disabled_unknown"),
    mutant("locked-found-by-name", "Locked tools are found by words of their names only.",
           "FR-001.by-description",
           answer=_named_only({"disabled_by_config", "disabled_by_user"})),
    mutant("user-locked-found-by-name", "User-locked tools are found by words of their names only.",
           "FR-001.by-description", answer=_named_only({"disabled_by_user"})),
    mutant("flag-sticks", "A request without the flag takes the value of the one before.",
           "FR-001.default-off", "FR-002.absent-is-false", flag=Fresh(_sticky)),
    mutant("flag-by-presence", "The flag counts as true once it is given at all.",
           "FR-001.default-off", "FR-002.absent-is-false",
           flag=lambda arguments: flag(arguments) or "include_disabled" in arguments),
    mutant("limit-one-opts-in", "A request for one result reveals locked tools unasked.",
           "FR-001.default-off", "FR-002.no-section",
           flag=lambda arguments: flag(arguments)
           or (arguments.get("limit") == 1 and "include_disabled" not in arguments)),
    mutant("flag-declared-as-constant", "The input schema takes the flag as true only.",
           "FR-001.declared", flag_schema={"type": "boolean", "const": True}),
    mutant("flag-declared-on", "The input schema says that the flag is on by default.",
           "FR-001.declared", flag_schema={**FLAG_SCHEMA, "default": True}),
    mutant("flag-undescribed-at-calls",
           "One of two endpoints describes discovery without the flag.",
           "FR-014.described",
           description=lambda endpoint: "" if endpoint == "/mcp/call"
           else "Set include_disabled to true to also list locked tools."),
    mutant("flag-described-in-camel-case", "The description spells the flag includeDisabled.",
           "FR-014.described",
           description=lambda _: "Set includeDisabled to true to also list locked tools."),
)  # fmt: skip
