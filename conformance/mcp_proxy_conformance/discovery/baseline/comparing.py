"""Two recordings laid beside each other: FR-002, SC-001, SC-005."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mcp_proxy_conformance.catalogue.stage import stage
from mcp_proxy_conformance.discovery.baseline.manifest import Body
from mcp_proxy_conformance.discovery.calibration import (
    Difference,
    Exact,
    Step,
    children,
    difference,
    told,
)
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node

Differences = dict[str, Difference]
"""By request, the first place at which its answers differ."""

LOCKED = frozenset(step.server for step in stage("plain").steps if step.lock)
"""The servers of which the stage locks tools."""


def answers_changed(
    old: Iterable[Body], new: Iterable[Body], members: Mapping[str, str]
) -> Differences:
    """SC-001: where the discovery answers of the new build are not the old one's.

    Of a locked request that found nothing callable the one note, which the old build has not, is
    taken out first.
    """
    pairs = _paired(old, new)
    found = {
        one.key: _compared(one, _without_note(one, other, members))
        for one, other in pairs
        if "list" not in one.request
    }
    return {key: difference for key, difference in found.items() if difference}


def entries_changed(
    old: Iterable[Body], new: Iterable[Body], members: Mapping[str, str]
) -> Differences:
    """SC-005: where listings differ, of the locked stage only in servers without a lock."""
    found: Differences = {}
    for one, other in _paired(old, new):
        if "list" not in one.request:
            continue
        parts = [("", one, other)] if one.phase == "open" else _entries(one, other, members)
        for name, before, after in parts:
            if (difference := _compared(before, after)) is not None:
                found[f"{one.key}{name}"] = difference
    return found


def missing(old: Iterable[Body], new: Iterable[Body]) -> list[str]:
    """The requests of the old recording that the new one has not."""
    known = {body.key for body in new}
    return [body.key for body in old if body.key not in known]


def _paired(old: Iterable[Body], new: Iterable[Body]) -> list[tuple[Body, Body]]:
    known = {body.key: body for body in new}
    return [(one, known[one.key]) for one in old if one.key in known]


def _compared(one: Body, other: Body) -> Difference | None:
    """What differs outside of the members that move in either; one that began to move does."""
    found = difference(one.exact, other.exact, one.moving | other.moving)
    begun = sorted(other.moving - one.moving, key=str)
    if found is not None or not begun:
        return found
    seen = b"differs between equal requests"
    return Difference(at=told(begun[0]), offset=0, usual=b"stood still", seen=seen)


def _without_note(one: Body, other: Body, members: Mapping[str, str]) -> Body:
    tree, again = _tree(one.exact.text), _tree(other.exact.text)
    if one.phase == "open" or tree is None or again is None:
        return other
    found = tree.get(members["tools"])
    callables = found is not None and found.kind == "array" and found.items
    if callables or tree.get(members["note"]) is not None:
        return other
    text = spans.cut(other.exact.text, again.with_comma(members["note"])[:1])
    return replace(other, exact=replace(other.exact, text=text))


def _entries(
    one: Body, other: Body, members: Mapping[str, str]
) -> Iterator[tuple[str, Body, Body]]:
    """The entries of the servers without a lock, in both listings."""
    before, after = _servers(one, members), _servers(other, members)
    for name in before.keys() | after.keys():
        if name not in LOCKED:
            own = _part(one, before.get(name), members), _part(other, after.get(name), members)
            yield f", server {name}", *own


def _servers(body: Body, members: Mapping[str, str]) -> dict[str, tuple[Step, Node]]:
    """The entries of a listing by the server's name, each with its step in paths."""
    tree = _tree(body.exact.text)
    listed = tree.get(members["servers"]) if tree is not None else None
    found: dict[str, tuple[Step, Node]] = {}
    for step, item in children(listed) if listed is not None else ():
        name = item.get(members["server_name"])
        if name is not None and name.kind == "string":
            found[str(name.value())] = step, item
    return found


def _part(body: Body, found: tuple[Step, Node] | None, members: Mapping[str, str]) -> Body:
    """The entry alone, with what moves inside it."""
    if found is None:
        return replace(body, exact=Exact(result=b"", text=b""), moving=frozenset())
    step, entry = found
    inside = ("text", members["servers"], step)
    moving = frozenset(("text", *path[3:]) for path in body.moving if path[:3] == inside)
    return replace(body, exact=Exact(result=b"", text=entry.raw), moving=moving)


def _tree(text: bytes) -> Node | None:
    try:
        return spans.parse(text)
    except Malformed:
        return None
