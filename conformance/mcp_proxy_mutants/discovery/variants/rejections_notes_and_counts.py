"""Variants of rejections, notes and counts, where the specification leaves them open."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.pieces import is_call
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Agent, Facts, Json, Purpose, Status, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import classify, counts, may_call, note, rejection
from mcp_proxy_reference.tools import render

Texts = Mapping[Status, str]
Tallied = Sequence[tuple[Facts, Status | None]]


def quarantine_first(facts: Facts, texts: Texts) -> str:
    """Reject a tool of a quarantined server as quarantined, whatever else locks it.

    Others as usual.
    """
    if facts.quarantined:
        return "The server is in quarantine. Ask the user to approve it. See retrieve_tools."
    return rejection(facts, texts)


def server_first(facts: Facts, texts: Texts) -> str:
    """Reject a tool of a server that is off without naming the tool; others as usual."""
    if not facts.enabled:
        return "Ask the user to enable the server, which is turned off."
    return rejection(facts, texts)


def approval_first(facts: Facts, texts: Texts) -> str:
    """Reject an unapproved tool as such, even if config denies it; the text names no remedy.

    If its server is off or quarantined, it is rejected as usual, like any other tool.
    """
    waits = facts.enabled and not facts.quarantined and facts.approval in {"pending", "changed"}
    if waits:
        return f"The tool {facts.tool.key} was not called: it has not been approved."
    return rejection(facts, texts)


def policy_alone(facts: Facts, texts: Texts) -> str:
    """Reject config-locked tools as usual, others as `locked right now`, without a reason.

    Of these others, only user-locked ones are pointed to retrieve_tools.
    """
    status = classify(facts)
    if status == "disabled_by_config":
        return rejection(facts, texts)
    pointer = " See retrieve_tools." if status == "disabled_by_user" else ""
    return f"The tool {facts.tool.key} is locked right now.{pointer}"


def policy_ruled_out(facts: Facts, texts: Texts) -> str:
    """Reject as usual, and say for tools whose status is not config that it is not policy."""
    denied = classify(facts) == "disabled_by_config"
    return rejection(facts, texts) + ("" if denied else " It is not locked by operator policy.")


def policy_of_approvals(facts: Facts, texts: Texts) -> str:
    """Reject as usual.

    For other statuses than config, add that policy wants reviews by the user.
    """
    denied = classify(facts) == "disabled_by_config"
    also = "" if denied else " Operator policy wants every tool to be reviewed by the user."
    return rejection(facts, texts) + also


def flag_alone(facts: Facts, texts: Texts) -> str:
    """Reject with the reason, and only the flag's name in brackets as the pointer to discovery."""
    return f"{facts.tool.key} is locked. {texts[classify(facts)]} [include_disabled]"


def quoting(facts: Facts, texts: Texts) -> str:
    """Reject as usual and quote the tool's description, which only discovery must withhold."""
    return f"{rejection(facts, texts)} The tool's own description: {facts.tool.description!r}"


def asking(gateway: Gateway, members: Callable[[Callable[[], Agent]], Mapping[str, Any]]) -> None:
    """Change the gateway: calls pass the scope, and `members` returns decisions to replace by name.

    `members` gets a function that returns the agent of the current request.
    """
    last: list[Agent] = []

    def scope(agent: Agent, server: str, purpose: Purpose) -> bool:
        last[:] = [agent]
        return purpose == "call" or std.scope(agent, server, purpose)

    decide(gateway, **{"scope": scope, **members(lambda: last[0])})


def lock_first(gateway: Gateway) -> None:
    """Reject a call of a locked tool beyond the scope for its lock, an unlocked one as unknown.

    Calls within the scope are as usual.
    """

    def members(agent: Callable[[], Agent]) -> Mapping[str, Any]:
        def within(facts: Facts) -> bool:
            return std.scope(agent(), facts.tool.server, "call")

        def rejection(facts: Facts, texts: Texts) -> str:
            if within(facts) or not std.may_call(facts, "call"):
                return std.rejection(facts, texts)
            return std.unknown(facts.tool.key)

        return {
            "may_call": lambda facts, surface: (
                std.may_call(facts, surface) and (not is_call(surface) or within(facts))
            ),
            "rejection": rejection,
        }

    asking(gateway, members)


def within_limit(document: Json, request: Request) -> Json:
    """Return the answer; the number in its note, if it has one, is at most the request's limit."""
    count, space, rest = document.get("notice", "").partition(" ")
    if not rest:
        return document
    return document | {"notice": f"{min(int(count), request.limit)}{space}{rest}"}


