"""Space of what scenarios vary: dimensions, lawful values, constraints, and pairs of values."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mcp_proxy_conformance.targets.description import BadTarget

Row = Mapping[str, str]
"""The values of one observation by dimension; a dimension that is left out has its default."""
Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two (dimension, value), in the order of the dimensions."""


class BadSpace(ValueError):
    """A space or its scenarios cannot be used; one sentence with the place and the repair."""


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One value of a dimension: the sentence that makes it lawful, and what the player makes of it.

    `since` is the version of the space that brought it, `needs` the capabilities, apart by spaces,
    without which it is not played.
    """

    name: str
    sentence: str
    since: int = 1
    needs: str = ""
    makes: dict[str, Any] = {}


class Dimension(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that varies; the first value is its default.

    `common`: all rows of one scenario have the same value.
    """

    name: str
    common: bool = False
    value: tuple[Value, ...]


class Constraint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where all these dimensions have one of these values, others may only have those of `only`."""

    where: dict[str, tuple[str, ...]]
    only: dict[str, tuple[str, ...]]
    sentence: str


class Space(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, dict=True):
    """The dimensions of one specification, and the constraints between their values."""

    name: str
    version: int
    dimension: tuple[Dimension, ...]
    constraint: tuple[Constraint, ...] = ()

    @cached_property
    def values(self) -> dict[str, dict[str, Value]]:
        """The values of each dimension by name; the first one is the default."""
        return {each.name: {v.name: v for v in each.value} for each in self.dimension}

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The default of each dimension."""
        return {each.name: each.value[0].name for each in self.dimension}

    def bare(self, row: Row) -> dict[str, str]:
        """Return the row without defaults, in the order of the dimensions."""
        return {
            name: row[name]
            for name, usual in self.defaults.items()
            if row.get(name, usual) != usual
        }

    def common(self, row: Row) -> Row:
        """Return the values that all rows of a scenario with this one have, without defaults."""
        shared = {each.name for each in self.dimension if each.common}
        return {name: value for name, value in self.bare(row).items() if name in shared}

    def excluded(self, row: Row) -> str:
        """Return the sentence of the constraint that keeps any whole row from having these values.

        It is empty if a row can have them; dimensions that are left out are open, not defaults.
        """
        first, *others = row.items()
        left, changed = {**self._alone[first]}, list[str]()
        for item in others:
            for name, its in self._alone[item].items():
                if name not in left or not left[name] <= its:
                    left[name] = left.get(name, its) & its
                    changed.append(name)
        if all(left.values()):
            return self._narrow(left, changed)
        return self._narrow({name: {value} for name, value in row.items()}, [*row])

    def _narrow(self, left: dict[str, set[str]], changed: list[str]) -> str:
        """Take from `left` what the constraints forbid, since these dimensions of it have changed.

        Return the sentence of the one that leaves a dimension nothing, if any.
        """
        while changed:
            for given, other, kept, sentence in self._implied[changed.pop()]:
                for name, its in given.items():
                    if name not in left or not left[name] <= its:
                        break
                else:
                    before = left.get(other, self._any[other])
                    if not before <= kept:
                        left[other] = before & kept
                        changed.append(other)
                        if not left[other]:
                            return sentence
        return ""

    @cached_property
    def _alone(self) -> dict[tuple[str, str], dict[str, set[str]]]:
        """What each single value leaves to the dimensions that the constraints narrow then."""
        alone = {(name, word): {name: {word}} for name, its in self.values.items() for word in its}
        for (name, _), left in alone.items():
            self._narrow(left, [name])
        return alone

    @cached_property
    def _any(self) -> dict[str, set[str]]:
        return {name: {*known} for name, known in self.values.items()}

    @cached_property
    def _implied(self) -> dict[str, list[tuple[dict[str, set[str]], str, set[str], str]]]:
        """(values by dimension, another one, what is left to it then, why), all ways around.

        They are listed under each dimension that they depend on.
        """
        ways = []
        for each in self.constraint:
            where = {name: {*its} for name, its in each.where.items()}
            for other, only in each.only.items():
                ways.append((where, other, {*only}, each.sentence))
                for name, its in where.items():
                    unlike = where | {other: self._any[other] - {*only}}
                    del unlike[name]
                    ways.append((unlike, name, self._any[name] - its, each.sentence))
        return {name: [way for way in ways if name in way[0]] for name in self.values}

    def reduced(self, capabilities: Collection[str], version: int | None = None) -> Space:
        """Return the space of the values that are played with these capabilities."""
        newest = version or self.version
        kept = [
            msgspec.structs.replace(each, value=tuple(
                v for v in each.value
                if v.since <= newest and {*v.needs.split()} <= {*capabilities}))
            for each in self.dimension
        ]  # fmt: skip
        return msgspec.structs.replace(self, dimension=tuple(kept))

    def expect_version(self, version: int | None) -> None:
        """Raise BadTarget if there is no such version of the space; None is the newest."""
        if version is not None and not 1 <= version <= self.version:
            fault = f"there is no version {version} of the space; name 1 to {self.version}"
            raise BadTarget(fault)

    def cut(
        self, row: Row, capabilities: Collection[str], version: int | None = None
    ) -> dict[str, str]:
        """Return the row with a default for each value that is not played here.

        Those are values that need a capability beyond these, or that a later version brought;
        and what no longer fits beside the others then.
        """
        played = self.reduced(capabilities, version).values
        kept = {name: value for name, value in self.bare(row).items() if value in played[name]}
        while self.excluded(self.defaults | kept):
            fits = [name for name in kept if not self.excluded(
                self.defaults | {n: v for n, v in kept.items() if n != name})]  # fmt: skip
            del kept[fits[0] if fits else next(iter(kept))]
        return kept

    @cached_property
    def pairs(self) -> dict[Pair, str]:
        """Every pair of values of two dimensions, with the sentence that excludes it, if any."""
        return {
            ((one, first), (two, second)): self.excluded({one: first, two: second})
            for one, two in combinations(self.values, 2)
            for first in self.values[one]
            for second in self.values[two]
        }

    def has(self, row: Row, values: Row) -> bool:
        """Whether the row has these values, defaults included."""
        return values.items() <= (self.defaults | {**row}).items()

    def pairs_of(self, row: Row) -> Iterator[Pair]:
        """Yield the pairs of values that the row has, defaults included."""
        return combinations((self.defaults | {**row}).items(), 2)


