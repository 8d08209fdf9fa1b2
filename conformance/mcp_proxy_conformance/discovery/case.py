"""Discovery cases: JSON fixtures of a request and its allowed answers, which parametrise checks."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from mcp_proxy_conformance.catalogue.bounded import read_bytes
from mcp_proxy_conformance.catalogue.bounds import Bounds
from mcp_proxy_conformance.catalogue.case_file import (
    ID,
    BadCase,
    own_cases,
    read_cases,
    readable,
    shipped,
)
from mcp_proxy_conformance.catalogue.own_case import OwnCase, parameter
from mcp_proxy_conformance.catalogue.stage import BadStage, stage
from mcp_proxy_conformance.catalogue.world import ToolKey, World, final, key
from mcp_proxy_conformance.discovery.scenarios import scenario_cases

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


def locks_of(case_id: str) -> frozenset[tuple[str, ...]]:
    """Return the sets of locks on the locked tools that a shipped case is about, if there is one.

    They are those after all steps of its stage.
    """
    case = next((case for case in cases() if case.id == case_id), None)
    if case is None:
        return frozenset()
    states = final(stage(case.given.stage))
    return frozenset(states[name].locks for name in case.tools() if name in states) - {()}


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


def each_case(area: str) -> pytest.MarkDecorator:
    """Return a decorator that parametrises a check's `case` with the shipped cases of an area.

    Each runs on its stage, on a shared target; a scenario on a target of its own. For an unknown
    area there is no case.
    """
    import pytest  # noqa: PLC0415 - checks alone are marked; readers of cases go without

    chosen = [OwnCase(case, stage(case.given.stage)) for case in cases() if case.area == area]
    chosen += [case.own() for case in scenario_cases() if case.area == area]
    cells = [parameter(own.case, own.world, scenario=own.scenario) for own in chosen]
    return pytest.mark.parametrize("case", cells)
