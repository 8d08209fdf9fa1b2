"""Faults of how discovery reads the operator's lists."""

from collections.abc import Callable
from dataclasses import replace

from mcp_proxy_mutants.proxy.mutant import Mutant, mutant
from mcp_proxy_mutants.proxy.pieces import by_allow_list, called, left_out
from mcp_proxy_mutants.proxy.swapping import decide
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts
from mcp_proxy_reference.gateway import Gateway


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
    left_out(lambda facts: by_allow_list(gateway, facts))(gateway)


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


SEEN = "FR-004.follows-state", "FR-001.default-off", "FR-002.no-locked-names"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "spec-allow-ignored",
        "Discovery takes no notice of allow lists.",
        "FR-001.reveals-config",
        *SEEN,
        swap=_seen_as(lambda gateway, facts: facts.denied and not by_allow_list(gateway, facts)),
    ),
    mutant(
        "spec-allow-as-deny",
        "Discovery reads an allow list as a deny list.",
        "FR-001.reveals-config",
        *SEEN,
        swap=_seen_as(_allow_as_deny),
    ),
    mutant(
        "spec-empty-allow",
        "Discovery takes an empty allow list for none.",
        "FR-001.reveals-config",
        *SEEN,
        swap=_seen_as(_empty_allows_all),
    ),
    mutant(
        "spec-allow-unrevealed",
        "What is not on an allow list is not revealed.",
        "FR-001.reveals-config",
        swap=_allow_unrevealed,
    ),
    mutant(
        "spec-allow-unknown",
        "Absence from an allow list is not known as a reason.",
        "FR-004.precedence",
        swap=_allow_unknown,
    ),
    mutant(
        "spec-deny-everywhere",
        "A deny list is applied to tools of that name on every server.",
        "FR-010.sum",
        "SC-005.absent",
        swap=_seen_as(_any_server_denies),
    ),
    mutant(
        "spec-config-of-start",
        "Discovery knows the operator's lists as they were at the start.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        swap=_config_of_start,
    ),
    mutant(
        "spec-config-before-last",
        "Discovery is one change of the config behind.",
        "FR-004.follows-state",
        "FR-001.reveals-config",
        swap=_config_before_last,
    ),
    mutant(
        "spec-pass-reads-deny-only",
        "Withheld tools are skipped for deny lists, not for allow lists.",
        "FR-004.config-skips-quarantine",
        swap=_allow_in_pass,
    ),
)
