"""What came and went while an endpoint was looked at: it may explain any difference there."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.survey import Survey, entries_of
from mcp_proxy_conformance.discovery.live.talk import Look
from mcp_proxy_conformance.discovery.live.words import Names

Told = dict[ToolKey, str]


def movements(surveys: Iterable[Survey]) -> frozenset[str]:
    """The requests, tools and servers of which equal requests were told different things.

    A request is named by its label, with all others of its query; a tool and a server by name.
    """
    surveys = list(surveys)
    names = Names.of(e for one in surveys for look in one.looks() for e in entries_of(look))
    looks = [look for one in surveys for look in one.looks() if look.answer is not None]
    by_label: dict[str, list[Look]] = {}
    for look in looks:
        by_label.setdefault(look.label, []).append(look)
    queries, found = set(), set()
    for same in by_label.values():
        first, *others = [_told(look, names) for look in same]
        for other in others:
            if moved := {k for k in {*first, *other} if first.get(k) != other.get(k)}:
                queries.add(same[0].query)
                found |= {*map(str, moved), *(key.server for key in moved)}
    return frozenset(found | {look.label for look in looks if look.query in queries})


def _told(look: Look, names: Names) -> Told:
    """Where the answer puts each tool that it lists."""
    answer = look.answer
    if answer is None:
        return {}
    told = {names.key(entry): "callable" for entry in answer.tools}
    return told | {names.key(entry): entry.status for entry in answer.disabled}
