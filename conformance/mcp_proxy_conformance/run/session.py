"""Session of a run: its subject, the verdicts of its checks, and the record for its report."""

from __future__ import annotations

import errno
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from mcp_proxy_conformance.catalogue.requirement import Level, Profile, catalogue
from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.from_record import write_report
from mcp_proxy_conformance.run.collection import Place, address, clauses_of, named
from mcp_proxy_conformance.run.deadline import OutOfTime, within
from mcp_proxy_conformance.run.judgement import Ending, reason_of
from mcp_proxy_conformance.run.request import RunRequest
from mcp_proxy_conformance.run.subject import Probed, Subject
from mcp_proxy_conformance.targets.waits import End, Probe, during
from mcp_proxy_conformance.verdict.comparison import Open, plain
from mcp_proxy_conformance.verdict.deviations.waivers import waived
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
class Conclusion:
    """A check's conclusion: verdict, the clauses that it is about, and those that hold."""

    verdict: Verdict
    clauses: tuple[str, ...]
    level: Level
    findings: tuple[Finding, ...] = ()
    observed: tuple[str, ...] = ()
    cause: Cause = ""
    reason: str = ""
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What an ending shows of clauses of one level; `open` has those of all levels, and why."""

    level: Level
    findings: tuple[Finding, ...]
    broken: tuple[str, ...]
    open: Mapping[str, Open]
    observed: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class RunSession:
    """One run in progress: it judges checks on the subject and collects results in `state`.

    `beyond`: clauses that no check judges in this run, and why; `redactor`: removes credentials
    from everything that is printed or written.
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
        """Ask the subject for secrets and unjudged clauses; note the folder's identity.

        Stop the run if its time is over already.
        """
        self.beyond = self.subject.beyond(self.profile)
        self.redactor = Redactor(self.subject.secrets)
        self.state.asked = self.only
        self._folder = _identity(self.out)
        if (left_s := self.left_s) is not None and left_s <= 0:
            self.state.stopped = self._late()

    @property
    def out(self) -> Path:
        """The folder of the report."""
        return self.request.out

    @property
    def left_s(self) -> float | None:
        """Seconds left before the run's time limit, which soaking extends; None without a limit.

        They are negative once it is over.
        """
        if (whole := self.request.within_s) is None:
            return None
        return self.began + whole + self.request.soak_s - time.monotonic()

    def overdue(self) -> OutOfTime:
        """Return the exception that ends the run at its time limit.

        The alarm that raises it also has the subject begin to end targets.
        """
        message = f"the time limit (--timeout) of {self.request.within_s or 0:g} s was reached"
        return OutOfTime(message, of_run=True, meanwhile=self.subject.hurry)

    def probe(self) -> None:
        """Probe the target within the time left; add results, messages and wire to `state`.

        If the probe stops the run or the time is over, set `state.stopped`, unless set
        already.
        """
        over = self.overdue()
        try:
            with within(self.left_s, over), during(Probe()):
                probed = self.subject.probe()
        except OutOfTime:
            probed = Probed(stopped=self._late())
        self.state.stopped = self.state.stopped or probed.stopped
        self.state.wire = self.state.wire or self.subject.wire
        self.state.results += probed.results
        self.state.messages |= probed.messages

    def _late(self) -> Outcome:
        """Return the outcome `incomplete` of a run whose time limit came before its first check."""
        why = f"{self.overdue()} before the target was ready to be checked"
        return Outcome("incomplete", INCOMPLETE, why)

    def plan(self, places: Sequence[Place]) -> None:
        """Have the subject start ahead the targets of these places, in the order of their checks.

        The subject also gets whether the run is partial.
        """
        self.subject.plan(places, partial_run=bool(self.state.partial))

    def begin(self, places: Mapping[pytest.Item, Place]) -> None:
        """Have the subject begin the checks that may run beside others (see `is_early`).

        They get no fixtures: they are called with a bench alone.
        """
        early = {item: place for item, place in places.items() if self.subject.is_early(place)}
        checks = [
            (place, item.obj) for item, place in early.items() if isinstance(item, pytest.Function)
        ]
        self.subject.begin(checks)

    def count(self, places: Sequence[Place]) -> None:
        """Tell the subject the applicable places, one per check: a target ends after its last."""
        self.subject.count(self.subject.applicable(places))

    def soon(self, places: Sequence[Place]) -> None:
        """Have the subject start the targets that the next checks need, if they apply."""
        self.subject.soon(self.subject.applicable(places))

    def record(
        self, item: pytest.Item, place: Place, ending: Ending, conclusion: Conclusion | None = None,
        *, seconds: float,
    ) -> Result:  # fmt: skip
        """Add a check's result, and the messages it rests on, to the state; return the result.

        `conclusion` is what `conclusion_of` returned; if None, that is called here. `seconds` is
        how long the check took. A failure that the file of known failures lists becomes `waived`.
        """
        cited_clauses = clauses_of(item)
        conclusion = conclusion or self.conclusion_of(ending, cited_clauses)
        cited = [message for finding in conclusion.findings for message in finding.messages]
        rests = self.subject.rests(place, ending, cited)
        ending = rests.ending
        self.state.wire = self.state.wire or self.subject.wire
        self.state.messages |= rests.messages
        evidence = sentences(conclusion.findings)
        reason = (
            "" if conclusion.verdict == "pass" else conclusion.reason or reason_of(ending, evidence)
        )
        check, case = named(item)
        result = Result(
            check=check,
            case=case,
            clauses=conclusion.clauses,
            level=conclusion.level,
            verdict=conclusion.verdict,
            reason=encodable(reason),
            cause=conclusion.cause,
            hint="" if conclusion.verdict == "pass" else ending.hint,
            needs=conclusion.needs,
            lacks=ending.lacks if conclusion.verdict == "inconclusive" else (),
            findings=tuple(_cited(plain(f), rests.messages) for f in conclusion.findings),
            observed=conclusion.observed,
            unseen=tuple(
                c for c in cited_clauses if c not in (*conclusion.clauses, *conclusion.observed)
            ),
            blame="" if conclusion.verdict in ("pass", "not_applicable") else ending.blame,
            stage=place.world.id or place.name,
            evidence=encodable(tuple(evidence)),
            story=encodable(rests.lines),
            cut=rests.cut,
            unread=ending.unread if conclusion.cause == "unread_text" else (),
            pinned=ending.pinned,
            messages=tuple(rests.messages),
            reproduce=address(item),
            timing={"seconds": round(seconds, 4)},
        )
        self.state.results.append(waived(result, self.request.deviations))
        return self.state.results[-1]

    def conclusion_of(self, ending: Ending, cited_clauses: tuple[str, ...]) -> Conclusion:
        """Return what a check's ending shows of the profile's clauses: broken, open or observed.

        The first row that fits decides. What is open of other clauses only does not count: other
        checks report it. Clauses of one level count, see `_shown`.
        """
        shown = self._shown(ending, cited_clauses)
        open_ = tuple(clause for clause in cited_clauses if clause in shown.open)
        elsewhere = ending.verdict == "inconclusive" and bool(shown.open)
        settled = ending.verdict in ("pass", "fail") or elsewhere
        conclusion = Conclusion(
            verdict=ending.verdict, clauses=cited_clauses, level=shown.level,
            observed=shown.observed,
        )  # fmt: skip
        match bool(shown.broken), bool(open_), settled, bool(shown.observed):
            case True, _, _, _:
                return replace(conclusion, verdict="fail", clauses=shown.broken,
                               findings=shown.findings)  # fmt: skip
            case _, True, _, _:
                why = shown.open[open_[0]]
                return replace(_unsettled(conclusion, ending, open_),
                               reason=why.reason, cause=why.cause, needs=why.needs)  # fmt: skip
            case _, _, True, True:
                return replace(conclusion, verdict="pass", clauses=shown.observed)
            case _, _, True, False:
                reason = "nothing that its clauses are about was observed"
                return replace(conclusion, verdict="not_applicable", clauses=(),
                               cause="not_observed", reason=reason)  # fmt: skip
        left = tuple(clause for clause in cited_clauses if clause not in shown.observed)
        return _unsettled(conclusion, ending, left or cited_clauses)

    def _shown(self, ending: Ending, cited_clauses: tuple[str, ...]) -> _Shown:
        """Return what an ending shows of the profile's clauses of one level.

        That is the level of the first cited one, or required if a required one is broken.
        """
        of_profile = [clause for clause in self.profile.clauses if clause not in self.beyond]
        findings = ending.findings(cited_clauses)
        accused = {clause for each in findings for clause in each.clauses}.intersection(of_profile)
        firm = any(_level(clause) == "required" for clause in accused)
        level = "required" if firm else _level(cited_clauses[0])
        judged = [clause for clause in of_profile if _level(clause) == level]
        within = tuple(
            msgspec.structs.replace(finding, clauses=kept)
            for finding in findings
            if (kept := tuple(clause for clause in finding.clauses if clause in judged))
        )
        broken = tuple(dict.fromkeys(clause for each in within for clause in each.clauses))
        compared = ending.comparison
        entries = compared.open if compared else ()
        left = {clause: entry for entry in reversed(entries) for clause in entry.clauses}
        held = set(compared.observed) if compared is not None else set[str]()
        if ending.verdict == "pass" and compared is None:
            held = {*cited_clauses}
        observed = tuple(c for c in judged if c in held and c not in broken and c not in left)
        return _Shown(level=level, findings=within, broken=broken, open=left, observed=observed)

    def finish(self) -> None:
        """Have the subject do what the report still counts, as to close an endpoint's sessions."""
        self.subject.finish()

    def close(self) -> None:
        """End every target of the subject, shown meanwhile as a wait."""
        with during(End()):
            self.subject.close()

    def recorded(self) -> RunRecord:
        """Return the record from which the report is made.

        Seconds are those until now; the date is that of the run's beginning, in UTC.
        """
        subject, target = self.subject, self.subject.target
        self.state.wire = self.state.wire or subject.wire
        stages = (*self.state.stages, *subject.stages)
        seconds = time.monotonic() - self.began
        return RunRecord(
            profile=self.profile,
            target=TargetFacts(
                kind=target.kind,
                name=target.name or subject.server.name,
                version=target.version or subject.server.version,
                capabilities=target.capabilities,
                file=target.file.path if target.file else None,
                lines=target.file.lines if target.file else {},
                declared=target.declared,
            ),
            state=self.state,
            deviations=self.request.deviations,
            beyond=self.beyond,
            stages=stages,
            credentials=tuple(subject.credentials),
            green=subject.green,
            unsettled=subject.unsettled,
            requests=subject.requests,
            coverage=subject.coverage(),
            seconds=seconds,
            date=(datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds"),
            command=self.request.command,
        )

    def report(self) -> Report:
        """Write the report's file, redacted, and return the report.

        Raises OSError if it cannot be written, or if the folder was replaced since the run
        began: a link that a target put there may lead outside of it.
        """
        identity = _identity(self.out)
        if identity is not None and identity != (self._folder or identity):
            message = f"{self.out} was replaced while the run used it; name another --out"
            raise OSError(errno.ESTALE, message)
        return write_report(self.recorded(), self.out, self.redactor)


def _unsettled(conclusion: Conclusion, ending: Ending, about: tuple[str, ...]) -> Conclusion:
    """Return the ending's own verdict, about these clauses; a failure of none is inconclusive."""
    verdict: Verdict = "inconclusive" if ending.verdict == "fail" else ending.verdict
    needs = ending.needs if verdict == "inconclusive" else ()
    return replace(conclusion, verdict=verdict, cause=ending.cause, clauses=about, needs=needs)


def as_found(ending: Ending, conclusion: Conclusion) -> Ending:
    """Return the ending as pytest is to see it, so that it fails no check that the report passes.

    If the conclusion is a pass or not applicable and the ending is not, the ending gets the
    conclusion's verdict and reason, and no error.
    """
    if conclusion.verdict in ("pass", "not_applicable") and conclusion.verdict != ending.verdict:
        return replace(ending, verdict=conclusion.verdict, reason=conclusion.reason, error=None)
    return ending


def _cited(finding: Finding, messages: Collection[str]) -> Finding:
    """Return the finding with its messages' full names, `PLACE/ID`, in the report.

    `messages` are the full names; a message that is not among them is left out.
    """
    names = {place.rpartition("/")[2]: place for place in messages}
    known = tuple(names[each] for each in finding.messages if each in names)
    return msgspec.structs.replace(finding, messages=known)


def _identity(folder: Path) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        status = folder.stat()
        return status.st_dev, status.st_ino
    return None


def _level(clause_id: str) -> Level:
    return catalogue().clause(clause_id).level
