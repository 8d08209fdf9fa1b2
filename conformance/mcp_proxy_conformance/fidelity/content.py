"""Content of results: the items of an observed list that correspond to those of the upstream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_proxy_conformance.fidelity import exact_json

ITEMS = "RLY.down.content.items"
"""The clause on which items there are; what each of them holds is that of others."""


def counterparts(allowed: Sequence[Any], observed: Sequence[Any]) -> list[Any] | None:
    """Return the observed item for each allowed one, in order; [] if all of them are lost.

    Items of other types are left out. If as many are left as are allowed, these are returned as
    they are; else each allowed one is matched with the next that has all its members. None if one
    has no match: it is not known then which items were lost, merged or changed.
    """
    kinds = [exact_json.at(item, ("type",)) for item in allowed]
    same = [item for item in observed if exact_json.at(item, ("type",)) in kinds]
    if len(same) in (0, len(allowed)):
        return same
    rest = iter(same)
    found = [
        next(
            (item for item in rest if not any(exact_json.differences(own, item, additions=True))),
            None,
        )
        for own in allowed
    ]
    return None if None in found else found
