"""Report made from a run's record, redacted and written to `report.json`."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.requirement import Clause, catalogue
from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.report.document import (
    FORMAT,
    SUITE,
    JudgedProfile,
    JudgedTarget,
    Part,
    Report,
    ReportedMessage,
    Stage,
    Suite,
    plain,
    written,
)
from mcp_proxy_conformance.verdict.causes import causes
from mcp_proxy_conformance.verdict.cited import CitedMessage
from mcp_proxy_conformance.verdict.credentials import SECRET_NAME
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver, waivers
from mcp_proxy_conformance.verdict.headline import outcome
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, Shard
from mcp_proxy_conformance.verdict.redaction import REDACTED, Redactor
from mcp_proxy_conformance.verdict.result import Cause, ClauseVerdict, Result, Verdict, worst

SECRET_LEAST = 4


def write_report(run: RunRecord, out: Path, redactor: Redactor) -> Report:
    """Write `report.json` into the folder `out`, made if missing; return the report, redacted.

    An earlier report is replaced in one move. Raises OSError if it cannot be written, and
    leaves no part of it then.
    """
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.json"
    fresh = path.with_suffix(".new")
    document = redactor.tree(plain(report_of(run)))
    try:
        fresh.write_bytes(written(document))
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return msgspec.convert(document, Report)


def report_of(run: RunRecord) -> Report:
    """Return the report of a run's record; headers are redacted, all else is not yet."""
    clauses = [_clause(run, clause_id) for clause_id in run.profile.clauses]
    known = _waivers(run, clauses)
    result = outcome(run, clauses, known)
    secrets, state = _secrets(run), run.state
    return Report(
        format=FORMAT,
        suite=Suite(name=SUITE, version=version(SUITE)),
        profile=JudgedProfile(
            id=run.profile.id,
            version=run.profile.version,
            name=run.profile.name,
            floor=run.profile.floor,
        ),
        target=JudgedTarget(
            kind=run.target.kind,
            name=run.target.name,
            version=run.target.version,
            wire=state.wire,
            capabilities=sorted(run.target.capabilities),
            file=run.target.file,
            lines=dict(run.target.lines),
            declared=dict(run.target.declared),
        ),
        headline=result.headline,
        exit=result.exit,
        why=result.why,
        complete=state.complete,
        cut_short=state.cut_short,
        clauses=clauses,
        results=list(state.results),
        causes=causes(clauses, state.results),
        stages=[
            Stage(place=stage.place, stage=stage.stage, armed=stage.armed) for stage in run.stages
        ],
        messages={place: _message(message, secrets) for place, message in state.messages.items()},
        waivers=known,
        coverage=run.coverage,
        shard=msgspec.UNSET if state.shard is None else _part(state, state.shard),
        timing=_timing(run),
    )


def _timing(run: RunRecord) -> dict[str, Any]:
    """Return what may differ between equal runs: times, Python's version, requests, command.

    Unknown ones are left out.
    """
    return {
        **({"began": run.date} if run.date else {}),
        "seconds": round(run.seconds, 3),
        "messages": {place: round(message.at, 4) for place, message in run.state.messages.items()},
        "python": platform.python_version(),
        **({} if run.requests is None else {"requests": run.requests}),
        "stages": {stage.place: round(stage.seconds, 3) for stage in run.stages},
        "results": {result.name: result.timing for result in run.state.results},
        **({"command": list(run.command)} if any(run.command) else {}),
    }


def _waivers(run: RunRecord, clauses: Sequence[ClauseVerdict]) -> list[Waiver]:
    """Return the state of each deviation after the run.

    None is stale (its failure gone) if the run was incomplete, met a fault of the suite, or has a
    clause that is an error for lack of results: the failure may then still be there.
    """
    unseen = [clause for clause in clauses if not clause.results and clause.verdict == "error"]
    whole = run.state.complete and not unseen and not run.state.faults
    return waivers(run.deviations, run.state.results, whole=whole)


