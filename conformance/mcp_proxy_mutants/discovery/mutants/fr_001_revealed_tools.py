"""Mutants of the tools that the flag reveals: some are missing, wear off or show as callable."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.discovery.changed_parts import Request
from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import (
    FLAG,
    WITHHELD,
    Chosen,
    Windows,
    by_allow_list,
    by_name,
    flagged,
    left_out,
    on_later_pages,
    viewed_as,
)
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.config import Server
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Purpose, Status, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Outcome
from mcp_proxy_reference.search import terms
from mcp_proxy_reference.store import StoreError

LOOKS = 20


def _hide(gateway: Gateway, hidden: Chosen) -> None:
    """Leave the locked hits that `hidden` selects out of every answer; their calls stay refused."""

    def without(hits: Sequence[Match], limit: int) -> Windows:
        callables, rest = std.window(hits, limit)
        return callables, [hit for hit in rest if not hidden(hit.facts)]

    decide(gateway, window=without)


def _changed_or_else_new(gateway: Gateway) -> None:
    """Leave pending tools out of answers while their server has a changed one, listed or not."""

    def status(facts: Facts) -> Status | None:
        listed = gateway.known()[facts.tool.server]
        changed = any(other.approval == "changed" for other in listed)
        return None if changed and facts.approval == "pending" else std.withheld_status(facts)

    decide(gateway, withheld_status=status)


def _only_allowed_loaded(gateway: Gateway) -> None:
    """Of a server with an allow list, know only the tools that it names; others do not exist."""
    real = gateway.tools

    def tools(server: str) -> Mapping[str, Tool]:
        entry = gateway.config.servers.get(server)
        allowed = entry.enabled_tools if entry else None
        loaded = real(server)
        return (
            loaded
            if allowed is None
            else {name: loaded[name] for name in loaded if name in allowed}
        )

    gateway.tools = tools  # type: ignore[method-assign]


def _long_deny_list_hidden(gateway: Gateway) -> None:
    """Hide the denied tools of servers that deny more than one."""

    def hidden(facts: Facts) -> bool:
        server = gateway.config.servers[facts.tool.server]
        return facts.denied and len(server.disabled_tools) > 1

    _hide(gateway, hidden)


def _refresh_forgets(gateway: Gateway) -> None:
    """Hide tools that are user-locked when their server is refreshed, as long as the lock lasts."""
    forgotten: set[str] = set()
    real = gateway.refresh

    async def refresh(name: str) -> Outcome:
        outcome = await real(name)
        locked = [facts for facts in gateway.known()[name] if facts.disabled_by_user]
        forgotten.update(facts.tool.key for facts in locked)
        return outcome

    gateway.refresh = refresh  # type: ignore[method-assign]
    _hide(gateway, lambda facts: facts.disabled_by_user and facts.tool.key in forgotten)


def _administrators_pass(agent: Agent, server: str, purpose: Purpose) -> bool:
    """Decide the scope as usual, but look up withheld tools for the administrator only.

    Withheld tools, unapproved or quarantined, are outside of the search index.
    """
    if purpose == "quarantine" and agent.servers is not None:
        return False
    return std.scope(agent, server, purpose)


def _changed_listed_once() -> Callable[[Facts], Status | None]:
    """Return a `withheld_status` decision that lists a changed tool the first time only.

    A changed tool is one whose approval ended as its server changed it.
    """
    listings: dict[str, int] = {}

    def status(facts: Facts) -> Status | None:
        key = facts.tool.key
        if facts.approval == "changed":
            listings[key] = listings.get(key, 0) + 1
        return None if listings.get(key, 0) > 1 else std.withheld_status(facts)

    return status


def _quarantine_drops_tools(gateway: Gateway) -> None:
    """Know no tools of a server while it is in quarantine."""
    real = gateway.tools

    def tools(server: str) -> Mapping[str, Tool]:
        entry = gateway.config.servers.get(server)
        return {} if entry and entry.quarantined else real(server)

    gateway.tools = tools  # type: ignore[method-assign]


def _trusted_left_out(gateway: Gateway) -> None:
    """Leave the withheld tools of servers that the configuration trusts out of answers."""

    def status(facts: Facts) -> Status | None:
        server: Server = gateway.config.servers[facts.tool.server]
        return None if gateway.config.trusts(server) else std.withheld_status(facts)

    decide(gateway, withheld_status=status)


def _named_only(statuses: set[str]) -> Callable[[Json, Request], Json]:
    """Return an `answer` change: drop entries of these statuses that no query word names.

    The remediation texts that only they needed are dropped too.
    """

    def answer(document: Json, request: Request) -> Json:
        wanted = set(terms(request.query))
        kept = [
            entry
            for entry in document.get("disabled", [])
            if entry["status"] not in statuses or wanted & set(terms(entry["name"]))
        ]
        shown = {entry["status"] for entry in kept}
        rest = {
            name: document[name] for name in document if name not in {"disabled", "remediation"}
        }
        if not kept:
            return rest
        texts = {
            status: text for status, text in document["remediation"].items() if status in shown
        }
        return rest | {"disabled": kept, "remediation": texts}

    return answer


def _allow_as_deny(gateway: Gateway, facts: Facts) -> bool:
    """Whether the tool is denied if its server's allow list is read as a deny list.

    Without an allow list, whether config denies it.
    """
    allowed = gateway.config.servers[facts.tool.server].enabled_tools
    return facts.denied if allowed is None else facts.tool.name in allowed


def _dropped_when_listed(gateway: Gateway) -> None:
    """Hide from discovery a user-locked tool that was so when its server's list was last read.

    One that was locked after that is still found.
    """
    dropped: dict[str, set[str]] = {}
    record = own(gateway, "_record")

    def recorded(name: str) -> None:
        record(name)
        known = gateway.records() or {}
        dropped[name] = {
            tool for (server, tool), stored in known.items() if server == name and stored[2]
        }

    put(gateway, _record=recorded)
    left_out(
        lambda facts: facts.disabled_by_user and facts.tool.name in dropped[facts.tool.server]
    )(gateway)


def _dropped_at_start(gateway: Gateway) -> None:
    """Hide from discovery, even once unlocked, the tools that were user-locked at the start."""
    try:
        old = {key for key, record in gateway.store.records().items() if record.disabled}
    except StoreError:
        old = set()
    left_out(lambda facts: (facts.tool.server, facts.tool.name) in old)(gateway)


def _stdio_hidden(gateway: Gateway) -> None:
    """Hide the locked tools of servers that run over stdio from discovery."""
    left_out(
        lambda facts: (
            bool(gateway.config.servers[facts.tool.server].command)
            and not std.may_call(facts, "discovery")
        )
    )(gateway)


def _open_to_lists(*approvals: str) -> dict[str, Any]:
    """Return decisions by name: tools in these states of approval are found and listed as callable.

    Calls of them are still refused.
    """

    def view(facts: Facts) -> Facts:
        return replace(facts, approval="approved") if facts.approval in approvals else facts

    return {
        "indexed": lambda facts: std.indexed(view(facts)),
        "may_call": lambda facts, surface: std.may_call(
            view(facts) if surface == "discovery" else facts, surface
        ),
    }


def _dropped_after_lookups() -> Callable[[Facts], bool]:
    """Return an `indexed` decision that drops a user-locked tool for good after 20 lookups.

    A tool that config denies too is not dropped.
    """
    looks: dict[str, int] = {}

    def indexed(facts: Facts) -> bool:
        if facts.disabled_by_user and not facts.denied:
            looks[facts.tool.key] = looks.get(facts.tool.key, 0) + 1
        return std.indexed(facts) and looks.get(facts.tool.key, 0) <= LOOKS

    return indexed


def _skip(dropped: Callable[[Facts], bool]) -> Callable[[Facts], Status | None]:
    """Return a `withheld_status` decision that lists none of the tools that `dropped` selects."""
    return lambda facts: None if dropped(facts) else std.withheld_status(facts)


def _without_section(document: Json, request: Request) -> Json:
    """Return an agent's answer without locked entries and texts; the administrator's as it is."""
    if request.agent.servers is None:
        return document
    return {name: document[name] for name in document if name not in {"disabled", "remediation"}}


def _namesakes_merged(document: Json, _request: Request) -> Json:
    """Return the answer with only the first of several locked tools that share a name.

    The name is that after the server's; remediation texts are kept.
    """
    entries = document.get("disabled", [])
    names = {entry["name"].partition(":")[2]: entry for entry in reversed(entries)}
    kept = [entry for entry in entries if entry in names.values()]
    return document | {"disabled": kept} if entries else document


def _status_of_namesake(document: Json, _request: Request) -> Json:
    """Return the answer with each locked tool's status taken from the first of the same name."""
    entries = document.get("disabled", [])
    first: dict[str, str] = {}
    for entry in entries:
        first.setdefault(entry["name"].partition(":")[2], entry["status"])
    changed = [entry | {"status": first[entry["name"].partition(":")[2]]} for entry in entries]
    return document | {"disabled": changed} if entries else document


