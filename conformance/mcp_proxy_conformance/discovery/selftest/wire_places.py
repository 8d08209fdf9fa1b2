"""Mutants that rewrite some answers only: those to agents, of further endpoints, or at limit 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.discovery.selftest import (
    wire_counts,
    wire_default,
    wire_entries,
    wire_note,
    wire_rejections,
    wire_remediation,
)
from mcp_proxy_conformance.discovery.selftest.edits import (
    dropped,
    restated,
    wire,
)
from mcp_proxy_conformance.discovery.selftest.exchange import WireExchange, WireFault

Where = Callable[[WireExchange], bool]
HOOKS = ("document", "result", "spelled", "refusal", "instead")
IN_WORDS = {"to agents": "for agents", "elsewhere": "at endpoints other than the first"}
KNOWN = {
    fault.id: fault
    for module in (
        wire_default,
        wire_entries,
        wire_counts,
        wire_note,
        wire_rejections,
        wire_remediation,
    )
    for fault in module.FAULTS
}


def to_agents(x: WireExchange) -> bool:
    """Whether the request is an agent's, not the administrator's."""
    return bool(x.agent)


def elsewhere(x: WireExchange) -> bool:
    """Whether the request goes to an endpoint other than the target's first.

    False if its path, or that of a later endpoint, is empty.
    """
    return x.path not in ("", x.surface.endpoints[0]) and "" not in x.surface.endpoints[1:]


def at_one(x: WireExchange) -> bool:
    """Whether the request has the limit 1."""
    return bool(x.limit == 1)


def only(place: str, where: Where, *names: str) -> tuple[WireFault, ...]:
    """Return the mutants with the ids `names`, restricted to requests for which `where` holds.

    All their hooks but `unread` are restricted. `place` is the restriction as a phrase, for
    their new ids and texts.
    """

    def narrowed(hook: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Return the hook, made to return None (no change) where `where` does not hold.

        None stays None.
        """
        if hook is None:
            return None
        return lambda x, *answer: hook(x, *answer) if where(x) else None

    return tuple(
        replace(
            KNOWN[name],
            id=f"{name}-{place.replace(' ', '-')}",
            text=f"{KNOWN[name].text[:-1]}, only {IN_WORDS.get(place, place)}.",
            **{hook: narrowed(getattr(KNOWN[name], hook)) for hook in HOOKS},
        )
        for name in names
    )


FAULTS: tuple[WireFault, ...] = (
    *only(
        "to agents", to_agents,
        "empty-section", "names-unasked", "status-renamed", "status-user-first",
        "entry-in-both", "callables-reversed", "server-wrong", "description-cut",
        "schema-beside", "remedy-each", "text-to-the-user", "text-for-all", "note-broken",
        "note-naming", "counts-zeros", "counts-callable-off", "counts-null", "counts-nowhere",
        "refusal-for-all", "refusal-to-the-user", "section-unasked", "entry-eleventh",
        "map-absent", "map-long", "note-absent", "note-low", "refusal-pointless",
    ),
    *only(
        "elsewhere", elsewhere,
        "false-spaced", "empty-section", "section-unasked", "names-unasked", "status-renamed",
        "status-user-first", "description-cut", "schema-of-withheld", "map-absent",
        "text-to-the-user", "callables-reversed", "section-unlimited", "note-absent",
        "note-naming", "counts-zeros", "refusal-for-all", "refusal-pointless",
        "refusal-to-the-user",
    ),
    *only(
        "at limit 1", at_one,
        "status-renamed", "description-cut", "schema-beside", "server-wrong",
        "text-to-the-user", "section-unasked", "note-naming", "note-broken", "map-absent",
        "map-long", "note-low", "callables-gone",
    ),
    wire("agents-unknown", "Agents get disabled_unknown as the reason for config and user locks.",
         "FR-004.precedence",
         document=lambda x, answer: restated(
             {"disabled_by_config": "disabled_unknown", "disabled_by_user": "disabled_unknown"}
         )(x, answer) if to_agents(x) else None),
    wire("agents-no-config", "Tools locked by config are not revealed to agents.",
         "FR-001.reveals-config",
         document=dropped(lambda x, e: to_agents(x) and e["status"] == "disabled_by_config")),
    wire("agents-no-user", "Tools locked by the user are not revealed to agents.",
         "FR-001.reveals-user",
         document=dropped(lambda x, e: to_agents(x) and e["status"] == "disabled_by_user")),
)  # fmt: skip
