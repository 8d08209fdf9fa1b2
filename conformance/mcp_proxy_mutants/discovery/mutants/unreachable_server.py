"""Mutants that take an enabled server whose last load failed for one that is switched off."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_proxy_mutants.discovery.gateway_changes import decide, put
from mcp_proxy_mutants.discovery.mutant import Mutant, mutant
from mcp_proxy_mutants.discovery.pieces import unanswered
from mcp_proxy_reference import policy as std
from mcp_proxy_reference.facts import Facts, Json, Status
from mcp_proxy_reference.gateway import Gateway


def _shown_as_off(gateway: Gateway) -> None:
    """In discovery and listing, show a server whose last load failed as switched off."""

    def shown() -> Mapping[str, Sequence[Facts]]:
        away = unanswered(gateway)
        return {
            name: [replace(facts, enabled=False) for facts in tools] if name in away else tools
            for name, tools in gateway.known().items()
        }

    put(gateway, shown=shown)


def _counted_as_off(gateway: Gateway) -> None:
    """Count all tools of a server whose last load failed as `server_disabled`."""

    def counts(tools: Sequence[tuple[Facts, Status | None]]) -> Json | None:
        if any(facts.tool.server in unanswered(gateway) for facts, _ in tools):
            return {"callable": 0, "server_disabled": len(tools)}
        return std.counts(tools)

    decide(gateway, counts=counts)


def _rejected_as_off(gateway: Gateway) -> None:
    """Reject calls of locked tools on a server whose last load failed as if it were off."""

    def rejection(facts: Facts, texts: Mapping[Status, str]) -> str:
        is_up = facts.tool.server not in unanswered(gateway)
        return std.rejection(replace(facts, enabled=facts.enabled and is_up), texts)

    decide(gateway, rejection=rejection)


MUTANTS: tuple[Mutant, ...] = (
    mutant(
        "unreachable-shown-as-off",
        "Tools of a server that does not answer are shown as those of a server that is off.",
        "FR-004.precedence",
        "FR-010.sum",
        swap=_shown_as_off,
    ),
    mutant(
        "unreachable-counted-as-off",
        "All tools of a server that does not answer are counted as server_disabled.",
        "FR-010.sum",
        swap=_counted_as_off,
    ),
    mutant(
        "unreachable-rejected-as-off",
        "The rejection of a locked tool says that a server that does not answer is turned off.",
        "FR-004.precedence",
        swap=_rejected_as_off,
    ),
)
