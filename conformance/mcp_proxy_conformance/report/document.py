"""Typed model of `report.json`, the document that every renderer takes, and its encoding."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Floor
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.cited import CitedLocks, Direction, Edge
from mcp_proxy_conformance.verdict.coverage import Coverage
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.outcome import Outcome
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

FORMAT = "mcp-proxy-conformance-report/3"
SUITE = "mcp-proxy-conformance"


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """The suite that judged: its name and version."""

    name: str
    version: str


class JudgedProfile(msgspec.Struct, frozen=True, kw_only=True):
    """The profile that a run was judged by; `name` has the version of each that it joins."""

    id: str
    version: int
    name: str
    floor: Floor


class JudgedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The implementation under test; `lines` maps members of its target file to their lines.

    `declared` are the declarations there that were taken on its word, by member.

    `name` and `version` are those of the target file, else those that the target gives of itself;
    empty if there are none.
    """

    kind: str
    name: str = ""
    version: str
    wire: str
    capabilities: list[str]
    file: str | None = None
    lines: dict[str, int] = {}
    declared: dict[str, str | bool | list[str]] = {}


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A started target of a stage, and the result of proving its locks."""

    place: str
    stage: str
    armed: CitedLocks


class ReportedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message on one edge; `cut` counts the bytes of its body that were left out."""

    edge: Edge
    direction: Direction
    peer: str
    note: str
    headers: dict[str, str]
    body: str
    cut: int


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a sharded run and how it ended, for the report of all parts."""

    number: int
    of: int
    order: dict[str, str]
    narrowed: bool
    interrupted: bool
    cut_short: str
    faults: list[str]
    stopped: Outcome | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a report.json, as schemas/report.schema.json describes it.

    `cut_short` says what ended the run before its end, if anything did. `messages` are those that
    results cite, by place and number. `coverage` is None where no space is played. `timing` holds
    whatever differs between two equal runs, and is the one member without a shape.
    """

    format: str
    suite: Suite
    profile: JudgedProfile
    target: JudgedTarget
    headline: str
    exit: int
    why: str
    complete: bool
    cut_short: str = ""
    clauses: list[ClauseVerdict]
    results: list[Result]
    causes: list[RootCause]
    stages: list[Stage]
    messages: dict[str, ReportedMessage]
    waivers: list[Waiver]
    coverage: Coverage | None = None
    shard: Part | msgspec.UnsetType = msgspec.UNSET
    timing: dict[str, Any]


def plain(report: Report) -> dict[str, Any]:
    """Return the report as JSON values, valid under its schema; its results lose their `timing`.

    The report's own `timing` stays.
    """
    document: dict[str, Any] = msgspec.to_builtins(report)
    for result in document["results"]:
        del result["timing"]
    return document


def written(document: dict[str, Any]) -> bytes:
    """Encode a plain report as the bytes of a `report.json`, indented by one."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1)
