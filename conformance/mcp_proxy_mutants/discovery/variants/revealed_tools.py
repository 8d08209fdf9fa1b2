"""Variants of the tools that the flag reveals: which, when, and under which status."""

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar

from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Agent, Facts, Json, Match, Status, Tool
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Outcome
from mcp_proxy_reference.operator_api import HttpError
from mcp_proxy_reference.policy import (
    EXACT,
    classify,
    counts,
    locked_entry,
    matches,
    note,
    withheld_status,
)
from mcp_proxy_reference.upstream import Upstream

STILL_ON: Json = {"enabled": True, "connection_status": {"state": "ready"}}


def only_contacted(gateway: Gateway) -> None:
    """Ignore the outcome of loads of a quarantined server; keep the tools known before."""
    attach = own(gateway, "_attach")

    def watched(upstream: Upstream) -> Upstream:
        take, name = own(upstream, "_take"), upstream.connection.server_id

        def unless_quarantined(outcome: Outcome) -> None:
            if not gateway.config.servers[name].quarantined:
                take(outcome)

        put(upstream, _take=unless_quarantined)
        return upstream

    for upstream in gateway.upstreams.values():
        watched(upstream)
    put(gateway, _attach=lambda server: watched(attach(server)))


def whatever_the_query(query: str, facts: Facts) -> float:
    """Return how well a tool outside the index matches by name, at least 1: any query finds it."""
    return max(1, matches(query, facts))


FLAGGED: ContextVar[bool] = ContextVar("FLAGGED", default=False)
"""Whether the request that is answered has the flag."""


async def with_its_flag(
    _agent: Agent, _session: str, message: Json, respond: Callable[[], Awaitable[Json]]
) -> Json:
    """Return the usual reply, with FLAGGED set while it is made."""
    arguments = (message.get("params") or {}).get("arguments") or {}
    FLAGGED.set(arguments.get("include_disabled") is True)
    return await respond()


def whatever_the_query_under_the_flag(query: str, facts: Facts) -> float:
    """Return how well a tool outside the index matches by name, under the flag at least 1."""
    return whatever_the_query(query, facts) if FLAGGED.get() else matches(query, facts)


def named_only(query: str, facts: Facts) -> float:
    """Return the best score if the query is the full name of a tool outside the index, else 0."""
    return EXACT if matches(query, facts) == EXACT else 0


def no_server_off(hits: Sequence[Match], limit: int) -> tuple[Sequence[Match], Sequence[Match]]:
    """Return callable hits up to the limit and all locked ones, on servers that are on."""
    on = [hit for hit in hits if hit.facts.enabled]
    return [hit for hit in on if hit.may_call][:limit], [hit for hit in on if not hit.may_call]


def known_approvals_only(facts: Facts) -> Status | None:
    """Return a withheld tool's status; None (not listed) while its approval cannot be read."""
    return None if facts.approval is None else withheld_status(facts)


def approvals_remembered(facts: Facts) -> Status | None:
    """Return a withheld tool's status; pending while its approval cannot be read.

    None is a tool that is not listed.
    """
    status = withheld_status(facts)
    return "pending_approval" if status == "disabled_unknown" else status


def of_either_pass(facts: Facts) -> Status | None:
    """Return a withheld tool's status, even on a server that is off; None if config denies it."""
    if facts.denied:
        return None
    if facts.quarantined:
        return "server_quarantined"
    return "disabled_unknown" if facts.approval is None else "pending_approval"


def user_first(facts: Facts) -> Status | None:
    """Return a withheld tool's status, with the user's lock before quarantine and approval.

    None is a tool that is not listed.
    """
    status = withheld_status(facts)
    return "disabled_by_user" if status and facts.disabled_by_user else status


def user_before_quarantine(facts: Facts) -> Status:
    """Return a tool's status, with the user's lock before quarantine and approval.

    A server that is off and config come first.
    """
    if facts.enabled and not facts.denied and facts.disabled_by_user:
        return "disabled_by_user"
    return classify(facts)


