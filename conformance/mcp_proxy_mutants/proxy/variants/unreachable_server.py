"""Variants of an enabled server that does not answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_proxy_mutants.proxy.gateway_changes import decide, own, put
from mcp_proxy_mutants.proxy.pieces import unanswered
from mcp_proxy_mutants.proxy.variant import Variant, variant
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
    """Keep locks with the connection: without one, only what config denies has a reason."""
    known = gateway.known

    def connected() -> Mapping[str, Sequence[Facts]]:
        away = unanswered(gateway)
        return {name: [*map(_lost, tools)] if name in away else tools
                for name, tools in known().items()}  # fmt: skip

    def allowed(facts: Facts, surface: str) -> bool:
        return may_call(facts, surface) and facts.tool.server not in unanswered(gateway)

    put(gateway, known=connected)
    decide(gateway, may_call=allowed)


def _lost(facts: Facts) -> Facts:
    return replace(facts, disabled_by_user=False, approval=None)


def switched_off(gateway: Gateway) -> None:
    """Switch a server off, in the config file, once a refresh of it has failed."""
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
