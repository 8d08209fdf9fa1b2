"""Mutants that show only in answers with several locked entries or after several requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.selftest import wire_entries
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    flagged,
    locked,
    tools,
    wire,
    with_locked,
)
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault
from mcp_proxy_conformance.discovery.selftest.wire_rejections import where

SEVERAL = 2


def _all_as_the_first(x: WireExchange, answer: Document) -> Document | None:
    """Give all locked entries with a description the first description among them.

    None (no change) if no entry has one.
    """
    entries = locked(x, answer)
    texts = [e["description"] for e in entries if e.get("description")]
    again = [e | {"description": texts[0]} if e.get("description") else e for e in entries]
    return answer | {x.surface.members.disabled: again} if texts else None


def _locking(x: WireExchange) -> Json | None:
    """Refuse calls of callable tools once any request has had the flag true.

    Whether the called tool is callable is asked of the target. None for other requests: the
    target answers.
    """
    if x.flagged:
        x.memory["discovered"] = True
    if x.called is None or not x.memory.get("discovered"):
        return None
    callables = tools(x, x.revealing(x.called.tool))
    if not any(x.called.tool in entry["name"] for entry in callables):
        return None
    text = f"The tool was discovered. Call {x.surface.discovery_tool} with {FLAG} true."
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _several(change: Callable[[Document, Document], Document]) -> dict[str, Any]:
    """Return {"document": hook}; the hook changes all locked entries but the first, with the flag.

    `change` gets the first entry and one of the others, and returns what replaces the other. The
    hook returns None (no change) for an answer without the flag or with fewer than two entries.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer with all locked entries but the first changed; None below two."""
        entries = locked(x, answer)
        if len(entries) < SEVERAL:
            return None
        again = [entries[0], *(change(entries[0], entry) for entry in entries[1:])]
        return answer | {x.surface.members.disabled: again}

    return {"document": flagged(edit)}


def _as_first(member: str) -> dict[str, Any]:
    """Return {"document": hook}; the hook copies the first locked entry's `member` to the others.

    Without that member in the first entry, the others stay.
    """
    return _several(
        lambda first, entry: entry | ({member: first[member]} if member in first else {})
    )


def _with_schema(_: Document, entry: Document) -> Document:
    """Return a locked entry with an input schema added; the first entry, given too, is not used."""
    return entry | {"inputSchema": wire_entries.SCHEMA}


def _users_remedy_noted(x: WireExchange, answer: Document) -> None:
    """Remember the remediation text for user locks, if the answer has it; change nothing."""
    text = (answer.get(x.surface.members.remediation) or {}).get("disabled_by_user")
    if text:
        x.memory["remedy"] = text


def _statuses_of_first(x: WireExchange, answer: Document) -> Document | None:
    """Give all locked entries the first one's status; None (no change) without entries.

    Other statuses are removed from the remediation map.
    """
    entries = locked(x, answer)
    again = [entry | {"status": entries[0]["status"]} for entry in entries]
    return with_locked(x, answer, again) if entries else None


def _with_remedies(x: WireExchange, answer: Document) -> Document | None:
    """Add to each locked entry, as `next_step`, the remediation text of its status, or "".

    None (no change) unless there are at least two entries.
    """
    texts = answer.get(x.surface.members.remediation) or {}
    entries = [e | {"next_step": texts.get(e["status"], "")} for e in locked(x, answer)]
    return answer | {x.surface.members.disabled: entries} if len(entries) > 1 else None


FAULTS: tuple[WireFault, ...] = (
    wire("description-shared", "All locked tools have the description of the first.",
         "FR-003.description", document=flagged(_all_as_the_first)),
    wire(
        "discovery-locks", "After a request with the flag, calls to callable tools are rejected.",
        "FR-011.not-unlocked", instead=_locking,
    ),
    wire("refusal-mixed",
         "The rejection of a config-locked tool begins with the text for user locks.",
         "SC-003.rejection", document=_users_remedy_noted,
         refusal=where("disabled_by_config",
                       lambda x, text: f"{x.memory['remedy']} {text}" if x.memory else None)),
    wire("several-of-one-server", "All locked entries name the server of the first.",
         "FR-003.server", **_as_first("server")),
    wire("several-of-one-status", "All locked entries have the status of the first.",
         "FR-004.precedence", "FR-004.deterministic", document=flagged(_statuses_of_first)),
    wire("several-with-schema", "All locked entries but the first have a schema.",
         "FR-003.members", **_several(_with_schema)),
    wire("several-undescribed", "Only the first of several locked entries has a description.",
         "FR-003.members",
         **_several(lambda _, e: {n: v for n, v in e.items() if n != "description"})),
    wire("several-with-remedy", "Each of several locked entries has its remediation text.",
         "FR-005.once", "FR-003.members", document=flagged(_with_remedies)),
)  # fmt: skip
