"""Faults of what the flag reveals: lists of the operator, the index, the pass of its own."""

import time
from collections.abc import Callable
from dataclasses import replace

from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts
from mcp_proxy_reference.faults.fault import Fault, Fresh, fault
from mcp_proxy_reference.faults.kit_spec import (
    WITHHELD,
    by_allow_list,
    called,
    decide,
    got,
    put,
)
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.store import StoreError


def _without(dropped: Callable[[Facts], bool]) -> Callable[[Gateway], None]:
    """Tools that are in neither pass of discovery."""

    def swap(gateway: Gateway) -> None:
        decide(
            gateway,
            indexed=lambda facts: std.indexed(facts) and not dropped(facts),
            withheld_status=lambda facts: None if dropped(facts) else std.withheld_status(facts),
        )

    return swap


def _seen_as(read: Callable[[Gateway, Facts], bool]) -> Callable[[Gateway], None]:
    """Lists and searches read the operator's lists in a way of their own; calls do not."""

    def swap(gateway: Gateway) -> None:
        def view(facts: Facts) -> Facts:
            return replace(facts, denied=read(gateway, facts))

        decide(
            gateway,
            may_call=lambda facts, surface: std.may_call(
                facts if called(surface) else view(facts), surface
            ),
            classify=lambda facts: std.classify(view(facts)),
            withheld_status=lambda facts: std.withheld_status(view(facts)),
        )

    return swap


def _allow_as_deny(gateway: Gateway, facts: Facts) -> bool:
    allowed = gateway.config.servers[facts.tool.server].enabled_tools
    return facts.denied if allowed is None else facts.tool.name in allowed


def _empty_allows_all(gateway: Gateway, facts: Facts) -> bool:
    return facts.denied and gateway.config.servers[facts.tool.server].enabled_tools != frozenset()


def _any_server_denies(gateway: Gateway, facts: Facts) -> bool:
    name = facts.tool.name
    return facts.denied or any(
        name in server.disabled_tools for server in gateway.config.servers.values()
    )


def _allow_unrevealed(gateway: Gateway) -> None:
    _without(lambda facts: by_allow_list(gateway, facts))(gateway)


def _allow_unknown(gateway: Gateway) -> None:
    decide(
        gateway,
        classify=lambda facts: (
            "disabled_unknown"
            if facts.enabled and by_allow_list(gateway, facts)
            else std.classify(facts)
        ),
    )


def _allow_in_pass(gateway: Gateway) -> None:
    decide(
        gateway,
        withheld_status=lambda facts: std.withheld_status(
            replace(facts, denied=facts.denied and not by_allow_list(gateway, facts))
        ),
    )


def _config_of_start(gateway: Gateway) -> None:
    first = gateway.config.servers

    def read(_: Gateway, facts: Facts) -> bool:
        server = first.get(facts.tool.server)
        return facts.denied if server is None else server.denies(facts.tool.name)

    _seen_as(read)(gateway)


def _config_before_last(gateway: Gateway) -> None:
    seen = [gateway.config, gateway.config]

    def read(now: Gateway, facts: Facts) -> bool:
        if now.config.document != seen[1].document:
            seen[:] = [seen[1], now.config]
        server = seen[0].servers.get(facts.tool.server)
        return facts.denied if server is None else server.denies(facts.tool.name)

    _seen_as(read)(gateway)


def _dropped_when_listed(gateway: Gateway) -> None:
    """Whatever the user has locked when its server is discovered anew is not indexed again."""
    dropped: dict[str, set[str]] = {}
    record = got(gateway, "_record")

    def recorded(name: str) -> None:
        record(name)
        known = gateway.records() or {}
        dropped[name] = {tool for (server, tool), one in known.items() if server == name and one[2]}

    put(gateway, _record=recorded)
    _without(
        lambda facts: facts.disabled_by_user and facts.tool.name in dropped[facts.tool.server]
    )(gateway)


def _dropped_at_start(gateway: Gateway) -> None:
    """Whatever the user had locked when the proxy started is not indexed."""
    try:
        old = {key for key, record in gateway.store.records().items() if record.disabled}
    except StoreError:
        old = set()
    _without(lambda facts: (facts.tool.server, facts.tool.name) in old)(gateway)


def _dropped_in_time(gateway: Gateway) -> None:
    """A tidying task takes locked tools out of the index, twenty seconds after the start."""
    start = time.monotonic()
    _without(
        lambda facts: (facts.denied or facts.disabled_by_user) and time.monotonic() > start + 20
    )(gateway)


def _stdio_hidden(gateway: Gateway) -> None:
    def locked(facts: Facts) -> bool:
        return bool(gateway.config.servers[facts.tool.server].command) and not std.may_call(
            facts, "discovery"
        )

    _without(locked)(gateway)


def _after_first_page(gateway: Gateway) -> None:
    """Only as many tools of a server as its first page held are looked at for locks."""
    _without(
        lambda facts: (
            not std.may_call(facts, "discovery")
            and list(gateway.tools(facts.tool.server)).index(facts.tool.name) >= 20
        )
    )(gateway)


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


def _open_to_lists(*approvals: str) -> dict[str, Callable[..., bool]]:
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
        return std.indexed(facts) and looks.get(facts.tool.key, 0) <= 20

    return indexed


def _skip(dropped: Callable[[Facts], bool]) -> Callable[[Facts], object]:
    return lambda facts: None if dropped(facts) else std.withheld_status(facts)


def _ignoring_config(when: Callable[[Facts], bool]) -> Callable[[Facts], object]:
    return lambda facts: std.withheld_status(
        replace(facts, denied=facts.denied and not when(facts))
    )


