"""Mutants that rewrite the remediation map, a text for each status: FR-005, SC-003, FR-004."""

from __future__ import annotations

from collections.abc import Callable

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    flagged,
    locked,
    mapped,
    wire,
)
from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault

TO_THE_USER = "Ask the user to enable the tool in the UI."
CONFIG, USER = "disabled_by_config", "disabled_by_user"
Map = dict[str, Json]


def saying(status: str, text: Json) -> Callable[[WireExchange, Document], Document | None]:
    """Return an edit that sets the remediation text of one status, if a flagged answer has it."""
    return mapped(lambda _, remedies: remedies | ({status: text} if status in remedies else {}))


def _learned(x: WireExchange, remedies: Map) -> dict[str, Json]:
    """Add these remediation texts to those of all answers so far; return all, by status."""
    texts: dict[str, Json] = x.memory.setdefault("remedies", {})
    texts |= remedies
    return texts


def _config_and_user_swapped(x: WireExchange, remedies: Map) -> Map:
    """Give config and user locks each other's text, if any answer so far had the other one."""
    texts = _learned(x, remedies)
    other = {CONFIG: texts.get(USER), USER: texts.get(CONFIG)}
    return {status: other.get(status) or text for status, text in remedies.items()}


def _config_as_user(x: WireExchange, remedies: Map) -> Map:
    """Give config locks the text for user locks, if any answer so far had it."""
    texts = _learned(x, remedies)
    return remedies | ({CONFIG: texts[USER]} if CONFIG in remedies and USER in texts else {})


def _config_as_user_beside(_: WireExchange, remedies: Map) -> Map:
    """Give config locks the text for user locks if the same answer has both."""
    return remedies | ({CONFIG: remedies[USER]} if remedies.keys() >= {CONFIG, USER} else {})


def _approving(x: WireExchange, remedies: Map) -> Map:
    """Give config locks the target's text for pending tools, if any answer so far had it.

    Without one, the tools called so far are searched for; if that brings none, nothing changes.
    """
    texts = _learned(x, remedies)
    for called in () if "pending_approval" in texts else x.memory.get("called", ()):
        texts |= x.revealing(called.tool).get(x.surface.members.remediation) or {}
    approve = texts.get("pending_approval")
    return remedies | ({CONFIG: approve} if CONFIG in remedies and approve else {})


def _noting_calls(x: WireExchange) -> Json | None:
    """Remember the upstream tool that is called; return None, so that the target answers."""
    if x.called is not None:
        x.memory["called"] = {**x.memory.get("called", {}), x.called: None}
    return None


def _one_short(_: WireExchange, remedies: Map) -> Map | None:
    """Return the map without its first status; unchanged if it has only that."""
    return dict(list(remedies.items())[1:]) if len(remedies) > 1 else remedies


def _one_more(_: WireExchange, remedies: Map) -> Map:
    """Add a text for the first status that the map does not have."""
    other = next(status for status in STATUSES if status not in remedies)
    return remedies | {other: "The server is turned off: it has to be enabled first."}


def _map_of_all_matches(x: WireExchange, answer: Document) -> Document | None:
    """Replace the map by the one that the target gives at limit 100, if there are locked entries.

    None (no change) if either is missing.
    """
    name = x.surface.members.remediation
    texts = x.revealing().get(name)
    return answer | {name: texts} if locked(x, answer) and texts else None


def _one_text(_: WireExchange, remedies: Map) -> Map:
    """Give all statuses of the map the same text."""
    text = "This tool is locked: see the documentation."
    return dict.fromkeys(remedies, text)


def _in_the_entry_of_config(x: WireExchange, answer: Document) -> Document | None:
    """Add to each config-locked entry a `hint` to ask the user to enable the tool.

    None (no change) for an answer without locked entries.
    """
    entries = [
        entry | ({"hint": TO_THE_USER} if entry["status"] == CONFIG else {})
        for entry in locked(x, answer)
    ]
    return answer | {x.surface.members.disabled: entries} if entries else None


FAULTS: tuple[WireFault, ...] = (
    wire("map-absent", "There is no remediation map.", "FR-005.keys",
         document=mapped(lambda *_: None)),
    wire("map-empty", "The remediation map is empty.", "FR-005.keys",
         document=mapped(lambda *_: {})),
    wire("map-short", "The map lacks one of several statuses.", "FR-005.keys",
         document=mapped(_one_short)),
    wire("map-long", "The map has a status that no entry has.", "FR-005.keys",
         document=mapped(_one_more)),
    wire("map-before-cap", "The map has the statuses of matches that the cap cut off.",
         "FR-005.keys", document=flagged(_map_of_all_matches)),
    wire("map-otherwise-keyed", "The keys of the map are spelled with hyphens.", "FR-005.keys",
         document=mapped(lambda _, texts: {s.replace("_", "-"): t for s, t in texts.items()})),
    wire("texts-swapped", "Config and user locks have each other's text.", "FR-005.class",
         "SC-003.discovery", document=mapped(_config_and_user_swapped)),
    wire("text-of-user", "Config locks have the target's own text for user locks.",
         "SC-003.discovery", "FR-005.text", document=mapped(_config_as_user)),
    wire("text-of-user-beside", "Beside a user lock, a config lock has the text for user locks.",
         "SC-003.discovery", "FR-005.text", document=mapped(_config_as_user_beside)),
    wire("text-of-pending", "Config locks have the target's own text for pending tools.",
         "SC-003.discovery", document=mapped(_approving), instead=_noting_calls),
    wire("text-to-the-user", "The text for config locks says to ask the user to enable the tool.",
         "SC-003.discovery", "FR-005.class", document=saying(CONFIG, TO_THE_USER)),
    wire("text-to-toggle-unknown",
         "The text for unknown reasons says to ask the user to enable the tool.",
         "FR-004.unknown", "FR-005.class", document=saying("disabled_unknown", TO_THE_USER)),
    wire("text-to-edit-for-user", "The text for user locks says to edit the config file.",
         "FR-005.class", document=saying(USER, "Edit the proxy's configuration file.")),
    wire("text-for-all", "All statuses have the same text.",
         "FR-005.text", document=mapped(_one_text)),
    wire("text-empty", "The text for user locks is empty.", "FR-005.text",
         document=saying(USER, "")),
    wire("text-blank", "The text for config locks is blank.", "FR-005.text",
         document=saying(CONFIG, " \n")),
    wire("text-null", "The text for config locks is null.", "FR-005.text",
         document=saying(CONFIG, None)),
    wire("text-listed", "Each text is a list with one text.", "FR-005.text",
         document=mapped(lambda _, remedies: {s: [t] for s, t in remedies.items()})),
    wire("text-in-entry", "Config-locked entries have a hint to ask the user to enable the tool.",
         "SC-003.discovery", document=flagged(_in_the_entry_of_config)),
)  # fmt: skip