def _clause(run: RunRecord, clause_id: str) -> ClauseVerdict:
    """Return a clause's verdict: the worst of its results', with the reason of the first such.

    A clause beyond this target is not applicable, whatever the results. Without a result, see
    `_without_result`.
    """
    clause = catalogue().clause(clause_id)
    verdicts = [
        (verdict, result)
        for result in run.state.results
        if (verdict := result.of(clause_id)) is not None
    ]
    beyond = run.beyond.get(clause_id)
    verdict = worst(verdict for verdict, _ in verdicts)
    reason: str
    cause: Cause
    if beyond is not None:
        verdict, reason, cause = "not_applicable", str(beyond), beyond.cause
    elif verdict is not None:
        first = next(result for kind, result in verdicts if kind == verdict)
        settled = verdict == "pass"
        reason, cause = ("", "") if settled else (_of_clause(first, clause_id), first.cause)
    else:
        verdict, reason, cause = _without_result(run, clause)
    return ClauseVerdict(
        id=clause_id,
        level=clause.level,
        verdict=verdict,
        reason=reason,
        cause=cause,
        results=len(verdicts),
    )


def _of_clause(result: Result, clause_id: str) -> str:
    """Return why a result breaks the clause: the sentence on the first finding that names it.

    It is the result's reason if none names it, or if all findings break the same clauses.
    """
    own = next((finding for finding in result.findings if clause_id in finding.clauses), None)
    if own is None or len({finding.clauses for finding in result.findings}) == 1:
        return result.reason
    return sentences((msgspec.structs.replace(own, clauses=(clause_id,)),))[0]


NO_CHECK = "this version of the suite has no check of it"


def _without_result(run: RunRecord, clause: Clause) -> tuple[Verdict, str, Cause]:
    """Return (verdict, reason, cause) of a clause that no result mentions.

    Not applicable if no check of it exists, or the run was to leave it out; inconclusive if the run
    ended early, or if checks that cite it ran and did not observe it; else an error.
    """
    if clause.untested:
        later = clause.untested == "later"
        return "not_applicable", NO_CHECK if later else clause.untested, "untested"
    if run.state.interrupted or run.state.cut_short or run.state.stopped is not None:
        return "inconclusive", "the run ended before it was observed", "ended"
    asked, narrowed = run.state.asked, bool(run.state.partial)
    requested = not narrowed if asked is None else clause.id in asked
    if requested and any(clause.id in result.unseen for result in run.state.results):
        return "inconclusive", "no check that ran observed it", "not_observed"
    if run.state.partial:
        return "not_applicable", "left out", "left_out"
    return "error", "no check observed it", "no_check"


def _part(state: RunState, shard: Shard) -> Part:
    """Return this part of a sharded run and how it ended, for the report."""
    return Part(
        number=shard.number,
        of=shard.of,
        order=shard.order,
        narrowed=state.narrowed,
        interrupted=state.interrupted,
        cut_short=state.cut_short,
        faults=list(state.faults),
        stopped=state.stopped,
    )


@dataclass(frozen=True, slots=True)
class Secrets:
    """Headers whose values are redacted: their names in lower case, and the values."""

    names: frozenset[str]
    values: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether a header of that name is secret: one of those known, or named as a secret."""
        return name.lower() in self.names or bool(SECRET_NAME.search(name))

    def shown(self, name: str, value: str) -> str:
        """Return a header's value: redacted if its name or value is secret, else secrets masked.

        A secret of under four characters is not looked for within values.
        """
        if self.has(name) or value in self.values:
            return REDACTED
        for secret in self.values:
            if len(secret) >= SECRET_LEAST:
                value = value.replace(secret, REDACTED)
        return value


def _secrets(run: RunRecord) -> Secrets:
    """Return the names and values of headers with credentials: of the run and its started stages.

    Names that are commonly secret are added, and the values of all such headers in the run's
    messages. Longer values come first.
    """
    sets = [*run.credentials, *(headers for stage in run.stages for headers in stage.credentials)]
    known = Secrets(frozenset(name.lower() for headers in sets for name in headers))
    values = {value for headers in sets for value in headers.values()}
    for message in run.state.messages.values():
        values |= {value for name, value in message.headers if known.has(name)}
    longest_first = sorted(filter(None, values), key=lambda value: (-len(value), value))
    return replace(known, values=tuple(longest_first))


def _message(cited: CitedMessage, secrets: Secrets) -> ReportedMessage:
    """Return a cited message as reported, its headers redacted."""
    return ReportedMessage(
        edge=cited.edge,
        direction=cited.direction,
        peer=cited.peer,
        note=cited.note,
        headers={name: secrets.shown(name, value) for name, value in cited.headers},
        body=cited.body,
        cut=cited.cut,
    )
