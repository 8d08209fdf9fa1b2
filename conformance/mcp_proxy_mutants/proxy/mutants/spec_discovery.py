"""Faults of what the flag reveals: the index, and the pass over withheld tools."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_mutants.proxy.mutant import Fresh, Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import WITHHELD, later_pages, left_out
from mcp_proxy_mutants.proxy.swapping import decide, own, put
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.store import StoreError


def _dropped_when_listed(gateway: Gateway) -> None:
    """Whatever the user has locked when its server is discovered anew is not indexed again."""
    dropped: dict[str, set[str]] = {}
    record = own(gateway, "_record")

    def recorded(name: str) -> None:
        record(name)
        known = gateway.records() or {}
        dropped[name] = {tool for (server, tool), one in known.items() if server == name and one[2]}

    put(gateway, _record=recorded)
    left_out(
        lambda facts: facts.disabled_by_user and facts.tool.name in dropped[facts.tool.server]
    )(gateway)


def _dropped_at_start(gateway: Gateway) -> None:
    """Whatever the user had locked when the proxy started is not indexed."""
    try:
        old = {key for key, record in gateway.store.records().items() if record.disabled}
    except StoreError:
        old = set()
    left_out(lambda facts: (facts.tool.server, facts.tool.name) in old)(gateway)


def _dropped_in_time(gateway: Gateway) -> None:
    """A tidying task takes locked tools out of the index, twenty seconds after the start."""
    start = time.monotonic()
    left_out(
        lambda facts: (facts.denied or facts.disabled_by_user) and time.monotonic() > start + 20
    )(gateway)


def _stdio_hidden(gateway: Gateway) -> None:
    def locked(facts: Facts) -> bool:
        return bool(gateway.config.servers[facts.tool.server].command) and not std.may_call(
            facts, "discovery"
        )

    left_out(locked)(gateway)


def _first_page(gateway: Gateway) -> None:
    """Only tools from the first page of a server are looked at for locks."""
    later = later_pages(gateway)
    left_out(lambda facts: facts.tool.key in later and not std.may_call(facts, "discovery"))(
        gateway
    )


def _by_name(relevance: Callable[[str, Facts], float]) -> Callable[[Gateway], None]:
    """Every locked tool is matched apart from the index."""

    def swap(gateway: Gateway) -> None:
        def apart(facts: Facts) -> bool:
            return facts.denied or facts.disabled_by_user or not facts.enabled

        decide(
            gateway,
            indexed=lambda facts: std.indexed(facts) and not apart(facts),
            withheld_status=lambda facts: (
                std.classify(facts) if std.indexed(facts) else std.withheld_status(facts)
            ),
            matches=lambda query, facts: (
                relevance(query, facts) if std.indexed(facts) else std.matches(query, facts)
            ),
            locked_entry=lambda facts, status, _: std.locked_entry(
                facts, status, status in WITHHELD
            ),
        )

    return swap


def _open_to_lists(*approvals: str) -> dict[str, Any]:
    """Tools in this state of approval are found and shown as callable, and refused when called."""

    def view(facts: Facts) -> Facts:
        return replace(facts, approval="approved") if facts.approval in approvals else facts

    return {
        "indexed": lambda facts: std.indexed(view(facts)),
        "may_call": lambda facts, surface: std.may_call(
            view(facts) if surface == "discovery" else facts, surface
        ),
    }


def _users_first_answer() -> Callable[[Facts], bool]:
    """A user's lock takes its tool out of the index once it has been looked up twenty times."""
    looks: dict[str, int] = {}

    def indexed(facts: Facts) -> bool:
        if facts.disabled_by_user and not facts.denied:
            looks[facts.tool.key] = looks.get(facts.tool.key, 0) + 1
        return std.indexed(facts) and looks.get(facts.tool.key, 0) <= LOOKS

    return indexed


def _skip(dropped: Callable[[Facts], bool]) -> Callable[[Facts], object]:
    return lambda facts: None if dropped(facts) else std.withheld_status(facts)


def _ignoring_config(when: Callable[[Facts], bool]) -> Callable[[Facts], object]:
    return lambda facts: std.withheld_status(
        replace(facts, denied=facts.denied and not when(facts))
    )


