"""Discovery cases: JSON fixtures of a request and its allowed answers, which parametrise checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from mcp_proxy_conformance.catalogue.bounded import read_bytes
from mcp_proxy_conformance.catalogue.case_file import (
    ID,
    BadCase,
    CitingCase,
    own_cases,
    read_cases,
    readable,
    shipped,
)
from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.catalogue.stage import BadStage, stage
from mcp_proxy_conformance.catalogue.world import ToolKey, World, key

if TYPE_CHECKING:
    import pytest


CAP_FILLS, NOTE_COUNT = "cap-fills", "note-count"
"""The interpretations that a case can rest on."""


class Given(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `given` of a case: the name of its stage, the world in which the request is made.

    All steps of the stage are taken before the request.
    """

    stage: str


class When(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One request to the target: discovery, listing or call; members left out are not sent."""

    do: Literal["discover", "list", "call"]
    query: str | None = None
    include_disabled: bool | None = None
    limit: Any = msgspec.UNSET
    agent: str | None = None
    tool: str | None = None


class CallableMembers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tools that the callable part of an answer must have, must lack, or must consist of."""

    has: tuple[str, ...] | None = None
    lacks: tuple[str, ...] | None = None
    only: tuple[str, ...] | None = None


class Bounds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An inclusive range, or one number."""

    min: int = 0
    max: int | None = None
    equals: int | None = None

    def __str__(self) -> str:
        """Return the bounds in words: `at most 10`, `1 to 10`, `3 or more`, `5`."""
        if self.equals is not None or self.max == self.min:
            return f"{self.min if self.equals is None else self.equals}"
        if self.max is not None and not self.min:
            return f"at most {self.max}"
        return f"{self.min} or more" if self.max is None else f"{self.min} to {self.max}"

    def holds(self, number: int) -> bool:
        """Whether the number is within the bounds or, with `equals`, is that number."""
        if self.equals is not None:
            return number == self.equals
        return self.min <= number and (self.max is None or number <= self.max)


class Rejection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The expected rejection of a call; a member that is None is not judged.

    `is_class` is the status whose reason the text must give, `not_class` one whose remedy it must
    not ask for; `points_to_flag`: whether the text names the flag or the discovery tool.
    """

    reaches_upstream: bool | None = None
    is_class: str | None = msgspec.field(name="class", default=None)
    not_class: str | None = None
    points_to_flag: bool | None = None


Kind = Literal["string", "integer", "number", "boolean", "array", "object", "null", "absent"]
"""The JSON type of a member, or that there is none of that name."""


class Then(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `then` of a case: its expectation of the answer; a member left out is not judged.

    `disabled` maps each tool to its allowed statuses; `absent` among them allows it to be unlisted.
    """

    tools: CallableMembers | None = None
    disabled: dict[str, tuple[str, ...]] | None = None
    disabled_only: bool = False
    disabled_count: Bounds | None = None
    withheld: tuple[str, ...] = ()
    described: tuple[str, ...] = ()
    remediation_keys: Literal["as statuses"] | tuple[str, ...] | None = None
    remediation_class: tuple[str, ...] = ()
    as_without_flag: bool | None = None
    note: Literal["due", "absent", "any"] = "any"
    note_count: Bounds | None = None
    counts: dict[str, dict[str, int | tuple[int, ...]] | None] | None = None
    rejection: Rejection | None = None
    members: dict[Literal["answer", "tools", "disabled", "servers"], dict[str, Kind]] | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fixture: given, when, then; named for the fault that it finds.

    `interpretations`: the ids of those that excuse an answer which `then` alone would not allow.
    """

    id: str
    area: str
    title: str
    source: tuple[str, ...]
    clauses: tuple[str, ...]
    interpretations: tuple[str, ...] = ()
    given: Given
    when: When
    then: Then

    def tools(self) -> frozenset[ToolKey]:
        """Return the tools that `then` names (disabled, withheld, described) or the request calls.

        Without any, the tools of its stage whose name or query words equal its query; none without
        a query.
        """
        named = [*(self.then.disabled or ()), *self.then.withheld, *self.then.described]
        named += [self.when.tool] if self.when.tool is not None else []
        if named:
            return frozenset(map(key, named))
        query = self.when.query
        known = stage(self.given.stage).tools()
        return frozenset(name for name, tool in known.items() if query and tool.holds(query))


@cache
def cases() -> tuple[Case, ...]:
    """Return every shipped discovery case, sorted by id, read once.

    Raises BadCase for one that does not fit the schema.
    """
    return shipped("discovery", read)


def read(path: Path) -> list[Case]:
    """Return the discovery cases of a file; raise BadCase for one that does not fit the schema."""
    return read_cases(path, Case, "case")


def read_own(path: Path) -> list[tuple[Case, World]]:
    """Return each case of a user's file with the world of its stage.

    The world is read from STAGE.json beside the file if it exists, else it is the shipped stage of
    that name. Raises BadCase if a case or stage cannot be read, or a case names an unknown area or
    clause.
    """
    own = own_cases(path, read, cases())
    try:
        with readable(path, "stage", "its stage"):
            return [(case, _world(path, case.given.stage)) for case in own]
    except BadStage as error:
        raise BadCase(f"{path.name}: {error}; see schemas/stage.schema.json") from None


def _world(path: Path, name: str) -> World:
    if not ID.fullmatch(name):
        raise BadStage(f"{name!r} is no name of a stage; write lower-case words with dashes")
    beside = path.with_name(f"{name}.json")
    if beside.is_file():
        return msgspec.json.decode(read_bytes(beside), type=World)
    return stage(name)


class OwnCase(NamedTuple):
    """A user's case from `--case`, its world, and what it needs besides what its clauses need."""

    case: CitingCase
    world: World
    needs: tuple[str, ...] = ()


def parametrise(metafunc: pytest.Metafunc, own: Sequence[OwnCase]) -> None:
    """Replace the shipped cases of a check by a user's, at pytest's collection.

    Checks whose cases are of another area, or another kind (discovery, load, relay), stay as they
    are.
    """
    import pytest  # noqa: PLC0415 - as in each_case

    marks = metafunc.definition.own_markers
    for at, mark in enumerate(marks):
        if mark.name == "parametrize" and mark.args[0] == "case" and mark.args[1]:
            first = mark.args[1][0].values[0]
            kind = type(first), first.area
            mine = [parameter(*one) for one in own if (type(one.case), one.case.area) == kind]
            if mine:
                marks[at] = pytest.mark.parametrize("case", mine).mark


def each_case(area: str) -> pytest.MarkDecorator:
    """Return a decorator that parametrises a check's `case` with the shipped cases of an area.

    Each runs on its stage, on a shared target. For an unknown area there is no case.
    """
    import pytest  # noqa: PLC0415 - checks alone are marked; readers of cases go without

    chosen = [case for case in cases() if case.area == area]
    worlds = [stage(case.given.stage) for case in chosen]
    return pytest.mark.parametrize("case", list(map(parameter, chosen, worlds)))


def parameter(case: CitingCase, world: World, needs: tuple[str, ...] = ()) -> Any:
    """Return a case as a pytest parameter, marked with its clauses and its world.

    The target must declare the capabilities of the clauses and those in `needs`; the case runs on
    a shared target. Raises UnknownClause for a clause that is not in the catalogue.
    """
    import pytest  # noqa: PLC0415 - as above

    words = {word for clause in case.clauses for word in catalogue().clause(clause).capability}
    needs = tuple(sorted(words.union(needs)))
    return pytest.param(
        case,
        id=case.id,
        marks=[
            pytest.mark.requirement(*case.clauses),
            pytest.mark.on(world, fresh=False, needs=needs),
        ],
    )
