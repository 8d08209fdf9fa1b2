"""Rejections, notes and counts: what the source leaves open about them."""

from collections.abc import Iterable, Mapping, Sequence

from mcp_proxy_mutants.proxy.swapping import decide, own, put
from mcp_proxy_mutants.proxy.variant import Variant, variant
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Status, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import classify, counts, note, rejection

Texts = Mapping[Status, str]
Tallied = Sequence[tuple[Facts, Status | None]]


def quarantine_first(facts: Facts, texts: Texts) -> str:
    """Quarantine is a state of the server, and is looked at before the lists of tools."""
    if facts.quarantined:
        return "The server is in quarantine. Ask the user to approve it. See retrieve_tools."
    return rejection(facts, texts)


def policy_alone(facts: Facts, texts: Texts) -> str:
    """One wording for whatever is not config, and no pointer where no scenario asks for one."""
    status = classify(facts)
    if status == "disabled_by_config":
        return rejection(facts, texts)
    pointer = " See retrieve_tools." if status == "disabled_by_user" else ""
    return f"The tool {facts.tool.key} is locked right now.{pointer}"


def policy_ruled_out(facts: Facts, texts: Texts) -> str:
    """Other rejections name the policy in order to rule it out."""
    denied = classify(facts) == "disabled_by_config"
    return rejection(facts, texts) + ("" if denied else " It is not locked by operator policy.")


def policy_of_approvals(facts: Facts, texts: Texts) -> str:
    """Other rejections claim a policy of their own."""
    denied = classify(facts) == "disabled_by_config"
    also = "" if denied else " Operator policy wants every tool to be reviewed by the user."
    return rejection(facts, texts) + also


def flag_alone(facts: Facts, texts: Texts) -> str:
    """The pointer is the name of the flag."""
    return f"{facts.tool.key} is locked. {texts[classify(facts)]} [include_disabled]"


def quoting(facts: Facts, texts: Texts) -> str:
    """The rejection tells what the tool's server says of it."""
    return f"{rejection(facts, texts)} The tool's own description: {facts.tool.description!r}"


def within_limit(document: Json, request: Request) -> Json:
    """The number in the note is no greater than the limit."""
    count, space, rest = document.get("notice", "").partition(" ")
    if not rest:
        return document
    return document | {"notice": f"{min(int(count), request.limit)}{space}{rest}"}


def shown_note(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """The number that the flag would show."""
    return note(flag, callables, locked[:10])


def counted_both(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """Both numbers: all there are, and those the flag shows."""
    if flag or callables or not locked:
        return None
    return (
        f"There are {len(locked)} locked matches in all; include_disabled=true shows "
        f"up to {min(len(locked), 10)} of them."
    )


def under_flag(_flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """The note stays under the flag."""
    return note(False, callables, locked)


def naming_servers(flag: bool, callables: int, locked: Sequence[Facts]) -> str | None:
    """The note tells on which servers its matches are."""
    told = note(flag, callables, locked)
    servers = sorted({facts.tool.server for facts in locked})
    return told and f"{told} (on: {', '.join(servers)})"


def without_zero(tools: Tallied) -> Json | None:
    """`callable` is left out like any other zero."""
    block = counts(tools)
    return block and {name: number for name, number in block.items() if number}


def with_totals(tools: Tallied) -> Json | None:
    """Sums stand beside their parts."""
    block = counts(tools)
    if block is None:
        return None
    locked = len(tools) - block["callable"]
    return {"total": len(tools), "locked": locked, "share": locked / len(tools), "note": ""} | block


def connected_and_on(tools: Tallied) -> Json | None:
    """No counts for a server that is off."""
    return counts([one for one in tools if one[0].enabled])


def counts_as_numbers(tools: Tallied) -> Json | None:
    """Counts as JSON numbers with a fraction of zero, reasons first."""
    block = counts(tools)
    return block and {name: float(block[name]) for name in sorted(block, reverse=True)}


def naming_denied(entry: Json, tools: Sequence[Facts]) -> Json:
    """The operator's list, as it stands in the file."""
    denied = sorted(facts.tool.name for facts in tools if facts.denied)
    return entry | ({"disabled_tools": denied} if denied else {})


def naming_all(entry: Json, tools: Sequence[Facts]) -> Json:
    """All tools with their texts and schemas, as a listing may have shown them before."""
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


def tell_changes(gateway: Gateway) -> None:
    """Each server's entry tells how often its tools were locked, unlocked or loaded."""
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

    def entry(told: Json, _tools: Sequence[Facts]) -> Json:
        return told | {"changes": changed.get(told["name"], 0)}

    put(gateway.store, lock=locked, approve=approved)
    put(gateway, switch=switched, _record=recorded)
    decide(gateway, server_entry=entry)


VARIANTS: tuple[Variant, ...] = (
    variant(
        "quarantine-first",
        "The rejection of a tool of a quarantined server speaks of quarantine alone.",
        "config-on-quarantined-server",
        "SC-003.rejection~quarantined",
        "FR-008.config~quarantined",
        rejection=quarantine_first,
    ),
    variant(
        "rejection-terse",
        "Only config has a rejection of its own; others tell neither reason nor remedy.",
        "other-rejections",
        "FR-008.distinct~wording",
        "pointer",
        "FR-008.pointer~others",
        rejection=policy_alone,
    ),
    variant(
        "policy-ruled-out",
        "Other rejections say that it is not operator policy.",
        "other-rejections",
        rejection=policy_ruled_out,
    ),
    variant(
        "policy-of-approvals",
        "Other rejections speak of a policy too.",
        "other-rejections",
        "FR-008.distinct~no-policy",
        rejection=policy_of_approvals,
    ),
    variant(
        "flag-alone", "Rejections point by the name of the flag.", "pointer", rejection=flag_alone
    ),
    variant(
        "rejection-no-error",
        "A rejection is a result like any other.",
        "rejection-is-error",
        "FR-008.is-error",
        rejection_is_error=False,
    ),
    variant(
        "texts-elsewhere",
        "Rejections and listing show what withheld tools say of themselves.",
        "canary-elsewhere",
        "FR-003.canary~rejection",
        "FR-003.canary~listing",
        "names-in-listing",
        "FR-010.no-names~entry",
        rejection=quoting,
        server_entry=naming_all,
    ),
    variant("note-of-shown", "The note counts what would be shown.", "note-count", note=shown_note),
    variant(
        "note-within-limit",
        "The note counts no further than the limit.",
        "note-count",
        answer=within_limit,
    ),
    variant("note-of-both", "The note has two numbers.", "note-count", note=counted_both),
    variant(
        "note-under-flag",
        "The note stays under the flag.",
        "note-under-flag",
        "FR-009.silent~under-flag",
        note=under_flag,
    ),
    variant(
        "note-with-servers",
        "The note tells the servers of its matches.",
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
        "The block has further members.",
        "count-keys",
        "FR-010.sum~extra-keys",
        counts=with_totals,
    ),
    variant(
        "counts-of-servers-on",
        "Servers that are off have no counts.",
        "connected-servers",
        counts=connected_and_on,
    ),
    variant("counts-as-floats", "Counts are spelled 3.0.", counts=counts_as_numbers),
    variant(
        "denied-in-listing",
        "The listing shows the operator's deny list.",
        "names-in-listing",
        "FR-010.no-names~entry",
        server_entry=naming_denied,
    ),
    variant(
        "changes-in-listing",
        "A server's entry tells how often its locks have changed.",
        "SC-005.zero-bytes~own-lock",
        swap=tell_changes,
    ),
)
