"""The report: one typed document from which everything else is rendered."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Floor
from mcp_proxy_conformance.verdict.cited import ArmedTold, Direction, Edge
from mcp_proxy_conformance.verdict.deviations.waiving import Waiver
from mcp_proxy_conformance.verdict.outcome import Outcome
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

FORMAT = "mcp-proxy-conformance-report/1"
SUITE = "mcp-proxy-conformance"


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The suite that judged."""

    name: str
    version: str


class JudgedProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The set of clauses that was judged; `name` tells several that are judged together."""

    id: str
    version: int
    name: str = ""
    floor: Floor


class JudgedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The implementation under test; `lines` are where members of its target file begin."""

    kind: str
    version: str
    wire: str
    capabilities: list[str]
    file: str | None = None
    lines: dict[str, int] = {}


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A started stage, and what arming proved of it."""

    place: str
    stage: str
    armed: ArmedTold


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message on one edge; `cut` is how many bytes of its body were left out."""

    edge: Edge
    direction: Direction
    peer: str
    note: str
    headers: dict[str, str]
    body: str
    cut: int


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a run this is, and how it ended, for the report of all parts."""

    number: int
    of: int
    order: dict[str, str]
    narrowed: bool
    interrupted: bool
    cut_short: str
    faults: list[str]
    stopped: Outcome | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report as schemas/report.schema.json describes it; every renderer takes one.

    `messages` are those that results cite, by place and number. `timing` holds whatever differs
    between two equal runs, and is the one member without a shape.
    """

    format: str
    suite: Suite
    profile: JudgedProfile
    target: JudgedTarget
    headline: str
    exit: int
    why: str
    complete: bool
    clauses: list[ClauseVerdict]
    results: list[Result]
    stages: list[Stage]
    messages: dict[str, Message]
    waivers: list[Waiver]
    shard: Part | msgspec.UnsetType = msgspec.UNSET
    timing: dict[str, Any]


def plain(report: Report) -> dict[str, Any]:
    """The report as JSON values, valid under its schema; times of results are in `timing`."""
    told: dict[str, Any] = msgspec.to_builtins(report)
    for one in told["results"]:
        del one["timing"]
    return told


def written(told: dict[str, Any]) -> bytes:
    """The text of a `report.json`."""
    return msgspec.json.format(msgspec.json.encode(told), indent=1)
