"""Reports of the parts of one run made into the report of that run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import UnknownProfile, profile
from mcp_proxy_conformance.report.document import document
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
ALIKE: Mapping[str, tuple[str, ...]] = {
    "suite versions": ("suite", "version"),
    "profiles": ("profile", "name"),
    "kinds of target": ("target", "kind"),
    "versions of the target": ("target", "version"),
    "target files": ("target", "file"),
    "declared capabilities": ("target", "capabilities"),
    "numbers of parts": ("shard", "of"),
    "checks": ("shard", "order"),
}
"""What parts of one run have in common, and where a report says it."""


def merged(documents: Mapping[str, Json]) -> Json:
    """The report of the run that these are the parts of, by the names of their files.

    Raises:
        BadReport: They are not parts of one run, or one part is there twice.
    """
    for name, one in documents.items():
        _expect_part(name, one)
    _expect_one_run(documents)
    parts = {one["shard"]["number"]: one for one in documents.values()}
    ordered = [parts[number] for number in sorted(parts)]
    state, seconds = RunState(), [_seconds(one["timing"].get("seconds")) for one in ordered]
    try:
        record = _record(ordered[0], state, max(seconds))
        gather(state, [_share(one) for one in ordered])
    except (UnknownProfile, msgspec.ValidationError) as error:
        raise BadReport(f"it cannot be merged: {error}") from None
    state.missing = _missing(sorted(parts), ordered[0]["shard"]["of"])
    told = document(replace(record, stages=tuple(state.stages)))
    told["timing"] |= {"seconds": max(seconds), "parts": seconds}
    return told


def _expect_part(name: str, one: Json) -> None:
    """Raise BadReport for what is no part, or does not say what parts have in common."""
    part = one.get("shard")
    if part is None:
        raise BadReport(f"{name} is of no part of a run; make parts with `run --shard 1/3`")
    if not part["number"] <= part["of"] <= MOST_PARTS:
        told = f"{part['number']}/{part['of']}"
        raise BadReport(f"{name} says that it is the part {told}; let `run --shard` write it again")
    for group, member in ALIKE.values():
        if member not in one[group]:
            told = f"{name} does not say {group}.{member}"
            raise BadReport(f"{told}; let `run --shard` write it again")


def _expect_one_run(documents: Mapping[str, Json]) -> None:
    """Raise BadReport for parts of several runs, for another suite's, and for one given twice."""
    (first, one), *others = documents.items()
    for what, (group, member) in ALIKE.items():
        for name, other in others:
            if other[group][member] != one[group][member]:
                raise BadReport(f"{first} and {name} are of other {what}; merge parts of one run")
    for name, other in others:
        if [each["id"] for each in other["waivers"]] != [each["id"] for each in one["waivers"]]:
            raise BadReport(f"{first} and {name} know other deviations; merge parts of one run")
    made = one["suite"]["version"]
    if made != version("mcp-proxy-conformance"):
        raise BadReport(f"{first} was made by version {made} of the suite; merge with that one")
    seen: dict[int, str] = {}
    for name, other in documents.items():
        number = other["shard"]["number"]
        if number in seen:
            part = f"{number}/{other['shard']['of']}"
            raise BadReport(f"{seen[number]} and {name} are both the part {part}; give one of them")
        seen[number] = name


def _missing(numbers: Sequence[int], of: int) -> str:
    lost = [f"{number}/{of}" for number in range(1, of + 1) if number not in numbers]
    return f"missing parts: {', '.join(lost)}" if lost else ""


def _record(one: Json, state: RunState, seconds: float) -> RunRecord:
    """The record of a run without results, on the target that the report tells of."""
    told, judged_by = one["target"], profile(one["profile"]["name"])
    can = frozenset(told["capabilities"])
    return RunRecord(
        profile=judged_by,
        target=TargetFacts(
            kind=told["kind"],
            version=told["version"],
            capabilities=can,
            file=told["file"],
            lines=told.get("lines", {}) if told["file"] is not None else {},
        ),
        state=state,
        deviations=msgspec.convert(one["waivers"], type=tuple[Deviation, ...]),
        beyond=beyond(judged_by, can),
        seconds=seconds,
    )


def _share(one: Json) -> Share:
    """What the report of a part says, in the order of the whole run."""
    part, wire = one["shard"], one["target"]["wire"]
    addresses = {address: at for at, address in enumerate(part["order"])}
    places = {name: at for at, name in reversed(list(enumerate(part["order"].values())))}
    results: dict[int, list[Result]] = defaultdict(list)
    stages: dict[int, list[StageTold]] = defaultdict(list)
    for told in one["results"]:
        results[addresses.get(told["reproduce"], BEFORE)].append(_result(told, one["timing"]))
    for told in one["stages"]:
        name = told["place"] if told["place"] in places else _NUMBERED.sub("", told["place"])
        stages[places.get(name, BEFORE)].append(_stage(told, name, one["timing"]))
    found = [
        Found(
            at=at,
            results=tuple(results[at]),
            stages=tuple(stages[at]),
            messages={name: _cited(name, one) for each in results[at] for name in each.messages},
            wire=wire,
        )
        for at in sorted(results.keys() | stages.keys())
    ]
    states = {name: part[name] for name in Ended.__struct_fields__}
    return Share(found=tuple(found), ended=msgspec.convert(states, type=Ended))


def _result(told: Json, timing: Json) -> Result:
    name = f"{told['check']}[{told['case']}]" if told["case"] else told["check"]
    spent = _group(timing, "results").get(name)
    return msgspec.convert(told | {"timing": spent if isinstance(spent, dict) else {}}, type=Result)


def _stage(told: Json, name: str, timing: Json) -> StageTold:
    seconds = _seconds(_group(timing, "stages").get(told["place"]))
    return StageTold(
        place=told["place"], name=name, stage=told["stage"], armed=told["armed"], seconds=seconds
    )


def _cited(name: str, one: Json) -> Cited:
    """A message; its credentials were taken out when the part was told."""
    told, at = one["messages"][name], _seconds(_group(one["timing"], "messages").get(name))
    return msgspec.convert(told | {"headers": [*told["headers"].items()], "at": at}, type=Cited)


def _group(timing: Json, name: str) -> Json:
    """One group of times; whatever their schema leaves open may be in their place."""
    told = timing.get(name)
    return told if isinstance(told, dict) else {}


def _seconds(told: Any) -> float:
    """Seconds; none where the report has no number that can be."""
    number = isinstance(told, (int, float)) and not isinstance(told, bool)
    return told if number and 0 <= told < LONGEST else 0.0