KINDS = "FR-001.reveals-config", "FR-001.reveals-user", "FR-001.by-description"
SEEN = "FR-004.follows-state", "FR-001.default-off", "FR-002.no-locked-names"

FAULTS: tuple[Fault, ...] = (
    fault(
        "spec-allow-ignored",
        "Discovery takes no notice of allow lists.",
        "FR-001.reveals-config",
        *SEEN,
        swap=_seen_as(lambda gateway, facts: facts.denied and not by_allow_list(gateway, facts)),
    ),
    fault(
        "spec-allow-as-deny",
        "Discovery reads an allow list as a deny list.",
        "FR-001.reveals-config",
        *SEEN,
        swap=_seen_as(_allow_as_deny),
    ),
    fault(
        "spec-empty-allow",
        "Discovery takes an empty allow list for none.",
        "FR-001.reveals-config",
        *SEEN,
        swap=_seen_as(_empty_allows_all),
    ),
    fault(
        "spec-allow-unrevealed",
        "What is not on an allow list is not revealed.",
        "FR-001.reveals-config",
        swap=_allow_unrevealed,
    ),
    fault(
        "spec-allow-unknown",
        "Absence from an allow list is not known as a reason.",
        "FR-004.precedence",
        swap=_allow_unknown,
    ),
    fault(
        "spec-deny-everywhere",
        "A deny list is applied to tools of that name on every server.",
        "FR-010.sum",
        "SC-005.absent",
        swap=_seen_as(_any_server_denies),
    ),
    fault(
        "spec-config-of-start",
        "Discovery knows the operator's lists as they were at the start.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        swap=_config_of_start,
    ),
    fault(
        "spec-config-before-last",
        "Discovery is one change of the config behind.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        swap=_config_before_last,
    ),
    fault(
        "spec-config-not-indexed",
        "Denied tools are left out of the index.",
        "FR-001.reveals-config",
        swap=_without(lambda facts: facts.denied),
    ),
    fault(
        "spec-user-not-indexed",
        "A user's lock takes the tool out of the index at once.",
        "FR-001.reveals-user",
        swap=_without(lambda facts: facts.disabled_by_user),
    ),
    fault(
        "spec-user-dropped-on-refresh",
        "A tool locked by the user is gone once its server was discovered again.",
        "FR-001.reveals-user",
        swap=_dropped_when_listed,
    ),
    fault(
        "spec-user-dropped-on-restart",
        "A tool locked by the user is gone after a restart.",
        "FR-001.reveals-user",
        swap=_dropped_at_start,
    ),
    fault(
        "spec-dropped-in-time",
        "Locked tools leave the index after twenty seconds.",
        "FR-001.endures",
        swap=_dropped_in_time,
    ),
    fault(
        "spec-user-wears-off",
        "A tool locked by the user is revealed in the first answers only.",
        "FR-001.reveals-user",
        "FR-001.endures",
        indexed=Fresh(_users_first_answer),
        withheld_status=_skip(lambda facts: facts.disabled_by_user),
    ),
    fault(
        "spec-stdio-hidden",
        "Locked tools of servers on standard streams are not revealed.",
        *KINDS[:2],
        swap=_stdio_hidden,
    ),
    fault(
        "spec-first-twenty",
        "Locked tools are looked for among the first twenty of a server only.",
        *KINDS[:2],
        swap=_after_first_page,
    ),
    fault(
        "spec-by-name-only",
        "Locked tools are found by their names, not by their descriptions.",
        "FR-001.by-description",
        swap=_by_name(std.matches),
    ),
    fault(
        "spec-any-query",
        "Locked tools are listed whatever the query asks for.",
        "FR-002.no-locks-no-change",
        "FR-009.silent",
        swap=_by_name(lambda query, facts: max(std.matches(query, facts), 0.5)),
    ),
    fault(
        "spec-pending-callable",
        "A new tool is listed as callable with its unapproved text.",
        "FR-001.reveals-pending",
        "FR-003.canary",
        "FR-002.no-locked-names",
        **_open_to_lists("pending"),
    ),
    fault(
        "spec-changed-callable",
        "A changed tool is listed as callable with its unapproved text.",
        "FR-001.reveals-changed",
        "FR-003.canary",
        **_open_to_lists("changed"),
    ),
    fault(
        "spec-pending-missing",
        "New tools are not revealed.",
        "FR-001.reveals-pending",
        "SC-006.every-kind",
        withheld_status=_skip(lambda facts: facts.approval == "pending" and not facts.quarantined),
    ),
    fault(
        "spec-changed-missing",
        "Changed tools are not revealed.",
        "FR-001.reveals-changed",
        "SC-006.every-kind",
        withheld_status=_skip(lambda facts: facts.approval == "changed" and not facts.quarantined),
    ),
    fault(
        "spec-quarantined-missing",
        "Tools of a quarantined server are not revealed.",
        "FR-001.reveals-quarantined",
        withheld_status=_skip(lambda facts: facts.quarantined),
    ),
    fault(
        "spec-pass-lists-denied-pending",
        "A denied tool that awaits approval is listed as pending.",
        "FR-004.config-skips-quarantine",
        withheld_status=_ignoring_config(lambda facts: not facts.quarantined),
    ),
    fault(
        "spec-pass-lists-denied-quarantined",
        "A denied tool of a quarantined server is listed as quarantined.",
        "FR-004.config-skips-quarantine",
        withheld_status=_ignoring_config(lambda facts: facts.quarantined),
    ),
    fault(
        "spec-pass-reads-deny-only",
        "Withheld tools are skipped for deny lists, not for allow lists.",
        "FR-004.config-skips-quarantine",
        swap=_allow_in_pass,
    ),
)
