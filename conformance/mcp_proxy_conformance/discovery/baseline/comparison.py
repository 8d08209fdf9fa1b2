"""Comparison of an old and a new recording: changed answers and server entries, missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.discovery.baseline.body import Body, changed
from mcp_proxy_conformance.discovery.calibration import (
    ByteDifference,
    Exact,
    Step,
    children,
)
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node

Differences = dict[str, ByteDifference]
"""The first difference between the answers, by request."""

LOCKED = frozenset(step.server for step in stage("plain").steps if step.lock)
"""The servers whose tools the stage locks."""


def answers_changed(
    old: Iterable[Body], new: Iterable[Body], members: Mapping[str, str]
) -> Differences:
    """Return the first difference of each discovery answer that the new build changed (SC-001).

    Keys are requests that both recordings have; `members` are the target's own names of members.
    In a locked answer without callable tools, a note that the old one lacks is not a difference.
    """
    pairs = _paired(old, new)
    compared = {
        body.key: changed(body, _without_note(body, other, members))
        for body, other in pairs
        if "list" not in body.request
    }
    return {key: difference for key, difference in compared.items() if difference}


def entries_changed(
    old: Iterable[Body], new: Iterable[Body], members: Mapping[str, str]
) -> Differences:
    """Return the first difference of each server listing that the new build changed (SC-005).

    Keys are requests that both recordings have; in the locked phase, with the server, as only
    entries of servers without a lock are compared. `members` are the target's own names of members.
    """
    differences: Differences = {}
    for body, other in _paired(old, new):
        if "list" not in body.request:
            continue
        parts = [("", body, other)] if body.phase == "open" else _entries(body, other, members)
        for name, before, after in parts:
            if (difference := changed(before, after)) is not None:
                differences[f"{body.key}{name}"] = difference
    return differences


def missing(old: Iterable[Body], new: Iterable[Body]) -> list[str]:
    """Return the keys (phase and request) of the old recording that the new one lacks."""
    known = {body.key for body in new}
    return [body.key for body in old if body.key not in known]


def _paired(old: Iterable[Body], new: Iterable[Body]) -> list[tuple[Body, Body]]:
    """Pair the old and the new answer to the same request in the same phase, in the old order.

    Requests of one recording only are left out.
    """
    known = {body.key: body for body in new}
    return [(body, known[body.key]) for body in old if body.key in known]


def _without_note(body: Body, other: Body, members: Mapping[str, str]) -> Body:
    """Return the new answer (`other`) without its note, if the old one has neither note nor tools.

    Answers of the open phase, or that are not JSON, are returned unchanged.
    """
    tree, again = _tree(body.exact.text), _tree(other.exact.text)
    if body.phase == "open" or tree is None or again is None:
        return other
    tools = tree.get(members["tools"])
    callables = tools is not None and tools.kind == "array" and tools.items
    if callables or tree.get(members["note"]) is not None:
        return other
    text = spans.cut(other.exact.text, again.with_comma(members["note"])[:1])
    return replace(other, exact=replace(other.exact, text=text))


def _entries(
    body: Body, other: Body, members: Mapping[str, str]
) -> Iterator[tuple[str, Body, Body]]:
    """Yield (label, old entry, new entry) of each server without a lock in either listing.

    The label is `, server NAME`; an entry that a listing lacks is empty.
    """
    before, after = _servers(body, members), _servers(other, members)
    for name in before.keys() | after.keys():
        if name not in LOCKED:
            own = _part(body, before.get(name), members), _part(other, after.get(name), members)
            yield f", server {name}", *own


def _servers(body: Body, members: Mapping[str, str]) -> dict[str, tuple[Step, Node]]:
    """Return (step in paths, node) of each entry of a listing, by the server's name.

    Entries without a name are left out; empty if the listing is not JSON.
    """
    tree = _tree(body.exact.text)
    listed = tree.get(members["servers"]) if tree is not None else None
    entries: dict[str, tuple[Step, Node]] = {}
    for step, item in children(listed) if listed is not None else ():
        name = item.get(members["server_name"])
        if name is not None and name.kind == "string":
            entries[str(name.value())] = step, item
    return entries


def _part(body: Body, placed: tuple[Step, Node] | None, members: Mapping[str, str]) -> Body:
    """Return the listing cut down to one server's entry, empty if `placed` is None.

    `placed` is the entry's (step in paths, node). Of the paths of members that vary those in the
    entry are kept, and start there.
    """
    if placed is None:
        return replace(body, exact=Exact(result=b"", text=b""), moving=frozenset())
    step, entry = placed
    inside = ("text", members["servers"], step)
    moving = frozenset(("text", *path[3:]) for path in body.moving if path[:3] == inside)
    return replace(body, exact=Exact(result=b"", text=entry.raw), moving=moving)


def _tree(text: bytes) -> Node | None:
    """Return the root node of a JSON document, None if the text is not one."""
    try:
        return spans.parse(text)
    except Malformed:
        return None
