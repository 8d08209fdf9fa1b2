"""Reports of the parts of one run made into the report of that run."""

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
from mcp_proxy_conformance.report.making import made
from mcp_proxy_conformance.report.reading import BadReport
from mcp_proxy_conformance.run.parallel.shares import Ended, Found, Share, gather
from mcp_proxy_conformance.verdict.cited import Cited, StageTold
from mcp_proxy_conformance.verdict.deviations.deviation import Deviation
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts, beyond
from mcp_proxy_conformance.verdict.result import Result

Json = dict[str, Any]
_NUMBERED = re.compile(r" [0-9]+$")
MOST_PARTS, LONGEST = 9999, 1e9
"""Parts of a run, and seconds of anything in it."""
BEFORE = -1
"""The place in the order of what is found before any check."""
ALIKE: Mapping[str, Callable[[Report, Part], Any]] = {
    "suite versions": lambda one, _: one.suite.version,
    "profiles": lambda one, _: one.profile.name,
    "kinds of target": lambda one, _: one.target.kind,
    "versions of the target": lambda one, _: one.target.version,
    "target files": lambda one, _: one.target.file,
    "declared capabilities": lambda one, _: one.target.capabilities,
    "numbers of parts": lambda _, part: part.of,
    "checks": lambda _, part: part.order,
    "deviations": lambda one, _: [each.id for each in one.waivers],
}
"""What parts of one run have in common."""


def merged(reports: Mapping[str, Report]) -> Report:
    """The report of the run that these are the parts of, by the names of their files.

    Raises:
        BadReport: They are not parts of one run, or one part is there twice.
    """
    parts = {name: (one, _part(name, one)) for name, one in reports.items()}
    _expect_one_run(parts)
    ordered = sorted(parts.values(), key=lambda each: each[1].number)
    first, part = ordered[0]
    state, seconds = RunState(), [_seconds(one.timing.get("seconds")) for one, _ in ordered]
    try:
        record = _record(first, state, max(seconds))
        gather(state, [_share(*each) for each in ordered])
    except (UnknownProfile, msgspec.ValidationError) as error:
        raise BadReport(f"it cannot be merged: {error}") from None
    state.missing = _missing([each.number for _, each in ordered], part.of)
    told = made(replace(record, stages=tuple(state.stages)))
    timing = told.timing | {"seconds": max(seconds), "parts": seconds}
    return msgspec.structs.replace(told, timing=timing)


def _part(name: str, one: Report) -> Part:
    """Which part it is; raises BadReport for what is none, or does not name its profile."""
    part = one.shard
    if isinstance(part, msgspec.UnsetType):
        raise BadReport(f"{name} is of no part of a run; make parts with `run --shard 1/3`")
    if not part.number <= part.of <= MOST_PARTS:
        told = f"{part.number}/{part.of}"
        raise BadReport(f"{name} says that it is the part {told}; let `run --shard` write it again")
    if not one.profile.name:
        raise BadReport(f"{name} does not say profile.name; let `run --shard` write it again")
    return part


def _expect_one_run(parts: Mapping[str, tuple[Report, Part]]) -> None:
    """Raise BadReport for parts of several runs, for another suite's, and for one given twice."""
    (first, one), *others = parts.items()
    for what, of in ALIKE.items():
        for name, other in others:
            if of(*other) != of(*one):
                raise BadReport(f"{first} and {name} are of other {what}; merge parts of one run")
    by = one[0].suite.version
    if by != version(SUITE):
        raise BadReport(f"{first} was made by version {by} of the suite; merge with that one")
    seen: dict[int, str] = {}
    for name, (_, part) in parts.items():
        if part.number in seen:
            told = f"{part.number}/{part.of}"
            both = f"{seen[part.number]} and {name}"
            raise BadReport(f"{both} are both the part {told}; give one of them")
        seen[part.number] = name


def _missing(numbers: Sequence[int], of: int) -> str:
    lost = [f"{number}/{of}" for number in range(1, of + 1) if number not in numbers]
    return f"missing parts: {', '.join(lost)}" if lost else ""


def _record(one: Report, state: RunState, seconds: float) -> RunRecord:
    """The record of a run without results, on the target that the report tells of."""
    told, judged_by = one.target, profile(one.profile.name)
    can = frozenset(told.capabilities)
    return RunRecord(
        profile=judged_by,
        target=TargetFacts(
            kind=told.kind,
            version=told.version,
            capabilities=can,
            file=told.file,
            lines=told.lines if told.file is not None else {},
        ),
        state=state,
        deviations=msgspec.convert(msgspec.to_builtins(one.waivers), type=tuple[Deviation, ...]),
        beyond=beyond(judged_by, can),
        seconds=seconds,
    )


def _share(one: Report, part: Part) -> Share:
    """What the report of a part says, in the order of the whole run."""
    addresses = {address: at for at, address in enumerate(part.order)}
    places = {name: at for at, name in reversed(list(enumerate(part.order.values())))}
    results: dict[int, list[Result]] = defaultdict(list)
    stages: dict[int, list[StageTold]] = defaultdict(list)
    for told in one.results:
        results[addresses.get(told.reproduce, BEFORE)].append(_result(told, one.timing))
    for stage in one.stages:
        name = stage.place if stage.place in places else _NUMBERED.sub("", stage.place)
        stages[places.get(name, BEFORE)].append(_stage(stage, name, one.timing))
    found = [
        Found(
            at=at,
            results=tuple(results[at]),
            stages=tuple(stages[at]),
            messages={name: _cited(name, one) for each in results[at] for name in each.messages},
            wire=one.target.wire,
        )
        for at in sorted(results.keys() | stages.keys())
    ]
    states = {name: getattr(part, name) for name in Ended.__struct_fields__}
    return Share(found=tuple(found), ended=Ended(**states))


def _result(told: Result, timing: Json) -> Result:
    spent = _group(timing, "results").get(told.name)
    return msgspec.structs.replace(told, timing=spent if isinstance(spent, dict) else {})


def _stage(told: Stage, name: str, timing: Json) -> StageTold:
    seconds = _seconds(_group(timing, "stages").get(told.place))
    return StageTold(
        place=told.place, name=name, stage=told.stage, armed=told.armed, seconds=seconds
    )


def _cited(name: str, one: Report) -> Cited:
    """A message; its credentials were taken out when the part was told."""
    told, at = one.messages[name], _seconds(_group(one.timing, "messages").get(name))
    members = msgspec.structs.asdict(told) | {"headers": tuple(told.headers.items()), "at": at}
    return Cited(**members)


def _group(timing: Json, name: str) -> Json:
    """One group of times; whatever their schema leaves open may be in their place."""
    told = timing.get(name)
    return told if isinstance(told, dict) else {}


def _seconds(told: Any) -> float:
    """Seconds; none where the report has no number that can be."""
    number = isinstance(told, (int, float)) and not isinstance(told, bool)
    return told if number and 0 <= told < LONGEST else 0.0
