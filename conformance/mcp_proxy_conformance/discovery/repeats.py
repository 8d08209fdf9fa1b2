"""Duplicate JSON members in an answer: noted when parsed, refused where a clause forbids them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.verdict.result import Misshapen
from mcp_proxy_conformance.wire import spans
from mcp_proxy_conformance.wire.spans import Malformed, Node

Step = str | int
Path = tuple[Step, ...]


class Document(dict[str, Any]):
    """A JSON object as read; `repeats` is true if a name occurs twice in it or inside it."""

    repeats = False


def loads(text: str) -> Any:
    """Parse as `json.loads`; an outermost object becomes a `Document`, which notes repeats."""
    met = False

    def taken(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return the dict of these members; note if a name occurs twice among them."""
        nonlocal met
        members = dict(pairs)
        met = met or len(members) != len(pairs)
        return members

    value = json.loads(text, object_pairs_hook=taken)
    if not isinstance(value, dict):
        return value
    document = Document(value)
    document.repeats = met
    return document


def expect_single(text: str, body: Any, names: Members) -> None:
    """Raise Misshapen if a member that this specification is about occurs twice in an answer.

    The list of locked entries, the remediation map, the note and a server's counts may be sent
    once; of other members only unlike values count. `body` is the parsed text.
    """
    if not getattr(body, "repeats", False):
        return
    try:
        document = spans.parse(text.encode("utf-8", "replace"))
    except Malformed:
        return
    for path, alike in _repeated(document, ()):
        clauses = _broken(path, names, alike=alike)
        if clauses:
            place = ".".join(map(str, path[:-1])) or "the answer"
            raise Misshapen(f'the member "{path[-1]}" occurs twice in {place}', *clauses)


def _repeated(node: Node, path: Path) -> Iterator[tuple[Path, bool]]:
    """Yield (path, whether the values are equal) of each repeated member, outer ones first."""
    for name in node.duplicates():
        values = [member.value.value() for member in node.members if member.key == name]
        yield (*path, name), all(value == values[0] for value in values)
    for member in node.members:
        yield from _repeated(member.value, (*path, member.key))
    for index, item in enumerate(node.items):
        yield from _repeated(item, (*path, index))


def _broken(path: Path, names: Members, *, alike: bool) -> tuple[str, ...]:
    """Return the clauses broken by a repeated member at this path; `alike`: its values are equal.

    Empty if the specification says nothing of it.
    """
    whole = {
        names.disabled: "FR-004.once",
        names.remediation: "FR-005.once",
        names.note: "FR-009.one-line",
    }
    top, within = path[0], [step for step in path[1:] if isinstance(step, str)]
    listed = top in (names.servers, names.inspected)
    if not within:
        moved = ["FR-010.block"] if listed and not alike else []
        return tuple(moved) if top not in whole else (whole[str(top)],)
    if listed and within == [names.counts]:
        return ("FR-010.block",)
    if alike:
        return ()
    if listed:
        return ("FR-010.sum",) if within[0] == names.counts else ()
    inside = {names.disabled: "FR-003.members", names.remediation: "FR-005.once"}
    return (inside[str(top)],) if top in inside else ()
