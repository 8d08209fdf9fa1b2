"""Faults of single entries: members, names, texts and what is withheld, clause by clause."""

import html
from collections.abc import Sequence

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_mutants.proxy.wrapping import Request
from mcp_proxy_reference.facts import Facts, Json, Match, Status
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.policy import indexed, locked_entry, window

LINE = 24


def _without_text_when_twice(facts: Facts, status: Status, withheld: bool) -> Json:
    return locked_entry(facts, status, withheld or (facts.denied and facts.disabled_by_user))


def _with_schema(facts: Facts, status: Status, withheld: bool) -> Json:
    entry = locked_entry(facts, status, withheld)
    schema = {"inputSchema": facts.tool.schema} if status == "disabled_by_user" else {}
    return entry | schema


def _under(facts: Facts, status: Status, withheld: bool, name: str) -> Json:
    return locked_entry(facts, status, withheld) | {"name": name}


def _described(facts: Facts, status: Status, withheld: bool, text: str) -> Json:
    entry = locked_entry(facts, status, withheld)
    return entry if withheld else entry | {"description": text}


def _first_servers(document: Json, _request: Request) -> Json:
    entries = document.get("disabled", [])
    if not entries:
        return document
    server = entries[0]["server"]
    return document | {"disabled": [one | {"server": server} for one in entries]}


def _nowhere(facts: Facts, status: Status, withheld: bool) -> Json:
    entry = locked_entry(facts, status, withheld)
    return entry | {"server": "quarantine"} if withheld else entry


def _trusting_old_approval(facts: Facts, status: Status, withheld: bool) -> Json:
    known = facts.quarantined and facts.approval == "approved"
    return locked_entry(facts, status, withheld and not known)


def _new_text_of_changed(facts: Facts, status: Status, withheld: bool) -> Json:
    return locked_entry(facts, status, withheld and facts.approval != "changed")


def _titled(facts: Facts, status: Status, withheld: bool) -> Json:
    title = facts.tool.annotations.get("title")
    named = {"title": title} if isinstance(title, str) else {}
    return locked_entry(facts, status, withheld) | named


def _parameters_in_usage(gateway: Gateway) -> None:
    """Name the parameters of unapproved tools of a server that has a hit."""
    servers: set[str] = set()

    def noting(found: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
        servers.clear()
        servers.update(hit.facts.tool.server for hit in found)
        return window(found, limit)

    def answer(document: Json, request: Request) -> Json:
        if request.flag:
            return document
        names = [
            name
            for server in sorted(servers)
            for facts in gateway.known()[server]
            if not indexed(facts)
            for name in facts.tool.schema.get("properties", {})
        ]
        if not names:
            return document
        usage = f"{document['usage_instructions']} Known parameters: {', '.join(names)}."
        return document | {"usage_instructions": usage}

    decide(gateway, window=noting, answer=answer)


MUTANTS: tuple[Mutant, ...] = (
    mutant("two-locks-lose-the-text", "A tool locked by config and user lacks its description.",
           "FR-003.members", "FR-003.description", locked_entry=_without_text_when_twice),
    mutant("user-locked-keep-their-schema", "Entries of user-locked tools carry the input schema.",
           "FR-003.members", locked_entry=_with_schema),
    mutant("status-in-a-list", "The status of a tool under two locks is a list of one word.",
           "FR-003.members", "FR-004.enum",
           locked_entry=lambda facts, status, withheld: locked_entry(facts, status, withheld)
           | ({"status": [status]} if facts.denied and facts.disabled_by_user else {})),
    mutant("locked-names-with-a-dot", "User-locked tools are named server.tool.",
           "FR-003.name",
           locked_entry=lambda facts, status, withheld: _under(
               facts, status, withheld, facts.tool.key.replace(":", "."))
           if status == "disabled_by_user" else locked_entry(facts, status, withheld)),
    mutant("withheld-names-are-cut", "Names of withheld tools are cut to eight characters.",
           "FR-003.name",
           locked_entry=lambda facts, status, withheld: _under(
               facts, status, withheld, facts.tool.name[:8])
           if withheld else locked_entry(facts, status, withheld)),
    mutant("denied-names-prefixed-twice", "Denied tools are named server:server:tool.",
           "FR-003.name",
           locked_entry=lambda facts, status, withheld: _under(
               facts, status, withheld, f"{facts.tool.server}:{facts.tool.key}")
           if status == "disabled_by_config" else locked_entry(facts, status, withheld)),
    mutant("user-locked-servers-capitalised",
           "User-locked entries spell the server with a capital.",
           "FR-003.server",
           locked_entry=lambda facts, status, withheld: locked_entry(facts, status, withheld)
           | ({"server": facts.tool.server.title()} if status == "disabled_by_user" else {})),
    mutant("first-entry-lends-its-server", "Every entry of an answer has the first one's server.",
           "FR-003.server", answer=_first_servers),
    mutant("withheld-belong-nowhere", "Withheld entries name the quarantine as their server.",
           "FR-003.server", locked_entry=_nowhere),
    mutant("locked-texts-cut-short", "Descriptions of locked tools are cut to twenty-four letters.",
           "FR-003.description",
           locked_entry=lambda facts, status, withheld: _described(
               facts, status, withheld, facts.tool.description[:LINE])),
    mutant("locked-texts-escaped", "Descriptions of locked tools are escaped for HTML.",
           "FR-003.description",
           locked_entry=lambda facts, status, withheld: _described(
               facts, status, withheld, html.escape(facts.tool.description))),
    mutant("locked-texts-in-plain-letters", "Descriptions of locked tools lose other scripts.",
           "FR-003.description",
           locked_entry=lambda facts, status, withheld: _described(
               facts, status, withheld, facts.tool.description.encode("ascii", "ignore").decode())),
    mutant("quarantine-keeps-approved-texts", "A quarantined entry has the text approved before.",
           "FR-003.withheld", "FR-003.canary", locked_entry=_trusting_old_approval),
    mutant("changed-entry-has-the-new-text", "The entry of a changed tool has the unapproved text.",
           "FR-003.withheld", "FR-003.canary", locked_entry=_new_text_of_changed),
    mutant("withheld-entries-titled", "Withheld entries show the title of the tool's annotations.",
           "FR-003.canary", "FR-003.withheld", locked_entry=_titled),
    mutant("usage-names-unapproved-parameters", "Default answers name unapproved parameters.",
           "FR-003.canary", swap=_parameters_in_usage),
    mutant("new-tools-are-indexed", "New tools enter the search index with their text unapproved.",
           "FR-003.withheld", "FR-003.canary",
           indexed=lambda facts: indexed(facts)
           or (facts.approval == "pending" and not facts.quarantined)),
)  # fmt: skip
