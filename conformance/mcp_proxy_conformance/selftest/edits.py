"""Ways to write a fault of the wire: which answers it touches, and which part of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mcp_proxy_conformance.selftest.exchange import Exchange, Json, WireFault

Document = dict[str, Json]
Entry = dict[str, Json]
Edit = Callable[[Exchange, Document], Document | None]


def wire(name: str, text: str, *breaks: str, **hooks: Any) -> WireFault:
    """A fault in one call: its id, what it does, what it breaks, and its hooks."""
    return WireFault(id=name, text=text, breaks=breaks, **hooks)


def flagged(edit: Edit) -> Edit:
    """The edit of discovery answers under the flag."""
    return lambda x, told: edit(x, told) if x.flagged else None


def usual(edit: Edit) -> Edit:
    """The edit of discovery answers without the flag."""
    return lambda x, told: edit(x, told) if x.usual else None


def tools(x: Exchange, told: Document) -> list[Entry]:
    """The callable entries of an answer."""
    return list(told.get(x.surface.members.tools) or [])


def locked(x: Exchange, told: Document) -> list[Entry]:
    """The locked entries of an answer."""
    return list(told.get(x.surface.members.disabled) or [])


def with_tools(x: Exchange, told: Document, entries: Iterable[Entry]) -> Document:
    """The answer with other callable entries."""
    return told | {x.surface.members.tools: list(entries)}


def with_locked(x: Exchange, told: Document, entries: Iterable[Entry]) -> Document:
    """The answer with other locked entries, and the map for those of its statuses that are left."""
    names, left = x.surface.members, list(entries)
    texts = told.get(names.remediation) or {}
    if not left:
        return {n: v for n, v in told.items() if n not in (names.disabled, names.remediation)}
    statuses = {str(entry.get("status")) for entry in left}
    kept = {status: text for status, text in texts.items() if status in statuses}
    return told | {names.disabled: left, names.remediation: kept}


def dropped(gone: Callable[[Exchange, Entry], bool]) -> Edit:
    """Under the flag, such locked entries are left out."""

    def edit(x: Exchange, told: Document) -> Document | None:
        entries = locked(x, told)
        return with_locked(x, told, [e for e in entries if not gone(x, e)]) if entries else None

    return flagged(edit)


def each_locked(change: Callable[[Exchange, Entry], Entry]) -> Edit:
    """Under the flag, every locked entry is changed; the map stays."""

    def edit(x: Exchange, told: Document) -> Document | None:
        entries = [change(x, entry) for entry in locked(x, told)]
        return told | {x.surface.members.disabled: entries} if entries else None

    return flagged(edit)


def restated(statuses: dict[str, str]) -> Edit:
    """Under the flag, other status words, in the entries and in the keys of the map alike."""

    def edit(x: Exchange, told: Document) -> Document | None:
        names = x.surface.members
        entries = [e | {"status": statuses.get(e["status"], e["status"])} for e in locked(x, told)]
        if not entries:
            return None
        texts = told.get(names.remediation) or {}
        again = {statuses.get(status, status): text for status, text in texts.items()}
        return told | {names.disabled: entries, names.remediation: again}

    return flagged(edit)


def mapped(change: Callable[[Exchange, dict[str, Json]], Json]) -> Edit:
    """Under the flag, another remediation map; None takes it away."""

    def edit(x: Exchange, told: Document) -> Document | None:
        name = x.surface.members.remediation
        if not isinstance(told.get(name), dict) or not told[name]:
            return None
        again = change(x, dict(told[name]))
        rest = {member: value for member, value in told.items() if member != name}
        return rest if again is None else told | {name: again}

    return flagged(edit)


def noted(change: Callable[[Exchange, str], str | None]) -> Edit:
    """Without the flag, another note in answers that have one; None takes it away."""

    def edit(x: Exchange, told: Document) -> Document | None:
        name = x.surface.members.note
        if not isinstance(told.get(name), str):
            return None
        again = change(x, told[name])
        rest = {member: value for member, value in told.items() if member != name}
        return rest if again is None else told | {name: again}

    return usual(edit)


def each_server(change: Callable[[Exchange, Entry], None]) -> Edit:
    """In listings and views of one server, every server's entry is changed in place."""

    def edit(x: Exchange, told: Document) -> Document | None:
        if not x.lists:
            return None
        for entry in servers(x, told):
            change(x, entry)
        return told

    return edit


def servers(x: Exchange, told: Document) -> list[Entry]:
    """The entries of a listing, or the one of a view of one server."""
    names = x.surface.members
    found = told.get(names.servers, told.get(names.inspected))
    return [e for e in (found if isinstance(found, list) else [found]) if isinstance(e, dict)]


def counted(change: Callable[[Exchange, Document], Json]) -> Edit:
    """In listings and views of one server, every counts block is another one."""

    def edit(x: Exchange, entry: Entry) -> None:
        name = x.surface.members.counts
        if isinstance(entry.get(name), dict):
            entry[name] = change(x, dict(entry[name]))

    return each_server(edit)
