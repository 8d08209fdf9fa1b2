"""Tools that surveys of an endpoint list differently, with their requests and servers."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.live.survey import Survey, entries_of
from mcp_proxy_conformance.discovery.live.talk import LiveAnswer
from mcp_proxy_conformance.discovery.live.words import Names

Places = dict[ToolKey, str]


def movements(surveys: Iterable[Survey]) -> frozenset[str]:
    """Return the requests, tools and servers for which answers to equal requests differ.

    A tool is named as SERVER:TOOL, a request by its label; with a request all others of its query
    are returned.
    """
    surveys = list(surveys)
    names = Names.of(e for survey in surveys for look in survey.looks() for e in entries_of(look))
    looks = [look for survey in surveys for look in survey.looks() if look.answer is not None]
    by_label: dict[str, list[LiveAnswer]] = {}
    for look in looks:
        by_label.setdefault(look.label, []).append(look)
    queries, unsteady = set(), set()
    for same in by_label.values():
        first, *others = [_places(look, names) for look in same]
        for other in others:
            if moved := {k for k in {*first, *other} if first.get(k) != other.get(k)}:
                queries.add(same[0].query)
                unsteady |= {*map(str, moved), *(key.server for key in moved)}
    return frozenset(unsteady | {look.label for look in looks if look.query in queries})


def _places(look: LiveAnswer, names: Names) -> Places:
    """Return the place of each tool that the answer lists: `callable` or its status.

    Empty if the answer could not be read.
    """
    answer = look.answer
    if answer is None:
        return {}
    places = {names.key(entry): "callable" for entry in answer.tools}
    return places | {names.key(entry): entry.status for entry in answer.disabled}