def shown_note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note with a number of at most ten, as many as the flag would list.

    None if none is due.
    """
    return note(flag, callables, locked[:10])


def counted_both(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return a note with two numbers: all locked matches, and those that the flag would list.

    None if no note is due.
    """
    if flag or callables or not locked:
        return None
    return (
        f"There are {len(locked)} locked matches in all; include_disabled=true shows "
        f"up to {min(len(locked), 10)} of them."
    )


def under_flag(_flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note with the flag as well as without; None if none is due."""
    return note(False, callables, locked)


def naming_servers(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Return the note with the names of the matches' servers; None if none is due."""
    text = note(flag, callables, locked)
    servers = sorted({facts.tool.server for facts in locked})
    return text and f"{text} (on: {', '.join(servers)})"


def without_zero(tools: Tallied) -> Json | None:
    """Return a server's counts, without `callable` if that is zero; None if nothing is locked."""
    block = counts(tools)
    return block and {name: number for name, number in block.items() if number}


def with_totals(tools: Tallied) -> Json | None:
    """Return a server's counts with `total`, `locked`, `share` (locked / total), an empty `note`.

    None if nothing is locked.
    """
    block = counts(tools)
    if block is None:
        return None
    locked = len(tools) - block["callable"]
    return {"total": len(tools), "locked": locked, "share": locked / len(tools), "note": ""} | block


def inspected_with_more(document: Json) -> str:
    """Return the document's JSON; an inspected server's counts lack zeros and have `as_of`."""
    block = document.get("server", {}).get("tools")
    if block is None:
        return render(document)
    more = {name: number for name, number in block.items() if number} | {"as_of": "now"}
    return render(document | {"server": document["server"] | {"tools": more}})


def no_counts_while_off(tools: Tallied) -> Json | None:
    """Return a server's counts; None for a server that is off, or if nothing is locked."""
    return counts([pair for pair in tools if pair[0].enabled])


def counted_by_tool(tools: Tallied) -> Json | None:
    """Return a server's counts; while it is off, its tools count by their own locks, if any.

    None if nothing is locked.
    """

    def own(facts: Facts, status: Status | None) -> Status | None:
        alone = replace(facts, enabled=True)
        return status if facts.enabled or may_call(alone, "listing") else classify(alone)

    return counts([(facts, own(facts, status)) for facts, status in tools])


def counts_as_numbers(tools: Tallied) -> Json | None:
    """Return a server's counts as JSON numbers with a fraction, such as 3.0, names descending.

    None if nothing is locked.
    """
    block = counts(tools)
    return block and {name: float(block[name]) for name in sorted(block, reverse=True)}


def naming_denied(entry: Json, tools: Sequence[Facts]) -> Json:
    """Return a server's entry with the names of its tools that config denies, if any."""
    denied = sorted(facts.tool.name for facts in tools if facts.denied)
    return entry | ({"disabled_tools": denied} if denied else {})


def naming_all(entry: Json, tools: Sequence[Facts]) -> Json:
    """Return a server's entry of the listing with all its tools, described, and denied names.

    The latter are those of the tools that config denies.
    """
    offered = [
        {
            "name": facts.tool.name,
            "description": facts.tool.description,
            "inputSchema": facts.tool.schema,
            "annotations": facts.tool.annotations,
        }
        for facts in tools
    ]
    return naming_denied(entry | {"offers": offered}, tools)


def with_changes(gateway: Gateway) -> None:
    """Add to each server's entry how often its tools were locked, approved, switched or loaded.

    It is the member `changes`; each approved tool counts.
    """
    changed: dict[str, int] = {}
    lock, approve, switch = gateway.store.lock, gateway.store.approve, gateway.switch
    record = own(gateway, "_record")

    def count(name: str) -> None:
        changed[name] = changed.get(name, 0) + 1

    def locked(tool: Tool, *, locked: bool) -> None:
        lock(tool, locked=locked)
        count(tool.server)

    def approved(tools: Iterable[Tool]) -> None:
        approve(kept := list(tools))
        for tool in kept:
            count(tool.server)

    def switched(name: str, **changes: bool) -> None:
        switch(name, **changes)
        count(name)

    def recorded(name: str) -> None:
        record(name)
        count(name)

    put(gateway.store, lock=locked, approve=approved)
    put(gateway, switch=switched, _record=recorded)
    decide(
        gateway,
        server_entry=lambda listed, _tools: listed | {"changes": changed.get(listed["name"], 0)},
    )


VARIANTS: tuple[Variant, ...] = (
    variant(
        "lock-before-scope",
        "A locked tool beyond the agent's scope is rejected with its reason.",
        "rejection-beyond-scope",
        "FR-007.rejection",
        swap=lock_first,
    ),
    variant(
        "quarantine-first",
        "The rejection of a tool of a quarantined server mentions only the quarantine.",
        "config-on-quarantined-server",
        "SC-003.rejection~quarantined",
        "FR-008.config~quarantined",
        rejection=quarantine_first,
    ),
    variant(
        "server-off-first",
        "The rejection of a tool of a switched-off server mentions only the server.",
        "config-on-quarantined-server",
        rejection=server_first,
    ),
    variant(
        "approval-first",
        "The rejection of a tool that waits for approval says only that it is not approved.",
        "config-before-approval",
        "FR-008.config~approval",
        "FR-008.distinct~wording",
        "FR-008.pointer~others",
        rejection=approval_first,
    ),
    variant(
        "rejection-terse",
        "Only config locks have a specific rejection; others give no reason and no remedy.",
        "other-rejections",
        "FR-008.distinct~wording",
        "pointer",
        "FR-008.pointer~others",
        rejection=policy_alone,
    ),
    variant(
        "policy-ruled-out",
        "Rejections of other locks than config say that it is not operator policy.",
        "other-rejections",
        rejection=policy_ruled_out,
    ),
    variant(
        "policy-of-approvals",
        "Rejections of other locks than config mention a policy too.",
        "other-rejections",
        "FR-008.distinct~no-policy",
        rejection=policy_of_approvals,
    ),
    variant(
        "flag-alone",
        "Rejections point to discovery only by the name of the flag.",
        "pointer",
        rejection=flag_alone,
    ),
    variant(
        "rejection-no-error",
        "A rejection is a normal result, not an error.",
        "rejection-is-error",
        "FR-008.is-error",
        rejection_is_error=False,
    ),
    variant(
        "texts-elsewhere",
        "Rejections and the listing show descriptions of withheld tools.",
        "canary-elsewhere",
        "FR-003.canary~rejection",
        "FR-003.canary~listing",
        "names-in-listing",
        "FR-010.no-names~entry",
        rejection=quoting,
        server_entry=naming_all,
    ),
    variant(
        "note-of-shown",
        "The note counts only the matches that the flag would show.",
        "note-count",
        note=shown_note,
    ),
    variant(
        "note-within-limit",
        "The note counts no more matches than the limit.",
        "note-count",
        answer=within_limit,
    ),
    variant("note-of-both", "The note has two numbers.", "note-count", note=counted_both),
    variant(
        "note-under-flag",
        "The note also appears with the flag.",
        "note-under-flag",
        "FR-009.silent~under-flag",
        note=under_flag,
    ),
    variant(
        "note-with-servers",
        "The note names the servers of its matches.",
        "echo",
        "FR-009.no-entries~server-names",
        note=naming_servers,
    ),
    variant(
        "callable-zero-omitted",
        "A block without callable tools has no `callable`.",
        "callable-zero",
        "FR-010.block~zero-callable",
        counts=without_zero,
    ),
    variant(
        "counts-with-totals",
        "The block has additional members.",
        "count-keys",
        "FR-010.sum~extra-keys",
        counts=with_totals,
    ),
    variant(
        "inspection-with-more",
        "The block of an inspected server has members that the listing's has not.",
        "count-keys",
        render=inspected_with_more,
    ),
    variant(
        "counts-of-servers-on",
        "Switched-off servers have no counts.",
        "connected-servers",
        counts=no_counts_while_off,
    ),
    variant(
        "counts-of-own-reasons",
        "A switched-off server counts its tools by their own reasons.",
        "connected-servers",
        "FR-010.server-off~word",
        counts=counted_by_tool,
    ),
    variant(
        "counts-as-floats",
        "Counts are written with a fraction, such as 3.0.",
        counts=counts_as_numbers,
    ),
    variant(
        "denied-in-listing",
        "The listing shows the operator's deny list.",
        "names-in-listing",
        "FR-010.no-names~entry",
        server_entry=naming_denied,
    ),
    variant(
        "changes-in-listing",
        "A server's entry shows how often its locks have changed.",
        "SC-005.zero-bytes~own-lock",
        swap=with_changes,
    ),
)
