"""The JSON report: one document from which everything else is rendered."""

from __future__ import annotations

import platform
import time
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_proxy_conformance.deviations.waiving import waivers
from mcp_proxy_conformance.report.cited import Cited, StageTold
from mcp_proxy_conformance.report.outcome import outcome
from mcp_proxy_conformance.report.redaction import REDACTED
from mcp_proxy_conformance.requirement import catalogue
from mcp_proxy_conformance.sharding import Shard
from mcp_proxy_conformance.verdict import Result, Verdict, worst

if TYPE_CHECKING:
    from mcp_proxy_conformance.run import Run

FORMAT = "mcp-proxy-conformance-report/1"
SECRET = frozenset({"authorization", "cookie", "set-cookie", "x-api-key"})
SECRET_LEAST = 4


def write_report(run: Run) -> dict[str, Any]:
    """Write `report.json` into the output folder, in one move; returns what is in it."""
    run.out.mkdir(parents=True, exist_ok=True)
    path = run.out / "report.json"
    fresh = path.with_suffix(".new")
    told: dict[str, Any] = run.redactor.tree(document(run))
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1))
    fresh.replace(path)
    return told


def document(run: Run) -> dict[str, Any]:
    """The report of a run as plain data, valid under schemas/report.schema.json."""
    clauses = [_clause(run, clause_id) for clause_id in run.profile.clauses]
    told = _waivers(run, clauses)
    result = outcome(run, clauses, told)
    secrets, stages = _secrets(run), run.told_stages
    return {
        "format": FORMAT,
        "suite": {"name": "mcp-proxy-conformance", "version": version("mcp-proxy-conformance")},
        "profile": {
            "id": run.profile.id,
            "version": run.profile.version,
            "name": run.profile.name,
            "floor": msgspec.to_builtins(run.profile.floor),
        },
        "target": {
            "kind": run.target.kind,
            "version": run.target.version,
            "wire": run.wire,
            "capabilities": sorted(run.target.capabilities),
            "file": run.target.file.path if run.target.file else None,
            "lines": dict(run.target.file.lines) if run.target.file else {},
        },
        "headline": result.headline,
        "exit": result.exit,
        "why": result.why,
        "complete": _is_complete(run),
        "clauses": clauses,
        "results": [_result(one) for one in run.results],
        "stages": [_stage(one) for one in stages],
        "messages": {place: _message(one, secrets) for place, one in run.messages.items()},
        "waivers": told,
        **({} if run.shard is None else {"shard": _shard(run, run.shard)}),
        "timing": {
            "seconds": round(time.monotonic() - run.began, 3),
            "messages": {place: round(one.at, 4) for place, one in run.messages.items()},
            "python": platform.python_version(),
            **({} if run.requests is None else {"requests": run.requests}),
            "stages": {one.place: round(one.seconds, 3) for one in stages},
            "results": {
                f"{one.check}[{one.case}]" if one.case else one.check: one.timing
                for one in run.results
            },
        },
    }


def _is_complete(run: Run) -> bool:
    return not (run.interrupted or run.partial or run.cut_short or run.stopped)


def _waivers(run: Run, clauses: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What became of the deviations; where a part was not looked at, none of them is stale."""
    unseen = [one for one in clauses if not one["results"] and one["verdict"] == "error"]
    whole = _is_complete(run) and not unseen and not run.faults
    return waivers(run.deviations, run.results, whole=whole)


def _clause(run: Run, clause_id: str) -> dict[str, Any]:
    found = [one for one in run.results if clause_id in one.clauses]
    verdict = worst(one.verdict for one in found)
    told = defaultdict(list)
    for one in found:
        told[one.verdict].append(one.reason)
    untested = catalogue().clause(clause_id).untested
    missing = "left out" if run.partial else "no check saw it"
    ended = run.interrupted or bool(run.cut_short) or run.stopped is not None
    if ended:
        missing = "the run ended before it"
    without: Verdict = "inconclusive" if ended else "error"
    return {
        "id": clause_id,
        "judgement": catalogue().clause(clause_id).judgement,
        "verdict": verdict or ("not_applicable" if run.partial or untested else without),
        "reason": next(iter(told[verdict]), "") if verdict else untested or missing,
        "results": len(found),
    }


def _result(one: Result) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(one)
    del told["timing"]
    return told


def _shard(run: Run, shard: Shard) -> dict[str, Any]:
    """Which part this is, and how it ended, for the report of all parts."""
    return {
        "number": shard.number,
        "of": shard.of,
        "order": shard.order,
        "narrowed": run.narrowed,
        "interrupted": run.interrupted,
        "cut_short": run.cut_short,
        "faults": run.faults,
        "stopped": None if run.stopped is None else msgspec.to_builtins(run.stopped),
    }


def _stage(one: StageTold) -> dict[str, Any]:
    return {"place": one.place, "stage": one.stage, "armed": one.armed}


@dataclass(frozen=True, slots=True)
class Secrets:
    """Headers whose values are not told: their names in lower case, and the values."""

    names: frozenset[str]
    values: tuple[str, ...]

    def shown(self, name: str, value: str) -> str:
        """The value as it may be told; short ones are found only where they stand alone."""
        if name.lower() in self.names or value in self.values:
            return REDACTED
        for secret in self.values:
            if len(secret) >= SECRET_LEAST:
                value = value.replace(secret, REDACTED)
        return value


def _secrets(run: Run) -> Secrets:
    """What the target's way in carries, and whatever else is a credential by its name."""
    sets = run.credentials
    names = SECRET | {name.lower() for headers in sets for name in headers}
    values = {value for headers in sets for value in headers.values()}
    for message in run.messages.values():
        values |= {value for name, value in message.headers if name.lower() in names}
    longest_first = sorted(filter(None, values), key=lambda value: (-len(value), value))
    return Secrets(names, tuple(longest_first))


def _message(one: Cited, secrets: Secrets) -> dict[str, Any]:
    return {
        "edge": one.edge,
        "direction": one.direction,
        "peer": one.peer,
        "note": one.note,
        "headers": {name: secrets.shown(name, value) for name, value in one.headers},
        "body": one.body,
        "cut": one.cut,
    }