LOOKS = 20
KINDS = "FR-001.reveals-config", "FR-001.reveals-user", "FR-001.by-description"
SEEN = "FR-004.follows-state", "FR-001.default-off", "FR-002.no-locked-names"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-config-not-indexed",
        "Denied tools are left out of the index.",
        "FR-001.reveals-config",
        swap=left_out(lambda facts: facts.denied),
    ),
    mutant(
        "spec-user-not-indexed",
        "A user's lock takes the tool out of the index at once.",
        "FR-001.reveals-user",
        swap=left_out(lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "spec-user-dropped-on-refresh",
        "A tool locked by the user is gone once its server was discovered again.",
        "FR-001.reveals-user",
        swap=_dropped_when_listed,
    ),
    mutant(
        "spec-user-dropped-on-restart",
        "A tool locked by the user is gone after a restart.",
        "FR-001.reveals-user",
        swap=_dropped_at_start,
    ),
    mutant(
        "spec-dropped-in-time",
        "Locked tools leave the index after twenty seconds.",
        "FR-001.endures",
        swap=_dropped_in_time,
    ),
    mutant(
        "spec-user-wears-off",
        "A tool locked by the user is revealed in the first answers only.",
        "FR-001.reveals-user",
        "FR-001.endures",
        indexed=Fresh(_users_first_answer),
        withheld_status=_skip(lambda facts: facts.disabled_by_user),
    ),
    mutant(
        "spec-stdio-hidden",
        "Locked tools of servers on standard streams are not revealed.",
        *KINDS[:2],
        swap=_stdio_hidden,
    ),
    mutant(
        "spec-first-page",
        "Locked tools are looked for on the first page of a server only.",
        *KINDS[:2],
        swap=_first_page,
    ),
    mutant(
        "spec-by-name-only",
        "Locked tools are found by their names, not by their descriptions.",
        "FR-001.by-description",
        swap=_by_name(std.matches),
    ),
    mutant(
        "spec-any-query",
        "Locked tools are listed whatever the query asks for.",
        "FR-002.no-locks-no-change",
        "FR-009.silent",
        swap=_by_name(lambda query, facts: max(std.matches(query, facts), 0.5)),
    ),
    mutant(
        "spec-pending-callable",
        "A new tool is listed as callable with its unapproved text.",
        "FR-001.reveals-pending",
        "FR-003.canary",
        "FR-002.no-locked-names",
        **_open_to_lists("pending"),
    ),
    mutant(
        "spec-changed-callable",
        "A changed tool is listed as callable with its unapproved text.",
        "FR-001.reveals-changed",
        "FR-003.canary",
        **_open_to_lists("changed"),
    ),
    mutant(
        "spec-pending-missing",
        "New tools are not revealed.",
        "FR-001.reveals-pending",
        "SC-006.every-kind",
        withheld_status=_skip(lambda facts: facts.approval == "pending" and not facts.quarantined),
    ),
    mutant(
        "spec-changed-missing",
        "Changed tools are not revealed.",
        "FR-001.reveals-changed",
        "SC-006.every-kind",
        withheld_status=_skip(lambda facts: facts.approval == "changed" and not facts.quarantined),
    ),
    mutant(
        "spec-quarantined-missing",
        "Tools of a quarantined server are not revealed.",
        "FR-001.reveals-quarantined",
        withheld_status=_skip(lambda facts: facts.quarantined),
    ),
    mutant(
        "spec-pass-lists-denied-pending",
        "A denied tool that awaits approval is listed as pending.",
        "FR-004.config-skips-quarantine",
        withheld_status=_ignoring_config(lambda facts: not facts.quarantined),
    ),
    mutant(
        "spec-pass-lists-denied-quarantined",
        "A denied tool of a quarantined server is listed as quarantined.",
        "FR-004.config-skips-quarantine",
        withheld_status=_ignoring_config(lambda facts: facts.quarantined),
    ),
    mutant(
        "spec-off-callable",
        "Tools of a server that is off are listed as callable.",
        "FR-001.server-off",
        may_call=lambda facts, surface: std.may_call(
            replace(facts, enabled=True) if surface == "discovery" else facts, surface
        ),
    ),
    mutant(
        "spec-off-unknown",
        "Tools of a server that is off are listed as undetermined.",
        "FR-001.server-off",
        "FR-004.precedence",
        classify=lambda facts: "disabled_unknown" if not facts.enabled else std.classify(facts),
    ),
)
