"""Mutants that rewrite the note that a query matches only locked tools: FR-009, SC-006, FR-007."""

from __future__ import annotations

import re

from mcp_proxy_conformance.catalogue.surface import FLAG
from mcp_proxy_conformance.discovery.selftest.edits import (
    Document,
    locked,
    noted,
    tools,
    usual,
    wire,
)
from mcp_proxy_conformance.discovery.selftest.exchange import WireExchange, WireFault


def _revealed(x: WireExchange) -> int:
    """Return how many locked entries the target gives for the query with the flag, at limit 100."""
    return len(locked(x, x.revealing()))


def note_of(number: object) -> str:
    """Return a note with this number or word, in wording that no target uses."""
    return f"{number} matching tools exist but are locked; search with {FLAG}=true to see why."


def _beside_callables(x: WireExchange, answer: Document) -> Document | None:
    """Add a note to answers with callable tools if the query has locked matches too.

    None (no change) otherwise.
    """
    number = _revealed(x)
    return (
        answer | {x.surface.members.note: note_of(number)} if tools(x, answer) and number else None
    )


def _even_for_nothing(x: WireExchange, answer: Document) -> Document | None:
    """Set the note of every answer without callable tools, with the number of locked matches.

    It may be 0. None (no change) for an answer with callable tools.
    """
    return None if tools(x, answer) else answer | {x.surface.members.note: note_of(_revealed(x))}


def _twice(x: WireExchange, text: str) -> str:
    """Return a default answer's JSON text with its note once more, as a member of the same name.

    Unchanged without a note, or if the flag is true.
    """
    name = f'"{x.surface.members.note}":'
    match = re.search(re.escape(name) + r'\s*"(?:[^"\\]|\\.)*"', text) if x.usual else None
    return text.rstrip()[:-1] + f",{match[0]}}}" if match else text


def _naming_another_flag(x: WireExchange, _: str) -> str:
    """Return a note with the number of locked matches that names a flag that does not exist."""
    return note_of(_revealed(x)).replace(FLAG, "show_locked")


def _naming(x: WireExchange, note: str) -> str:
    """Return the note, followed by the names of the locked tools that match the query."""
    return f"{note} ({', '.join(entry['name'] for entry in locked(x, x.revealing()))})"


def _describing(x: WireExchange, note: str) -> str:
    """Return the note, followed by the descriptions of the locked tools that match the query."""
    texts = [str(e.get("description", "")) for e in locked(x, x.revealing())]
    return f"{note} {' '.join(texts)}"


def _entries_beside(x: WireExchange, answer: Document) -> Document | None:
    """Add a member `candidates` with the names of the locked matches to answers with a note.

    None (no change) for others.
    """
    if x.surface.members.note not in answer:
        return None
    return answer | {"candidates": [entry["name"] for entry in locked(x, x.revealing())]}


def _only_with_config_locks(x: WireExchange, note: str) -> str | None:
    """Return the note if any locked match is locked by config; else None, which removes it."""
    statuses = {entry["status"] for entry in locked(x, x.revealing())}
    return note if "disabled_by_config" in statuses else None


def _unless(status: str) -> WireFault:
    """Return the mutant that leaves the note out if all locked matches have this status."""

    def edit(x: WireExchange, note: str) -> str | None:
        """Return the note; None if that status is the only one of the locked matches."""
        statuses = {entry["status"] for entry in locked(x, x.revealing())}
        return None if statuses == {status} else note

    return wire(
        f"note-not-for-{status}", f"There is no note if all matches have the status {status}.",
        "SC-006.every-kind", "FR-009.note", document=noted(edit),
    )  # fmt: skip


def _of_everyone(x: WireExchange, answer: Document) -> Document | None:
    """Set the note of an agent's answer to the one that the administrator got for the same query.

    The administrator's notes are remembered; None (no change) if there is nothing to show.
    """
    notes: dict[str, str] = x.memory.setdefault("notes", {})
    name = x.surface.members.note
    if not x.agent and name in answer:
        notes[x.query] = answer[name]
    return answer | {name: notes[x.query]} if x.agent and x.query in notes else None


FAULTS: tuple[WireFault, ...] = (
    wire("note-absent", "There is no note.", "FR-009.note", document=noted(lambda *_: None)),
    wire("note-broken", "The note has two lines.", "FR-009.one-line",
         document=noted(lambda _, note: note.replace("; ", ";\n").replace(". ", ".\n") + "\nSee.")),
    wire("note-twice", "The note appears twice.", "FR-009.one-line", spelled=_twice),
    wire("note-misled", "The note names another flag.", "FR-009.note",
         document=noted(_naming_another_flag)),
    wire("note-flagless", "The note does not name the flag.", "FR-009.note",
         document=noted(lambda x, _: f"{_revealed(x)} matching tools exist but are locked.")),
    wire("note-numberless", "The note has no number.", "FR-009.note",
         document=noted(lambda *_: note_of("Some"))),
    wire("note-high", "The note counts one too many.", "FR-009.count",
         document=noted(lambda x, _: note_of(_revealed(x) + 1))),
    wire("note-low", "The note counts one too few.", "FR-009.count",
         document=noted(lambda x, _: note_of(_revealed(x) - 1))),
    wire("note-one", "The note always counts one.", "FR-009.count",
         document=noted(lambda *_: note_of(1))),
    wire("note-of-page", "The note counts two matches at most.", "FR-009.count",
         document=noted(lambda x, _: note_of(min(_revealed(x), 2)))),
    wire("note-beside-callables", "The note also appears beside callable tools.",
         "FR-009.silent", document=usual(_beside_callables)),
    wire("note-for-nothing", "The note also appears when no tool matches.", "FR-009.silent",
         document=usual(_even_for_nothing)),
    wire("note-naming", "The note names the tools.", "FR-009.no-entries", "FR-002.no-locked-names",
         document=noted(_naming)),
    wire("note-describing", "The note describes the tools.", "FR-009.no-entries",
         document=noted(_describing)),
    wire("note-and-names", "A member beside the note lists the names.", "FR-009.no-entries",
         document=usual(_entries_beside)),
    wire("note-not-at-one", "At limit 1, there is no note.", "FR-009.tight-limit",
         document=noted(lambda x, note: None if x.limit == 1 else note)),
    wire("note-for-many", "There is no note for a single locked match.",
         "FR-009.note", "SC-006.every-kind",
         document=noted(lambda x, note: note if _revealed(x) > 1 else None)),
    wire("note-for-few", "There is no note for ten or more locked matches.", "SC-006.every-kind",
         "FR-009.note", document=noted(lambda x, note: note if _revealed(x) < 10 else None)),  # noqa: PLR2004
    wire("note-for-config", "There is a note only if a match is config-locked.",
         "SC-006.every-kind",
         document=noted(_only_with_config_locks)),
    _unless("disabled_by_user"),
    _unless("pending_approval"),
    _unless("server_quarantined"),
    wire("note-of-everyone", "Agents get the administrator's note.", "FR-007.note",
         document=usual(_of_everyone)),
)  # fmt: skip