def _last_of_name(hits: Sequence[Match], limit: int) -> Windows:
    """Split the hits as usual, but keep only the last of several locked ones that share a name.

    Return the callable ones, up to the limit, and the locked ones.
    """
    callables, rest = std.window(hits, limit)
    return callables, list({hit.facts.tool.name: hit for hit in rest}.values())


def _withheld_namesakes_dropped(document: Json, _request: Request) -> Json:
    """Return the answer without withheld entries named like a locked one that is not withheld.

    The name is that after the server's; remediation texts are kept.
    """
    entries = document.get("disabled", [])
    names = {e["name"].rpartition(":")[2] for e in entries if e["status"] not in WITHHELD}
    kept = [
        entry
        for entry in entries
        if entry["status"] not in WITHHELD or entry["name"].rpartition(":")[2] not in names
    ]
    return document | {"disabled": kept} if len(kept) < len(entries) else document


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "withheld-namesakes-dropped",
        "Withheld tools are left out beside an indexed locked tool of the same name.",
        "FR-001.reveals-quarantined",
        answer=flagged(_withheld_namesakes_dropped),
    ),
    mutant(
        "locked-namesakes-merged",
        "Of locked tools with one name on several servers, the first is listed.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        answer=_namesakes_merged,
    ),
    mutant(
        "status-of-the-first-namesake",
        "Of locked tools with one name on several servers, all have the status of the first.",
        "FR-004.precedence",
        answer=_status_of_namesake,
    ),
    mutant(
        "last-of-a-name-kept",
        "Of locked hits with one name on several servers, the last is kept.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        window=_last_of_name,
    ),
    mutant(
        "locked-found-by-name",
        "Locked tools are found only by words in their names.",
        "FR-001.by-description",
        answer=_named_only({"disabled_by_config", "disabled_by_user"}),
    ),
    mutant(
        "user-locked-found-by-name",
        "User-locked tools are found only by words in their names.",
        "FR-001.by-description",
        answer=_named_only({"disabled_by_user"}),
    ),
    mutant(
        "by-name-only",
        "Locked tools are found by their names, not by their descriptions.",
        "FR-001.by-description",
        swap=by_name(std.matches),
    ),
    mutant(
        "pass-skips-changed-tools",
        "The search for unapproved tools finds new tools but not changed ones.",
        "FR-001.reveals-changed",
        withheld_status=lambda facts: (
            None if facts.approval == "changed" else std.withheld_status(facts)
        ),
    ),
    mutant(
        "changed-tool-told-once",
        "A changed tool is revealed in one answer and never again.",
        "FR-001.reveals-changed",
        withheld_status=Fresh(_changed_listed_once),
    ),
    mutant(
        "changed-callable",
        "A changed tool is listed as callable with its unapproved text.",
        "FR-001.reveals-changed",
        "FR-003.canary",
        **_open_to_lists("changed"),
    ),
    mutant(
        "changed-missing",
        "Changed tools are not revealed.",
        "FR-001.reveals-changed",
        "SC-006.every-kind",
        withheld_status=_skip(lambda facts: facts.approval == "changed" and not facts.quarantined),
    ),
    mutant(
        "later-pages-hide-locked",
        "Locked tools from later pages of a list are not revealed.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        swap=lambda gateway: _hide(gateway, on_later_pages(gateway)),
    ),
    mutant(
        "allow-list-loads-what-it-names",
        "Tools missing from an allow list are never loaded.",
        "FR-001.reveals-config",
        swap=_only_allowed_loaded,
    ),
    mutant(
        "long-deny-list-hides",
        "The tools of a deny list with more than one name are not revealed.",
        "FR-001.reveals-config",
        swap=_long_deny_list_hidden,
    ),
    mutant(
        "allow-ignored",
        "Discovery ignores allow lists.",
        "FR-001.reveals-config",
        "FR-004.follows-state",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        swap=viewed_as(lambda gateway, facts: facts.denied and not by_allow_list(gateway, facts)),
    ),
    mutant(
        "allow-as-deny",
        "Discovery reads an allow list as a deny list.",
        "FR-001.reveals-config",
        "FR-004.follows-state",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        swap=viewed_as(_allow_as_deny),
    ),
    mutant(
        "empty-allow",
        "Discovery treats an empty allow list as if there were no list.",
        "FR-001.reveals-config",
        "FR-004.follows-state",
        "FR-001.default-off",
        "FR-002.no-locked-names",
        swap=viewed_as(
            lambda gateway, facts: (
                facts.denied
                and gateway.config.servers[facts.tool.server].enabled_tools != frozenset()
            )
        ),
    ),
    mutant(
        "flag-by-text",
        "The flag works only as the string `true`, not as a boolean.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        flag=lambda arguments: arguments.get(FLAG) == "true",
    ),
    mutant(
        "config-not-indexed",
        "Denied tools are left out of the index.",
        "FR-001.reveals-config",
        swap=left_out(lambda facts: facts.denied),
    ),
    mutant(
        "stdio-hidden",
        "Locked tools of stdio servers are not revealed.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        swap=_stdio_hidden,
    ),
    mutant(
        "agents-no-section",
        "Agents with a limited scope get no locked entries.",
        "FR-001.reveals-config",
        "FR-001.reveals-user",
        answer=_without_section,
    ),
    mutant(
        "pass-takes-changed-or-new",
        "A server's new tools are not revealed while it has a changed one.",
        "FR-001.reveals-pending",
        swap=_changed_or_else_new,
    ),
    mutant(
        "pass-for-the-administrator-only",
        "Unapproved and quarantined tools are not revealed to agents.",
        "FR-001.reveals-pending",
        "FR-001.reveals-changed",
        scope=_administrators_pass,
    ),
    mutant(
        "pending-callable",
        "A new tool is listed as callable with its unapproved text.",
        "FR-001.reveals-pending",
        "FR-003.canary",
        "FR-002.no-locked-names",
        **_open_to_lists("pending"),
    ),
    mutant(
        "pending-missing",
        "New tools are not revealed.",
        "FR-001.reveals-pending",
        "SC-006.every-kind",
        withheld_status=_skip(lambda facts: facts.approval == "pending" and not facts.quarantined),
    ),
    mutant(
        "quarantine-drops-the-tools",
        "The tools of a server are forgotten when it is quarantined.",
        "FR-001.reveals-quarantined",
        swap=_quarantine_drops_tools,
    ),
    mutant(
        "pass-skips-trusted-servers",
        "Tools of a trusted server in quarantine are not revealed.",
        "FR-001.reveals-quarantined",
        swap=_trusted_left_out,
    ),
    mutant(
        "refresh-forgets-user-locked",
        "After a refresh, user-locked tools are not found.",
        "FR-001.reveals-user",
        swap=_refresh_forgets,
    ),
    mutant(
        "user-not-indexed",
        "A user lock removes the tool from the index at once.",
        "FR-001.reveals-user",
        swap=left_out(lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "user-dropped-on-refresh",
        "A tool locked by the user is missing after a refresh of its server.",
        "FR-001.reveals-user",
        swap=_dropped_when_listed,
    ),
    mutant(
        "user-dropped-on-restart",
        "A tool locked by the user is missing after a restart.",
        "FR-001.reveals-user",
        swap=_dropped_at_start,
    ),
    mutant(
        "user-wears-off",
        "A tool locked by the user is revealed only in the first answers.",
        "FR-001.reveals-user",
        "FR-001.endures",
        indexed=Fresh(_dropped_after_lookups),
        withheld_status=_skip(lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "server-off-still-offered",
        "Search lists the tools of a switched-off server as callable.",
        "FR-001.server-off",
        may_call=lambda facts, surface: std.may_call(
            replace(facts, enabled=True) if surface == "discovery" else facts, surface
        ),
    ),
    mutant(
        "server-off-is-unknown",
        "Tools of a switched-off server are listed as disabled_unknown.",
        "FR-001.server-off",
        "FR-004.precedence",
        classify=lambda facts: std.classify(facts) if facts.enabled else "disabled_unknown",
    ),
)
