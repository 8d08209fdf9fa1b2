"""Merging of the reports of a run's parts (shards) into the report of the whole run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import UnknownProfile, profile
from mcp_proxy_conformance.report.document import SUITE, Part, Report, Stage
from mcp_proxy_conformance.report.from_record import report_of
from mcp_proxy_conformance.report.phrases import began
from mcp_proxy_conformance.report.reader import BadReport
from mcp_proxy_conformance.run.parallel.shares import CheckResults, PartEnd, Share, gather
from mcp_proxy_conformance.verdict.cited import CitedMessage, CitedStage
from mcp_proxy_conformance.verdict.coverage import merged as merged_coverage
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts, beyond
from mcp_proxy_conformance.verdict.result import Result

Json = dict[str, Any]
_NUMBERED = re.compile(r" [0-9]+$")
MOST_PARTS, LONGEST = 9999, 1e9
"""The most parts of a run, and the most seconds of anything in it."""
BEFORE = -1
"""The place in the order of findings before any check."""
ALIKE: Mapping[str, Callable[[Report, Part], Any]] = {
    "suite versions": lambda report, _: report.suite.version,
    "profiles": lambda report, _: report.profile.name,
    "kinds of target": lambda report, _: report.target.kind,
    "names of the target": lambda report, _: report.target.name,
    "versions of the target": lambda report, _: report.target.version,
    "target files": lambda report, _: report.target.file,
    "declared capabilities": lambda report, _: report.target.capabilities,
    "declared differences": lambda report, _: report.target.declared,
    "spaces": lambda report, _: (
        report.coverage and (report.coverage.space, report.coverage.version)
    ),
    "numbers of parts": lambda _, part: part.of,
    "checks": lambda _, part: part.order,
    "deviations": lambda report, _: [each.id for each in report.waivers],
}
"""The properties that all parts of one run share."""


def merged(reports: Mapping[str, Report]) -> Report:
    """Return the report of the whole run, of its parts' reports by the names of their files.

    Missing parts make it incomplete; its seconds are those of the slowest part. Raises
    BadReport if they are not parts of one run, a part occurs twice, or a value is unusable.
    """
    parts = {name: (report, _part(name, report)) for name, report in reports.items()}
    _expect_one_run(parts)
    ordered = sorted(parts.values(), key=lambda each: each[1].number)
    first, part = ordered[0]
    state, seconds = RunState(), [_seconds(report.timing.get("seconds")) for report, _ in ordered]
    try:
        record = _record(first, state, max(seconds))
        gather(state, [_share(*each) for each in ordered])
    except (UnknownProfile, msgspec.ValidationError) as error:
        raise BadReport(f"the parts cannot be merged: {error}") from None
    state.missing = _missing([each.number for _, each in ordered], part.of)
    covered = [report.coverage for report, _ in ordered if report.coverage is not None]
    coverage = merged_coverage(covered) if covered else None
    whole = report_of(replace(record, stages=tuple(state.stages), coverage=coverage))
    timing = whole.timing | {"seconds": max(seconds), "parts": seconds}
    return msgspec.structs.replace(whole, timing=timing)


def _part(name: str, report: Report) -> Part:
    """Return a report's part of the run.

    Raises BadReport if the report is of a whole run, or has an impossible number.
    """
    part = report.shard
    if isinstance(part, msgspec.UnsetType):
        raise BadReport(f"{name} is not a part of a run; make parts with `run --shard 1/3`")
    if not part.number <= part.of <= MOST_PARTS:
        label = f"{part.number}/{part.of}"
        raise BadReport(
            f"{name} claims to be part {label}, which cannot be; run `run --shard` again"
        )
    return part


def _expect_one_run(parts: Mapping[str, tuple[Report, Part]]) -> None:
    """Raise BadReport if parts differ in a property of ALIKE, or two have the same number.

    It is raised too if they were made by another version of the suite than the running one. The
    message names two files, or one and its version.
    """
    (first, reference), *others = parts.items()
    for what, of in ALIKE.items():
        for name, other in others:
            if of(*other) != of(*reference):
                raise BadReport(f"{first} and {name} have different {what}; merge parts of one run")
    by = reference[0].suite.version
    if by != version(SUITE):
        raise BadReport(f"{first} was made by version {by} of the suite; merge with that version")
    names: dict[int, str] = {}
    for name, (_, part) in parts.items():
        if part.number in names:
            label = f"{part.number}/{part.of}"
            both = f"{names[part.number]} and {name}"
            raise BadReport(f"{both} are both part {label}; give only one of them")
        names[part.number] = name


def _missing(numbers: Sequence[int], of: int) -> str:
    """Return a sentence that names the parts from 1 to `of` that are not in `numbers`; else ""."""
    lost = [f"{number}/{of}" for number in range(1, of + 1) if number not in numbers]
    return f"missing parts: {', '.join(lost)}" if lost else ""


def _record(report: Report, state: RunState, seconds: float) -> RunRecord:
    """Return the record of the merged run, with the target, waivers, date and command of `report`.

    What the profile leaves unjudged is computed from the target's capabilities.
    """
    target, judged_by = report.target, profile(report.profile.name)
    can = frozenset(target.capabilities)
    return RunRecord(
        profile=judged_by,
        target=TargetFacts(
            kind=target.kind,
            name=target.name,
            version=target.version,
            capabilities=can,
            file=target.file,
            lines=target.lines if target.file is not None else {},
            declared=target.declared,
        ),
        state=state,
        deviations=msgspec.convert(msgspec.to_builtins(report.waivers), type=tuple[Deviation, ...]),
        beyond=beyond(judged_by, can),
        seconds=seconds,
        date=began(report),
        command=_command(report.timing.get("command")),
    )


def _command(halves: Any) -> tuple[str, str]:
    """Return the halves of a report's stored command line, before and after `--check NAME`.

    A half that is missing is ""; both are if `halves` is not a list.
    """
    given = halves if isinstance(halves, list) else []
    before, after = [*map(str, given), "", ""][:2]
    return before, after


def _share(report: Report, part: Part) -> Share:
    """Return a part's results and stages as a Share: an entry for each check that has any.

    An entry has the check's number in the whole run's order. A stage is put under the first check
    of its place, whose name it has, or its name without a final number. What belongs to no known
    check comes before all checks.
    """
    addresses = {address: at for at, address in enumerate(part.order)}
    places = {name: at for at, name in reversed(list(enumerate(part.order.values())))}
    results: dict[int, list[Result]] = defaultdict(list)
    stages: dict[int, list[CitedStage]] = defaultdict(list)
    for result in report.results:
        results[addresses.get(result.reproduce, BEFORE)].append(_result(result, report.timing))
    for stage in report.stages:
        name = stage.place if stage.place in places else _NUMBERED.sub("", stage.place)
        stages[places.get(name, BEFORE)].append(_stage(stage, name, report.timing))
    entries = [
        CheckResults(
            at=at,
            results=tuple(results[at]),
            stages=tuple(stages[at]),
            messages={name: _cited(name, report) for each in results[at] for name in each.messages},
            wire=report.target.wire,
        )
        for at in sorted(results.keys() | stages.keys())
    ]
    states = {name: getattr(part, name) for name in PartEnd.__struct_fields__}
    return Share(checks=tuple(entries), ended=PartEnd(**states))


def _result(result: Result, timing: Json) -> Result:
    """Return the result with its own timing, from the report's `timing`; {} if none is there."""
    spent = _group(timing, "results").get(result.name)
    return msgspec.structs.replace(result, timing=spent if isinstance(spent, dict) else {})


def _stage(stage: Stage, name: str, timing: Json) -> CitedStage:
    """Return a report's stage as a CitedStage, with its place's `name` and its seconds (or 0.0)."""
    seconds = _seconds(_group(timing, "stages").get(stage.place))
    return CitedStage(
        place=stage.place, name=name, stage=stage.stage, armed=stage.armed, seconds=seconds
    )


def _cited(name: str, report: Report) -> CitedMessage:
    """Return the report's message of this name as a CitedMessage, with its time.

    Its credentials are redacted already.
    """
    message, at = report.messages[name], _seconds(_group(report.timing, "messages").get(name))
    members = msgspec.structs.asdict(message) | {
        "headers": tuple(message.headers.items()),
        "at": at,
    }
    return CitedMessage(**members)


def _group(timing: Json, name: str) -> Json:
    """Return the member `name` of a report's timing; {} if it is missing or not an object."""
    group = timing.get(name)
    return group if isinstance(group, dict) else {}


def _seconds(value: Any) -> float:
    """Return a number of seconds; 0.0 for anything but a number from 0 to below 1e9."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if number and 0 <= value < LONGEST else 0.0
