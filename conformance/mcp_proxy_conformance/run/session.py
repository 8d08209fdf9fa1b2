"""A run under way: its subject, the verdicts of its checks, and the record for its report."""

from __future__ import annotations

import errno
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import Judgement, Profile, catalogue
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.making import write_report
from mcp_proxy_conformance.run.collection import Place, address, clauses_of, named
from mcp_proxy_conformance.run.deadline import Overdue, within
from mcp_proxy_conformance.run.judgement import Ending, told
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.subject import Probed, Subject
from mcp_proxy_conformance.verdict.comparison import plain
from mcp_proxy_conformance.verdict.deviations.waiving import waived
from mcp_proxy_conformance.verdict.outcome import INCOMPLETE, Outcome
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts
from mcp_proxy_conformance.verdict.redaction import Redactor, encodable
from mcp_proxy_conformance.verdict.result import (
    Cause,
    Finding,
    NotApplicable,
    Result,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an ending says: its verdict, the clauses that it is about, and those that hold."""

    verdict: Verdict
    clauses: tuple[str, ...]
    judgement: Judgement
    findings: tuple[Finding, ...] = ()
    observed: tuple[str, ...] = ()
    cause: Cause = ""
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class Session:
    """One run under way: its checks are judged on the subject, and the state grows.

    `beyond`: clauses of which nothing is said, whatever cites them, and why; `redactor`: what takes
    credentials out of everything that is told.
    """

    request: RunRequest
    subject: Subject
    profile: Profile
    only: frozenset[str] | None = None
    state: RunState = field(default_factory=RunState)
    began: float = field(default_factory=time.monotonic)
    beyond: Mapping[str, NotApplicable] = field(init=False)
    redactor: Redactor = field(init=False)
    _folder: tuple[int, int] | None = field(init=False)

    def __post_init__(self) -> None:
        self.beyond = self.subject.beyond(self.profile)
        self.redactor = Redactor(self.subject.secrets)
        self.state.asked = self.only
        self._folder = _identity(self.out)

    @property
    def out(self) -> Path:
        """The folder of the report."""
        return self.request.out

    @property
    def left_s(self) -> float | None:
        """The seconds that are left of all, soaking not counted; None where there is no end."""
        if (whole := self.request.within_s) is None:
            return None
        return self.began + whole + self.request.soak_s - time.monotonic()

    def overdue(self) -> Overdue:
        """What is raised when no time is left."""
        told = f"--timeout {self.request.within_s or 0:g} s was over"
        return Overdue(told, of_run=True, meanwhile=self.subject.hurry)

    def probe(self) -> None:
        """Look whether there is anything to check; if not, `state.stopped` says why."""
        over = self.overdue()
        try:
            with within(self.left_s, over):
                probed = self.subject.probe()
        except Overdue:
            why = f"{over} before the target was ready to be checked"
            probed = Probed(stopped=Outcome("incomplete", INCOMPLETE, why))
        self.state.stopped = self.state.stopped or probed.stopped
        self.state.wire = self.state.wire or self.subject.wire
        self.state.results += probed.results
        self.state.messages |= probed.messages

    def plan(self, places: Sequence[Place]) -> None:
        """Prepare what the collected checks will need, in their order."""
        self.subject.plan(places, partial_run=bool(self.state.partial))

    def count(self, places: Sequence[Place]) -> None:
        """Count the checks of each place: after the last one its target ends."""
        self.subject.count(self.subject.applicable(places))

    def soon(self, places: Sequence[Place]) -> None:
        """Prepare what the next checks need."""
        self.subject.soon(self.subject.applicable(places))

    def record(
        self, item: pytest.Item, place: Place, ending: Ending, found: Found | None = None,
        *, seconds: float,
    ) -> Result:  # fmt: skip
        """Turn an ending into a result and remember the messages it rests on."""
        cited_clauses = clauses_of(item)
        found = found or self.found(ending, cited_clauses)
        rests = self.subject.rests(place, ending)
        ending = rests.ending
        self.state.wire = self.state.wire or self.subject.wire
        self.state.messages |= rests.messages
        evidence = _evidence(ending, found)
        reason = "" if found.verdict == "pass" else found.reason or told(ending, evidence)
        check, case = named(item)
        result = Result(
            check=check,
            case=case,
            clauses=found.clauses,
            judgement=found.judgement,
            verdict=found.verdict,
            reason=encodable(reason),
            cause=found.cause,
            hint="" if found.verdict == "pass" else ending.hint,
            findings=tuple(map(plain, found.findings)),
            observed=found.observed,
            unseen=tuple(c for c in cited_clauses if c not in (*found.clauses, *found.observed)),
            blame="" if found.verdict in ("pass", "not_applicable") else ending.blame,
            stage=place.world.id or place.name,
            evidence=encodable((*evidence, *rests.lines)),
            cut=rests.cut,
            unread=ending.unread if found.cause == "unread_text" else (),
            pinned=ending.pinned,
            messages=tuple(rests.messages),
            reproduce=address(item),
            timing={"seconds": round(seconds, 4)},
        )
        self.state.results.append(waived(result, self.request.deviations))
        return self.state.results[-1]

    def found(self, ending: Ending, cited_clauses: tuple[str, ...]) -> Found:
        """What an ending says of which clause; nothing of one beyond profile or declaration.

        A check speaks of clauses of its own judgement; what convicts counts wherever it is seen.
        """
        judged = {one for one in self.profile.clauses if one not in self.beyond}
        broken = [c for f in ending.findings(cited_clauses) for c in f.clauses if c in judged]
        kind = _judgement(cited_clauses[0])
        kind = "F" if any(_judgement(clause) == "F" for clause in broken) else kind
        judged = {clause for clause in judged if _judgement(clause) == kind}
        broken = list(dict.fromkeys(clause for clause in broken if clause in judged))
        within = tuple(
            msgspec.structs.replace(one, clauses=kept)
            for one in ending.findings(cited_clauses)
            if (kept := tuple(clause for clause in one.clauses if clause in judged))
        )
        compared = ending.comparison
        unsettled = (
            {clause for one in compared.open for clause in one.clauses} if compared else set()
        )
        seen = {*compared.observed} if compared is not None else set()
        if ending.verdict == "pass" and compared is None:
            seen = {*cited_clauses}
        seen = (seen & judged) - {*broken} - unsettled
        observed = tuple(clause for clause in self.profile.clauses if clause in seen)
        found = Found(
            verdict=ending.verdict, clauses=cited_clauses, judgement=kind, observed=observed
        )
        if broken:
            return replace(found, verdict="fail", clauses=tuple(broken), findings=within)
        is_open = bool(unsettled & {*cited_clauses})
        elsewhere = ending.verdict == "inconclusive" and compared is not None and bool(unsettled)
        if not is_open and (elsewhere or ending.verdict in ("pass", "fail")):
            if found.observed:  # what is broken or open beside is told by others
                return replace(found, verdict="pass", clauses=found.observed)
            return replace(found, verdict="not_applicable", clauses=(), cause="not_observed",
                           reason="nothing of what it cites was there")  # fmt: skip
        left = unsettled if is_open else {*cited_clauses} - seen
        verdict: Verdict = "inconclusive" if ending.verdict == "fail" else ending.verdict
        clauses = tuple(clause for clause in cited_clauses if clause in left) or cited_clauses
        return replace(found, verdict=verdict, cause=ending.cause, clauses=clauses)

    def finish(self) -> None:
        """Do what the report is to know of."""
        self.subject.finish()

    def close(self) -> None:
        """End every target."""
        self.subject.close()

    def recorded(self) -> RunRecord:
        """The run as its report sees it."""
        subject, target = self.subject, self.subject.target
        self.state.wire = self.state.wire or subject.wire
        stages = (*self.state.stages, *subject.stages)
        return RunRecord(
            profile=self.profile,
            target=TargetFacts(
                kind=target.kind,
                version=target.version,
                capabilities=target.capabilities,
                file=target.file.path if target.file else None,
                lines=target.file.lines if target.file else {},
            ),
            state=self.state,
            deviations=self.request.deviations,
            beyond=self.beyond,
            stages=stages,
            credentials=tuple(subject.credentials),
            green=subject.green,
            unsettled=subject.unsettled,
            requests=subject.requests,
            seconds=time.monotonic() - self.began,
        )

    def report(self) -> Report:
        """Write the report; returns what is in it.

        Raises:
            OSError: It cannot be written, or the folder is another than when the run began: a link
                that a target put there leads to what is not ours.
        """
        found = _identity(self.out)
        if found is not None and found != (self._folder or found):
            told = f"{self.out} was replaced while the run used it; name another --out"
            raise OSError(errno.ESTALE, told)
        return write_report(self.recorded(), self.out, self.redactor)


def as_found(ending: Ending, found: Found) -> Ending:
    """The ending as it counts: what says nothing of the cited clauses is no failure here."""
    if found.verdict in ("pass", "not_applicable") and found.verdict != ending.verdict:
        return replace(ending, verdict=found.verdict, reason=found.reason, error=None)
    return ending


def _identity(folder: Path) -> tuple[int, int] | None:
    """By what the system tells a folder from another in its place; None where there is none."""
    with suppress(FileNotFoundError):
        seen = folder.stat()
        return seen.st_dev, seen.st_ino
    return None


def _judgement(clause_id: str) -> Judgement:
    return catalogue().clause(clause_id).judgement


def _evidence(ending: Ending, found: Found) -> tuple[str, ...]:
    """Lines on what differs: of a plain assertion both sides, else its findings alone."""
    if not found.findings:
        return ()
    # deepdiff takes a fifth of a second to import, and a green run never needs it
    from mcp_proxy_conformance.report.difference import difference  # noqa: PLC0415

    if ending.comparison is None or not ending.comparison.findings:
        return tuple(difference(*ending.sides)) if ending.sides is not None else ()
    left, right = ({one.path: getattr(one, side) for one in found.findings}
                   for side in ("observed", "allowed"))  # fmt: skip
    return tuple(difference("==", left, right))
