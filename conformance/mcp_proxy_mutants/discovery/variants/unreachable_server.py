"""Variants for an enabled server that does not answer: tools or reasons left out, switched off."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_proxy_mutants.discovery.gateway_changes import decide, own, put
from mcp_proxy_mutants.discovery.pieces import unanswered
from mcp_proxy_mutants.discovery.variant import Variant, variant
from mcp_proxy_reference.facts import Facts
from mcp_proxy_reference.gateway import Gateway
from mcp_proxy_reference.loader import Outcome
from mcp_proxy_reference.policy import may_call
from mcp_proxy_reference.upstream import Upstream


def tools_leave(gateway: Gateway) -> None:
    """Leave the tools of a server whose last load failed out of every answer."""
    known = gateway.known

    def connected() -> Mapping[str, Sequence[Facts]]:
        away = unanswered(gateway)
        return {name: () if name in away else tools for name, tools in known().items()}

    put(gateway, known=connected)


def reasons_lost(gateway: Gateway) -> None:
    """While a server's last load failed, lock its tools; only config's denial keeps its reason."""
    known = gateway.known

    def connected() -> Mapping[str, Sequence[Facts]]:
        away = unanswered(gateway)
        return {name: [*map(_lost, tools)] if name in away else tools
                for name, tools in known().items()}  # fmt: skip

    put(gateway, known=connected)
    decide(
        gateway,
        may_call=lambda facts, surface: (
            may_call(facts, surface) and facts.tool.server not in unanswered(gateway)
        ),
    )


def _lost(facts: Facts) -> Facts:
    """Return the facts without the user's lock, and with an approval that cannot be read."""
    return replace(facts, disabled_by_user=False, approval=None)


def switched_off(gateway: Gateway) -> None:
    """Switch a server with known tools off, also in the config file, once a load of it failed."""
    attach = own(gateway, "_attach")

    def watched(upstream: Upstream) -> Upstream:
        take, name = own(upstream, "_take"), upstream.connection.server_id

        def or_off(outcome: Outcome) -> None:
            take(outcome)
            if outcome.status != "available" and gateway.tools(name):
                gateway.switch(name, enabled=False)

        put(upstream, _take=or_off)
        return upstream

    for upstream in gateway.upstreams.values():
        watched(upstream)
    put(gateway, _attach=lambda server: watched(attach(server)))


VARIANTS: tuple[Variant, ...] = (
    variant(
        "unreachable-unlisted",
        "Tools of a server that does not answer appear nowhere.",
        "unreachable-server",
        swap=tools_leave,
    ),
    variant(
        "unreachable-unknown",
        "The reasons of locks are unknown while their server does not answer, but for config.",
        "unreachable-server",
        swap=reasons_lost,
    ),
    variant(
        "unreachable-switched-off",
        "The proxy switches a server off itself when it does not answer.",
        "unreachable-server",
        swap=switched_off,
    ),
)
