"""Edits of a target's JSON answers, of which mutants of the wire (rewriting servers) are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mcp_proxy_conformance.discovery.selftest.exchange import Json, WireExchange, WireFault

Document = dict[str, Json]
Entry = dict[str, Json]
Edit = Callable[[WireExchange, Document], Document | None]


def wire(name: str, text: str, *breaks: str, **hooks: Any) -> WireFault:
    """Return a mutant of the wire: its id, its description, the clauses it breaks, its hooks.

    `hooks` are members of WireFault by name, as `document` or `result`.
    """
    return WireFault(id=name, text=text, breaks=breaks, **hooks)


def flagged(edit: Edit) -> Edit:
    """Return an edit that makes this edit in discovery answers to requests with the flag true.

    The flag is `include_disabled`. For any other answer it returns None, which leaves the answer
    unchanged.
    """
    return lambda x, answer: edit(x, answer) if x.flagged else None


def usual(edit: Edit) -> Edit:
    """Return an edit that makes this edit in discovery answers without the flag or with it false.

    For any other answer it returns None, which leaves the answer unchanged.
    """
    return lambda x, answer: edit(x, answer) if x.usual else None


def tools(x: WireExchange, answer: Document) -> list[Entry]:
    """Return the callable entries of an answer, empty if it has none."""
    return list(answer.get(x.surface.members.tools) or [])


def locked(x: WireExchange, answer: Document) -> list[Entry]:
    """Return the locked entries of an answer, empty if it has none."""
    return list(answer.get(x.surface.members.disabled) or [])


def with_tools(x: WireExchange, answer: Document, entries: Iterable[Entry]) -> Document:
    """Return the answer with its callable entries replaced by these."""
    return answer | {x.surface.members.tools: list(entries)}


def with_locked(x: WireExchange, answer: Document, entries: Iterable[Entry]) -> Document:
    """Return the answer with its locked entries replaced by these.

    Remediation texts of statuses that no entry has any more are removed; without entries, the
    section and the whole remediation map are.
    """
    names, left = x.surface.members, list(entries)
    texts = answer.get(names.remediation) or {}
    if not left:
        return {n: v for n, v in answer.items() if n not in (names.disabled, names.remediation)}
    statuses = {str(entry.get("status")) for entry in left}
    kept = {status: text for status, text in texts.items() if status in statuses}
    return answer | {names.disabled: left, names.remediation: kept}


def dropped(gone: Callable[[WireExchange, Entry], bool]) -> Edit:
    """Return an edit that removes from flagged answers the locked entries for which `gone` is true.

    `gone` gets the exchange and an entry. Remediation texts of statuses that no entry has any
    more are removed too; an answer without locked entries is left unchanged.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer without the locked entries that are `gone`; None without any entry."""
        entries = locked(x, answer)
        return with_locked(x, answer, [e for e in entries if not gone(x, e)]) if entries else None

    return flagged(edit)


def each_locked(change: Callable[[WireExchange, Entry], Entry]) -> Edit:
    """Return an edit that replaces each locked entry of flagged answers by what `change` returns.

    The remediation map stays. For an answer without locked entries the edit returns None:
    unchanged.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer with each locked entry changed; None without any."""
        entries = [change(x, entry) for entry in locked(x, answer)]
        return answer | {x.surface.members.disabled: entries} if entries else None

    return flagged(edit)


def restated(statuses: dict[str, str]) -> Edit:
    """Return an edit that renames statuses, old to new, in entries and texts of flagged answers.

    Statuses that are not in `statuses` stay. For an answer without locked entries the edit
    returns None: unchanged.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer with renamed statuses in entries and texts; None without entries."""
        names = x.surface.members
        entries = [
            e | {"status": statuses.get(e["status"], e["status"])} for e in locked(x, answer)
        ]
        if not entries:
            return None
        texts = answer.get(names.remediation) or {}
        again = {statuses.get(status, status): text for status, text in texts.items()}
        return answer | {names.disabled: entries, names.remediation: again}

    return flagged(edit)


def mapped(change: Callable[[WireExchange, dict[str, Json]], Json]) -> Edit:
    """Return an edit that replaces the remediation map of flagged answers by what `change` returns.

    `change` gets the exchange and a copy of the map; None removes the map. An answer without a
    map, or with an empty one, is left unchanged.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer with the changed remediation map; None without a map."""
        name = x.surface.members.remediation
        if not isinstance(answer.get(name), dict) or not answer[name]:
            return None
        again = change(x, dict(answer[name]))
        rest = {member: value for member, value in answer.items() if member != name}
        return rest if again is None else answer | {name: again}

    return flagged(edit)


def noted(change: Callable[[WireExchange, str], str | None]) -> Edit:
    """Return an edit that replaces the note of answers without the flag by what `change` returns.

    `change` gets the exchange and the note; None removes the note. An answer without a note is
    left unchanged.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer with the changed note; None without a note."""
        name = x.surface.members.note
        if not isinstance(answer.get(name), str):
            return None
        again = change(x, answer[name])
        rest = {member: value for member, value in answer.items() if member != name}
        return rest if again is None else answer | {name: again}

    return usual(edit)


def each_server(change: Callable[[WireExchange, Entry], None]) -> Edit:
    """Return an edit that has `change` alter each server's entry, in place, in listings and views.

    `change` gets the exchange and the entry. For other answers the edit returns None:
    unchanged.
    """

    def edit(x: WireExchange, answer: Document) -> Document | None:
        """Return the answer with each server's entry changed; None if the call lists no servers."""
        if not x.lists:
            return None
        for entry in servers(x, answer):
            change(x, entry)
        return answer

    return edit


def servers(x: WireExchange, answer: Document) -> list[Entry]:
    """Return the server entries of a listing, or the one of a view of one server; empty if none."""
    names = x.surface.members
    listing = answer.get(names.servers, answer.get(names.inspected))
    return [e for e in (listing if isinstance(listing, list) else [listing]) if isinstance(e, dict)]


def counted(change: Callable[[WireExchange, Document], Json]) -> Edit:
    """Return an edit that replaces every counts block in listings and views of one server.

    `change` gets the exchange and a copy of the block, and returns the new one; entries without
    a block stay.
    """

    def edit(x: WireExchange, entry: Entry) -> None:
        """Replace the counts block of a server's entry, if it has one."""
        name = x.surface.members.counts
        if isinstance(entry.get(name), dict):
            entry[name] = change(x, dict(entry[name]))

    return each_server(edit)
