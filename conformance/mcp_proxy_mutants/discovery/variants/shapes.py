"""Variants of a tool's entry in answers: names, further members, shortened or empty texts."""

from collections.abc import Mapping

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import own, put
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Approval, Facts, Json, Match, Status, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import callable_entry, locked_entry
from mcp_proxy_reference.store import Record

SHORT = 1000


def bare(entry: Json) -> Json:
    """Return the entry with the tool's name alone, without its server."""
    return entry | {"name": entry["name"].removeprefix(f"{entry['server']}:")}


def underlined(entry: Json) -> Json:
    """Return the entry with server and name joined by two underscores."""
    return entry | {"name": f"{entry['server']}__{bare(entry)['name']}"}


def locked_with_more(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry with many further members, none a schema or a remediation."""
    more: Json = {
        "callable": False,
        "kind": "locked",
        "rank": None,
        "labels": ["locked", status],
        "lock": {"by_operator": facts.denied, "by_user": facts.disabled_by_user},
        "id": facts.tool.digest[:8],
        "quarantined": facts.quarantined,
        "status_code": len(status),
    }
    return locked_entry(facts, status, withheld) | more


REASONS: Mapping[Status, str] = {
    "disabled_by_config": "Denied by operator policy.",
    "disabled_by_user": "Turned off by the user.",
    "pending_approval": "Waiting for approval.",
    "server_disabled": "Its server is off.",
    "disabled_unknown": "The reason is unknown.",
    "server_quarantined": "Its server is in quarantine.",
}


def reasoned(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry with its reason in words, and members about remedy and schema."""
    more: Json = {
        "reason": REASONS[status],
        "remediation_key": status,
        "schema_withheld": True,
        "schema_hash": facts.tool.digest,
        "inputSchema": None,
    }
    return locked_entry(facts, status, withheld) | more


def labelled(document: Json, request: Request) -> Json:
    """Return a flagged answer with a member `legend`, a short label for each status.

    Other answers are unchanged.
    """
    return document | ({"legend": dict(REASONS)} if request.flag else {})


def callable_with_more(hit: Match) -> Json:
    """Return the callable entry with members named like the feature's, in another meaning."""
    more: Json = {
        "annotations": hit.facts.tool.annotations,
        "status": "ok",
        "disabled": False,
        "remediation": None,
    }
    return callable_entry(hit) | more


def one_line(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry with its description cut to one line of at most 1000 characters."""
    entry = locked_entry(facts, status, withheld)
    if "description" in entry:
        line = next(iter(entry["description"].splitlines()), "")
        entry["description"] = line if len(line) <= SHORT else line[:SHORT] + "…"
    return entry


def withheld_empty(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a withheld description is an empty string."""
    return {"description": ""} | locked_entry(facts, status, withheld)


def approved_text(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a changed tool outside quarantine shows its last approved text."""
    entry = locked_entry(facts, status, withheld)
    indexed = facts.approval == "changed" and not facts.quarantined
    return entry | ({"description": facts.approved_description} if withheld and indexed else {})


def unchanged_text(facts: Facts, status: Status, withheld: bool) -> Json:
    """Return the locked entry; a changed tool shows its description if only that did not change.

    In quarantine it does not.
    """
    same = facts.approval == "changed" and facts.tool.description == facts.approved_description
    return locked_entry(facts, status, withheld and (facts.quarantined or not same))


def approval_of_texts(gateway: Gateway) -> None:
    """Make the gateway take a changed tool for approved if its description is the approved one."""
    approval = own(gateway, "_approval")

    def of_text(tool: Tool, record: Record | None) -> Approval:
        is_same = record is not None and record.description == tool.description
        return "approved" if is_same else approval(tool, record)

    put(gateway, _approval=of_text)


def words_elsewhere(document: Json, _request: Request) -> Json:
    """Return the answer with a member about the index, in words that the feature uses."""
    return document | {"index": {"disabled": False, "remediation": None, "status": "ready"}}


VARIANTS: tuple[Variant, ...] = (
    variant(
        "entries-with-reasons",
        "Entries give the reason of the lock in words, and facts about schema and remedy.",
        "lean",
        "remediation-once",
        "FR-003.members~extras",
        locked_entry=reasoned,
    ),
    variant(
        "legend-of-statuses",
        "With the flag, an answer has a label for each status.",
        "remediation-once",
        answer=labelled,
    ),
    variant(
        "names-bare",
        "Callable and locked tools have their bare names.",
        "name-form",
        callable_entry=lambda hit: bare(callable_entry(hit)),
        locked_entry=lambda *locked: bare(locked_entry(*locked)),
    ),
    variant(
        "names-mixed",
        "Locked tools have bare names, callable ones have their server's name as a prefix.",
        "name-form",
        "FR-003.name~one-form",
        locked_entry=lambda *locked: bare(locked_entry(*locked)),
    ),
    variant(
        "names-underlined",
        "Server and name are joined by two underscores.",
        "name-form",
        callable_entry=lambda hit: underlined(callable_entry(hit)),
        locked_entry=lambda *locked: underlined(locked_entry(*locked)),
    ),
    variant(
        "entries-with-more",
        "Locked and callable entries have additional members.",
        "lean",
        "FR-003.members~extras",
        "other-use-of-words",
        "FR-002.no-section~words",
        locked_entry=locked_with_more,
        callable_entry=callable_with_more,
        answer=words_elsewhere,
    ),
    variant(
        "description-one-line",
        "Locked entries show one line of their description, shortened.",
        "one-line-or-untruncated",
        "FR-003.description~long",
        "FR-003.description~multiline",
        locked_entry=one_line,
    ),
    variant(
        "withheld-empty",
        "A withheld description is an empty string.",
        "withheld-empty",
        locked_entry=withheld_empty,
    ),
    variant(
        "unchanged-text",
        "The entry of a tool that changed in its schema alone shows its description.",
        "approved-text-of-changed-tool",
        "FR-003.withheld~approved-text",
        locked_entry=unchanged_text,
    ),
    variant(
        "approval-of-texts",
        "A tool that changed in its schema alone needs no approval.",
        "approved-text-of-changed-tool",
        swap=approval_of_texts,
    ),
    variant(
        "approved-text",
        "The entry of a changed tool shows the description that was approved.",
        "approved-text-of-changed-tool",
        "FR-003.withheld~approved-text",
        locked_entry=approved_text,
    ),
)