def five_words(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
    """Return a server's counts with quarantined tools as pending; None if nothing is locked.

    An older text of the source has no status for quarantine.
    """
    return counts(
        [
            (facts, "pending_approval" if status == "server_quarantined" else status)
            for facts, status in tools
        ]
    )


def connected_only(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
    """Return a server's counts; None for a server that is off or in quarantine.

    None, too, if nothing is locked.
    """
    return counts([pair for pair in tools if pair[0].enabled and not pair[0].quarantined])


def refuse_combinations(gateway: Gateway) -> None:
    """Refuse operator requests to lock a tool that is off, quarantined or denied, with HTTP 409.

    Also those to switch off a quarantined server.
    """
    lock, switch = gateway.store.lock, gateway.switch

    def locked(tool: Tool, *, locked: bool) -> None:
        server = gateway.config.servers[tool.server]
        if locked and (server.quarantined or not server.enabled or server.denies(tool.name)):
            raise HttpError(409, "The tool is locked already.")
        lock(tool, locked=locked)

    def switched(name: str, **changes: bool) -> None:
        server = gateway.config.servers[name]
        if changes.get("enabled") is False and server.quarantined:
            raise HttpError(409, "A server in quarantine cannot be turned off.")
        switch(name, **changes)

    put(gateway.store, lock=locked)
    put(gateway, switch=switched)


def forget_reasons(gateway: Gateway) -> None:
    """After a restart, report earlier user locks as `disabled_unknown`; they stay enforced."""
    if not gateway.store.records():
        return
    inherited = {key for key, record in gateway.store.records().items() if record.disabled}

    def classified(facts: Facts) -> Status:
        status = classify(facts)
        ours = (facts.tool.server, facts.tool.name) not in inherited
        return status if ours or status != "disabled_by_user" else "disabled_unknown"

    decide(gateway, classify=classified)


VARIANTS: tuple[Variant, ...] = (
    variant(
        "allow-list-selects",
        "An allow list decides which tools exist, and is not offered as a lock.",
        "allow-list-is-config",
        lacks=("allow_list",),
    ),
    variant(
        "quarantine-not-contacted",
        "The tools of a quarantined server are not fetched, and a restart forgets them.",
        "quarantine-first-contact",
        "quarantine-after-restart",
        "FR-001.reveals-quarantined~first-contact",
        "FR-001.reveals-quarantined~restart",
        swap=only_contacted,
    ),
    variant(
        "quarantined-always",
        "Withheld tools are listed for every query.",
        "quarantined-whatever-the-query",
        "FR-002.no-locks-no-change~quarantined",
        matches=whatever_the_query,
    ),
    variant(
        "quarantined-always-and-noted-by-name",
        "Withheld tools are listed for every query; the note counts those whose names match.",
        "relevant",
        "quarantined-whatever-the-query",
        "FR-002.no-locks-no-change~quarantined",
        reply=with_its_flag,
        matches=whatever_the_query_under_the_flag,
    ),
    variant(
        "quarantined-by-name", "Withheld tools are found only by their names.", matches=named_only
    ),
    variant(
        "server-off-absent",
        "Tools of a switched-off server do not appear in discovery.",
        "server-off-absent-or-shown",
        window=no_server_off,
        note=lambda flag, callables, locked: note(
            flag, callables, [facts for facts in locked if facts.enabled]
        ),
    ),
    variant(
        "server-off-unmarked",
        "The listing shows a switched-off server as before.",
        "FR-001.server-off~listing",
        server_entry=lambda entry, _: entry | STILL_ON,
    ),
    variant(
        "passes-decide",
        "Unapproved tools of a switched-off server are listed as pending or quarantined.",
        "allowed-by-precedence",
        withheld_status=of_either_pass,
    ),
    variant(
        "order-decides",
        "Withheld tools have the same order of statuses; config-denied ones are always listed.",
        "allowed-by-precedence",
        withheld_status=classify,
    ),
    variant(
        "user-before-quarantine",
        "A user lock takes precedence over quarantine and approval.",
        "allowed-by-precedence",
        withheld_status=user_first,
        classify=user_before_quarantine,
    ),
    variant(
        "locked-once",
        "The operator side refuses to lock what is already locked.",
        "refused-combination",
        swap=refuse_combinations,
    ),
    variant(
        "withheld-unlisted-while-lost",
        "Unapproved tools do not appear in discovery while approvals cannot be read.",
        "lookup-failure",
        withheld_status=known_approvals_only,
    ),
    variant(
        "approvals-remembered-while-lost",
        "Unapproved tools are listed as pending while approvals cannot be read.",
        "lookup-failure",
        withheld_status=approvals_remembered,
    ),
    variant(
        "texts-withheld-while-lost",
        "While approvals cannot be read, tools that config does not deny have no description.",
        "lookup-failure",
        locked_entry=lambda facts, status, withheld: locked_entry(
            facts, status, withheld or (facts.approval is None and not facts.denied)
        ),
    ),
    variant(
        "reason-lost",
        "After a restart, it is not known who locked a tool.",
        "status-after-restart",
        "FR-004.deterministic~restart",
        swap=forget_reasons,
    ),
    variant(
        "five-words-counted",
        "Tools of a quarantined server are counted as pending_approval.",
        "six-or-five-statuses",
        "FR-010.quarantined~word",
        counts=five_words,
    ),
    variant(
        "quarantined-uncounted",
        "Counts leave out the tools of a quarantined server.",
        "six-or-five-statuses",
        "connected-servers",
        counts=connected_only,
    ),
)