def in_words(row: Row) -> str:
    """Return the values of a row in words, as in `framing=crlf, event=503`."""
    return ", ".join(f"{name}={value}" for name, value in row.items()) or "nothing unusual"


def read_space(path: Path, *more: Dimension) -> Space:
    """Return the space in a TOML file, with these dimensions besides its own.

    Raises BadSpace for a file that cannot be used.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        space = msgspec.convert(data, Space)
    except (OSError, ValueError) as error:
        raise BadSpace(f"{path.name}: {error}") from None
    space = msgspec.structs.replace(space, dimension=(*space.dimension, *more))
    for fault in _faults(space):
        raise BadSpace(f"{path.name}: {fault}")
    return space


def _faults(space: Space) -> Iterator[str]:
    for each in space.constraint:
        for name, values in (*each.where.items(), *each.only.items()):
            if strays := {*values} - {*space.values.get(name, ())}:
                yield f"a constraint names {name}={min(strays)}, which is not there; correct it"
    if sentence := space.excluded(space.defaults):
        yield f"the defaults do not fit together ({sentence}); name another value first"


class PlayedSpace(NamedTuple):
    """A space, its committed scenarios and their file; which rows `fits` one scenario of `most`.

    `laws` are the clauses that are judged at each row, by the name of what is judged.
    """

    space: Space
    scenarios: Sequence[Scenario]
    path: Path
    fits: Callable[[Sequence[Row]], bool]
    most: int
    laws: Mapping[str, Sequence[str]]


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows that are played together, each without defaults; `id` is a hash of them."""

    id: str
    rows: tuple[dict[str, str], ...]

    def __hash__(self) -> int:
        return hash(self.id)


def read_scenarios(path: Path, space: Space) -> tuple[Scenario, ...]:
    """Return the committed scenarios; BadSpace if one has values that the space lacks."""
    try:
        scenarios = msgspec.json.decode(path.read_bytes(), type=tuple[Scenario, ...])
    except (OSError, msgspec.MsgspecError) as error:
        raise BadSpace(f"{path.name}: {error}") from None
    for each in scenarios:
        for name, value in (item for row in each.rows for item in row.items()):
            if value not in space.values.get(name, ()):
                raise BadSpace(f"{path.name}: {each.id} has {name}={value}, which the space lacks")
    return scenarios


def cut_all(
    space: Space, scenarios: Sequence[Scenario], capabilities: Collection[str], version: int | None
) -> list[Scenario]:
    """Return the scenarios as far as they are played with these capabilities, under their ids.

    Equal rows are played once. Every pair of two values that are still played stays in one of them,
    since a value is only ever replaced, never the row.
    """
    seen: set[tuple[tuple[str, str], ...]] = set()
    left = []
    for each in scenarios:
        rows = []
        for row in each.rows:
            cut = space.cut(row, capabilities, version)
            key = tuple(cut.items())
            if key not in seen:
                seen.add(key)
                rows.append(cut)
        if rows:
            left.append(Scenario(id=each.id, rows=tuple(rows)))
    return left
