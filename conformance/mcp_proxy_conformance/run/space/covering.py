"""Covering set of a space: rows that have every pair of values, packed into scenarios."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

import msgspec

from mcp_proxy_conformance.run.space.space import (
    BadSpace,
    Pair,
    PlayedSpace,
    Row,
    Scenario,
    Space,
    cut_all,
    in_words,
)

Missing = defaultdict[tuple[str, str], set[tuple[str, str]]]
"""The values that each (dimension, value) is in no row with."""

SEVERAL = 5
"""A row that does not fit with so many of its like hardly fits."""


def covering(space: Space, seeds: Sequence[Row]) -> list[dict[str, str]]:
    """Return rows without defaults that have every admissible pair, the seeds first.

    So do the rows that are left without any capability. The same space and seeds give the same
    rows; seconds for 15,000 pairs. Raises BadSpace for a pair that no row can have although no
    constraint says so.
    """
    rows = [space.bare(seed) for seed in seeds]
    every = {word for known in space.values.values() for v in known.values()
             for word in v.needs.split()}  # fmt: skip
    for needs in (every, {*()}):
        played = space.reduced(needs)
        seen = {pair for row in rows for pair in space.pairs_of(space.cut(row, needs))}
        missing: Missing = defaultdict(set)
        for (one, two), why in played.pairs.items():
            if not why and (one, two) not in seen:
                missing[one].add(two)
                missing[two].add(one)
        for item in [*missing]:
            while others := missing[item]:
                pair = dict((item, min(others)))
                if (row := _whole(played, pair, missing)) is None:
                    raise BadSpace(f"no row has {in_words(pair)}; say why in a constraint")
                rows.append(space.bare(row))
                for own in row.items():
                    missing[own] -= row.items()
    return rows


def _whole(space: Space, row: dict[str, str], missing: Missing) -> dict[str, str] | None:
    """Return the row with a value for each dimension, by which many missing pairs go.

    The value that gains most comes first. None if the values of the row do not fit together.
    """
    gains = {
        (name, value): len(missing[name, value] & row.items())
        for name in space.values.keys() - row.keys()
        for value in space.values[name]
    }
    if not gains:
        return row
    name = max(space.values.keys() - row.keys(), key=lambda each: max(
        (gains[each, value], each) for value in space.values[each]))  # fmt: skip
    for value in sorted(space.values[name], key=lambda each: -gains[name, each]):
        wider = row | {name: value}
        if not space.excluded(wider) and (whole := _whole(space, wider, missing)) is not None:
            return whole
    return None


def packed(
    space: Space, rows: Sequence[Row], fits: Callable[[Sequence[Row]], bool]
) -> list[Scenario]:
    """Return scenarios of these rows: those of one have equal common values, and fit together.

    Rows that hardly fit with their like are packed first, so that few scenarios have such. They are
    in such an order that the first ones have the most pairs.
    """
    groups: list[list[Row]] = []
    for row in sorted(rows, key=lambda each: fits([each] * SEVERAL)):
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


def given(
    played: PlayedSpace, capabilities: Collection[str], version: int | None = None, *,
    examples: int = 0, seed: int = 0,
) -> list[Scenario]:  # fmt: skip
    """Return the scenarios that a target with these capabilities is given: the committed ones.

    They are followed by so many `examples`, drawn from the space by the seed. Rows are cut to what
    is played with these capabilities, and of that version of the space.
    """
    space = played.space
    committed = cut_all(space, played.scenarios, capabilities, version)
    if not examples:
        return committed
    # hypothesis takes a third of a second to import, and only drawn scenarios need it
    from hypothesis import strategies as st  # noqa: PLC0415

    from mcp_proxy_conformance.run.laws.generation import drawn  # noqa: PLC0415

    one = st.fixed_dictionaries({name: st.sampled_from([*v]) for name, v in space.values.items()})
    several = [space.cut(row, capabilities, version)
               for row in drawn(one, examples * played.most, seed)]  # fmt: skip
    return [*committed, *packed(space, several, played.fits)[:examples]]


def scenario(rows: Sequence[Row]) -> Scenario:
    """Return the scenario of these rows, named by a hash of its content."""
    plain = tuple(dict(row) for row in rows)
    digest = hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()
    return Scenario(id=digest[:8], rows=plain)
