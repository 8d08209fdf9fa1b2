"""Covering set of a space: rows that have every pair of values, packed into scenarios."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

import msgspec

from mcp_proxy_conformance.run.space.space import Pair, Row, Scenario, Space


def covering(space: Space, seeds: Sequence[Row]) -> list[dict[str, str]]:
    """Return rows without defaults that have every admissible pair, the seeds first.

    So do the rows that are left without any capability. The same space and seeds give the same
    rows; a minute for 5,000 pairs.
    """
    rows = [space.bare(seed) for seed in seeds]
    for needs in ({v.needs for known in space.values.values() for v in known.values()}, {""}):
        kept = [space.cut(row, needs) for row in rows]
        rows += _covering(space, kept, needs)[len(rows) :]
    return rows


def _covering(space: Space, rows: Sequence[Row], needs: Collection[str]) -> list[dict[str, str]]:
    """Return these rows, and others after them, by which pairs of values with these needs go."""
    from covertable import make  # noqa: PLC0415 - only who changes a space needs it

    def one_of(name: str, values: Sequence[str]) -> dict[str, Any]:
        return {"operator": "in", "left": name, "values": [*values]}

    factors = {
        name: [value.name for value in known.values() if value.needs in needs]
        for name, known in space.values.items()
    }
    conditions = [
        {"operator": "or", "conditions": [
            *({"operator": "not", "condition": one_of(*its)} for its in each.where.items()),
            one_of(*only)]}
        for each in space.constraint
        for only in each.only.items()
    ]  # fmt: skip
    made = make(factors, presets=[space.defaults | {**row} for row in rows], constraints=conditions)
    return [space.bare(row) for row in made]


def packed(
    space: Space, rows: Sequence[Row], fits: Callable[[Sequence[Row]], bool]
) -> list[Scenario]:
    """Return scenarios of these rows: those of one have equal common values, and fit together.

    They are in such an order that the first ones have the most pairs.
    """
    groups: list[list[Row]] = []
    for row in rows:
        for group in groups:
            if space.common(group[0]) == space.common(row) and fits([*group, row]):
                group.append(row)
                break
        else:
            groups.append([row])
    covers = {
        at: {pair for row in group for pair in space.pairs_of(row)}
        for at, group in enumerate(groups)
    }
    ordered: list[Scenario] = []
    seen: set[Pair] = set()
    while covers:
        at = max(covers, key=lambda each: (len(covers[each] - seen), -each))
        seen |= covers.pop(at)
        ordered.append(scenario(groups[at]))
    return ordered


def scenario(rows: Sequence[Row]) -> Scenario:
    """Return the scenario of these rows, named by a hash of its content."""
    plain = tuple(dict(row) for row in rows)
    digest = hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
    return Scenario(id=digest[:8], rows=plain)
