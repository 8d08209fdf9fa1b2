"""Faults of the wire that show in one place only: to agents, at an endpoint, in fuller answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcp_proxy_conformance.counterexamples import (
    wire_default,
    wire_entries,
    wire_listing,
    wire_note,
    wire_refusing,
    wire_remediation,
)
from mcp_proxy_conformance.counterexamples.edits import (
    Document,
    dropped,
    flagged,
    locked,
    restated,
    wire,
    with_locked,
)
from mcp_proxy_conformance.counterexamples.exchange import Exchange, WireFault

Where = Callable[[Exchange], bool]
SEVERAL = 2
HOOKS = ("document", "result", "spelled", "refusal", "instead")
KNOWN = {
    fault.id: fault
    for module in (
        wire_default,
        wire_entries,
        wire_listing,
        wire_note,
        wire_refusing,
        wire_remediation,
    )
    for fault in module.FAULTS
}


def to_agents(x: Exchange) -> bool:
    """To the world's agents, not to the administrator."""
    return bool(x.agent)


def elsewhere(x: Exchange) -> bool:
    """At another endpoint than the first."""
    return x.path not in ("", x.surface.endpoints[0]) and "" not in x.surface.endpoints[1:]


def at_one(x: Exchange) -> bool:
    """At limit 1."""
    return bool(x.limit == 1)


def only(place: str, where: Where, *names: str) -> tuple[WireFault, ...]:
    """Known faults that show in that place only."""

    def narrowed(hook: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if hook is None:
            return None
        return lambda x, *told: hook(x, *told) if where(x) else None

    return tuple(
        replace(
            KNOWN[name],
            id=f"{name}-{place.replace(' ', '-')}",
            text=f"{KNOWN[name].text[:-1]}, {place} only.",
            **{hook: narrowed(getattr(KNOWN[name], hook)) for hook in HOOKS},
        )
        for name in names
    )


def _several(change: Callable[[Document, Document], Document]) -> dict[str, Any]:
    """Of several locked entries, each but the first is changed by the first."""

    def edit(x: Exchange, told: Document) -> Document | None:
        entries = locked(x, told)
        if len(entries) < SEVERAL:
            return None
        again = [entries[0], *(change(entries[0], entry) for entry in entries[1:])]
        return told | {x.surface.members.disabled: again}

    return {"document": flagged(edit)}


def _as_first(member: str) -> dict[str, Any]:
    return _several(lambda one, entry: entry | ({member: one[member]} if member in one else {}))


def _schema(_: Document, entry: Document) -> Document:
    return entry | {"inputSchema": wire_entries.SCHEMA}


def _statuses_of_first(x: Exchange, told: Document) -> Document | None:
    """All entries have the first one's status; the map follows."""
    entries = locked(x, told)
    again = [entry | {"status": entries[0]["status"]} for entry in entries]
    return with_locked(x, told, again) if entries else None


def _remedied(x: Exchange, told: Document) -> Document | None:
    texts = told.get(x.surface.members.remediation) or {}
    entries = [e | {"next_step": texts.get(e["status"], "")} for e in locked(x, told)]
    return told | {x.surface.members.disabled: entries} if len(entries) > 1 else None


FAULTS: tuple[WireFault, ...] = (
    *only(
        "to agents", to_agents, "empty-section", "section-unasked", "names-unasked",
        "status-renamed", "status-user-first", "entry-in-both", "entry-eleventh",
        "callables-reversed", "server-wrong", "description-cut", "schema-beside", "remedy-each",
        "map-absent", "map-long", "text-to-the-user", "text-for-all", "note-absent",
        "note-broken", "note-low", "note-naming", "counts-zeros", "counts-callable-off",
        "counts-null", "counts-nowhere", "refusal-for-all", "refusal-pointless",
        "refusal-to-the-user",
    ),
    *only(
        "elsewhere", elsewhere, "false-spaced", "empty-section", "section-unasked",
        "names-unasked", "status-renamed", "status-user-first", "description-cut",
        "schema-of-withheld", "map-absent", "text-to-the-user", "callables-reversed",
        "section-unlimited", "note-absent", "note-naming", "counts-zeros", "refusal-for-all",
        "refusal-pointless", "refusal-to-the-user",
    ),
    *only(
        "at limit 1", at_one, "status-renamed", "description-cut", "schema-beside",
        "server-wrong", "map-long", "map-absent", "text-to-the-user", "section-unasked",
        "note-naming", "note-broken", "note-low", "callables-gone",
    ),
    wire("several-of-one-server", "All locked entries name the first one's server.",
         "FR-003.server", **_as_first("server")),
    wire("several-of-one-status", "All locked entries have the first one's status.",
         "FR-004.precedence", "FR-004.deterministic", document=flagged(_statuses_of_first)),
    wire("several-with-schema", "Of several locked entries all but the first have a schema.",
         "FR-003.members", **_several(_schema)),
    wire("several-with-remedy", "Of several locked entries each has its remediation text.",
         "FR-005.once", "FR-003.members", document=flagged(_remedied)),
    wire("several-undescribed", "Of several locked entries the first alone has a description.",
         "FR-003.members",
         **_several(lambda _, e: {n: v for n, v in e.items() if n != "description"})),
    wire("agents-no-config", "Tools locked by config are not revealed to agents.",
         "FR-001.reveals-config",
         document=dropped(lambda x, e: to_agents(x) and e["status"] == "disabled_by_config")),
    wire("agents-no-user", "Tools locked by the user are not revealed to agents.",
         "FR-001.reveals-user",
         document=dropped(lambda x, e: to_agents(x) and e["status"] == "disabled_by_user")),
    wire("agents-unknown", "Agents are told no reason but the unknown one.", "FR-004.precedence",
         document=lambda x, told: restated(
             {"disabled_by_config": "disabled_unknown", "disabled_by_user": "disabled_unknown"}
         )(x, told) if to_agents(x) else None),
)  # fmt: skip
