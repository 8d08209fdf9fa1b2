"""Judgement: how a call of a check ended, and what confirms it; timeouts in a row."""

from __future__ import annotations

import errno
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.targets.target import AdapterError, NotDeclared, Refused, Unsupported
from mcp_proxy_conformance.verdict.comparison import (
    Comparison,
    ComparisonFailed,
    Latest,
    Open,
    about,
    merged,
    of_sides,
    watched,
)
from mcp_proxy_conformance.verdict.exchanges import Exchange, messages_at
from mcp_proxy_conformance.verdict.outcome import Outcome, broke
from mcp_proxy_conformance.verdict.result import (
    Blame,
    Breach,
    Cause,
    DeclarationFault,
    Finding,
    Inconclusive,
    Lack,
    LockText,
    Misshapen,
    NotApplicable,
    Verdict,
    of_shape,
)
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

LONGEST_REASON = 10_000
"""Characters of a reason that a result keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of one call of a check: its verdict, who is to blame, and what it found.

    A `final` ending counts at once: the check is neither repeated nor confirmed on another target.
    `since` is the place in the transcript where the call that counted began; `sides` are the two
    sides of a failing assertion, `comparison` is the check's conclusion, `unread` and `pinned` are
    the texts that it judged. `of_schemas` are breaches of schemas in answers that it received.
    `needs` are clauses that must hold before it can be settled, `lacks` what it could not rely on;
    `exchanges` those whose answers the check looked at; `states` maps each tool that findings may
    be about to its locks.
    """

    verdict: Verdict
    reason: str = ""
    blame: Blame = ""
    cause: Cause = ""
    hint: str = ""
    error: BaseException | None = None
    final: bool = False
    since: int | None = None
    sides: tuple[str, Any, Any] | None = None
    comparison: Comparison | None = None
    unread: tuple[LockText, ...] = ()
    pinned: tuple[LockText, ...] = ()
    of_schemas: tuple[Finding, ...] = ()
    needs: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def findings(self, cited: tuple[str, ...]) -> tuple[Finding, ...]:
        """Return a failure's findings, with the locks of tools in them; empty for other verdicts.

        Equal ones of several views are one. Those of an assertion without a comparison are given
        all the clauses `cited`.
        """
        if self.verdict != "fail":
            return ()
        findings = merged(self._findings(cited))
        return (
            tuple(about(finding, self.states) for finding in findings) if self.states else findings
        )

    def _findings(self, cited: tuple[str, ...]) -> tuple[Finding, ...]:
        """Return the comparison's findings or, without any, one for a misshapen answer.

        Else those of the two sides of the Breach or failing assertion, which break all
        `cited` clauses.
        """
        if self.comparison is not None and self.comparison.findings:
            return tuple(self.comparison.findings)
        if isinstance(self.error, Misshapen) and self.error.clauses:
            read_from = messages_at("", self.exchanges)
            return (of_shape(self.reason, self.error.clauses, read_from),)
        if isinstance(self.error, Breach):
            return of_sides(("==", self.error.observed, {}), cited, self.exchanges)
        return of_sides(self.sides, cited, self.exchanges)

    def in_words(self, clauses: Collection[str] = ()) -> str:
        """Return the first line on the ending's findings; the reason if there is none.

        Findings on these clauses come first.
        """
        findings = sorted(self.findings(()), key=lambda each: not {*clauses} & {*each.clauses})
        return next(iter(sentences(findings)), self.reason)

    @property
    def broken(self) -> frozenset[str]:
        """The clauses that its findings name."""
        return frozenset(clause for finding in self.findings(()) for clause in finding.clauses)


def attempt(check: Callable[[], Any], latest: Latest = tuple) -> Ending:
    """Call a check once and return how it ended; only interruptions and time limits are raised.

    The ending has the sides of a failing assertion, the comparison and the texts judged; its
    reason is at most 10,000 characters. `latest` returns the messages of the latest act, for a
    target whose exchanges are not noted.
    """
    with watched(latest) as left:
        ending = _ended(check)
    return replace(
        ending,
        reason=_bounded(ending.reason),
        sides=left.sides,
        comparison=left.comparison,
        unread=tuple(left.unread),
        pinned=tuple(left.pinned),
        exchanges=left.read(),
    )


def _bounded(reason: str) -> str:
    """Return the reason; beyond 10,000 characters it is cut, and its full length is added."""
    if len(reason) <= LONGEST_REASON:
        return reason
    return f"{reason[:LONGEST_REASON]} ... ({len(reason)} characters)"


def _ended(check: Callable[[], Any]) -> Ending:
    """Return a pass, or for what the check raised the ending by the first match in ENDINGS.

    Tracebacks of errors other than assertions are dropped, to free memory.
    """
    try:
        check()
    except Exception as error:  # noqa: BLE001 - a fault of the suite is a verdict of its own
        ending = next(end(error) for kind, end in ENDINGS if isinstance(error, kind))
        if not isinstance(error, AssertionError):  # pytest shows where it was raised
            error.__traceback__ = error.__context__ = None  # they keep every answer in memory
        return ending
    return Ending(verdict="pass")


def _failed(error: Exception) -> Ending:
    """Return an assertion's failing ending; its reason is the first line of the message.

    For a Breach, seen in the suite itself, the reason is the whole message, and the ending is
    final: the check is not repeated.
    """
    final = isinstance(error, Breach)
    reason = (
        str(error) if final else (str(error).partition("\n")[0] or "the check's assertion failed")
    )
    return Ending(verdict="fail", reason=reason, blame="target", error=error, final=final)


def _misshapen(error: Misshapen) -> Ending:
    """Return a misshapen answer's ending: a failure if it names clauses, else inconclusive."""
    if not error.clauses:
        return _unread(error)
    return Ending(verdict="fail", reason=str(error), blame="target", error=error)


def _unread(error: Exception) -> Ending:
    """Return an inconclusive ending for an unreadable answer, for which the target is blamed."""
    open_ = _open(Inconclusive(str(error), cause="unread_answer"))
    return replace(open_, error=error, blame="target")


def _open(error: Inconclusive) -> Ending:
    """Return the inconclusive ending of the error, with its cause, hint and needed clauses."""
    return Ending(
        verdict="inconclusive", reason=str(error), error=error, cause=error.cause,
        hint=error.hint, needs=error.needs,
    )  # fmt: skip


def _not_applicable(error: NotApplicable) -> Ending:
    """Return the `not_applicable` ending of the error, with its cause."""
    return Ending(verdict="not_applicable", reason=str(error), error=error, cause=error.cause)


def _unsupported(error: Exception) -> Ending:
    """Return an inconclusive ending: the adapter lacks an operation that the target declares."""
    reason = f"the adapter does not support {error}, though the target declares it"
    return _open(Inconclusive(reason, cause="not_supported"))


def _broke(blame: Blame) -> Callable[[Exception], Ending]:
    """Return a function that turns an exception into an `error` ending with this blame."""
    return lambda error: Ending(verdict="error", reason=str(error), blame=blame, error=error)


def _full(error: OSError) -> Ending:
    """Return an OSError's `error` ending: a full disk blames the declaration, else the suite."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return _own_fault(error)
    reason = f"{error.filename or 'the output folder'}: {error.strerror}; free some disk space"
    return Ending(verdict="error", reason=reason, blame="declaration", error=error)


def _own_fault(error: Exception) -> Ending:
    """Return an unexpected exception's ending: the suite's error, then its traceback's end."""
    *frames, own = traceback.format_exception(error)[-6:]
    reason = "".join((own, *frames))
    return Ending(verdict="error", reason=reason, blame="suite", error=error)


ENDINGS: tuple[tuple[type[Exception], Callable[[Any], Ending]], ...] = (
    (AssertionError, _failed),
    (Misshapen, _misshapen),
    (ProtocolFault, _unread),
    (Inconclusive, _open),
    (NotApplicable, _not_applicable),
    (NotDeclared, lambda error: _not_applicable(NotApplicable(str(error), cause="not_declared"))),
    (Refused, lambda error: _not_applicable(NotApplicable(str(error), cause="refused"))),
    (Unsupported, _unsupported),
    (DeclarationFault, _broke("declaration")),
    (AdapterError, _broke("adapter")),
    (Unreachable, _broke("network")),
    (OSError, _full),
    (Exception, _own_fault),
)
"""The ways in which a check can end other than by passing; the first match applies."""


def with_breaches_of_schemas(
    ending: Ending, cited: Collection[str], reported: Collection[str]
) -> Ending:
    """Return the ending as a failure with the breaches of schemas/ in its answers as findings.

    An error, or an ending to which nothing is added, is returned unchanged: a clause is skipped
    if the check found it broken itself, or if an earlier result did (`reported`) and the check
    does not cite it.
    """
    if not ending.of_schemas or ending.verdict == "error":
        return ending
    own = ending.findings(tuple(cited))
    known = {clause for finding in own for clause in finding.clauses}
    known |= {*reported} - {*cited}
    more: dict[tuple[str, ...], Finding] = {}
    for finding in ending.of_schemas:
        if clauses := tuple(clause for clause in finding.clauses if clause not in known):
            more.setdefault(clauses, msgspec.structs.replace(finding, clauses=clauses))
    if not more:
        return ending
    comparison = ending.comparison
    if comparison is None:
        comparison = Comparison(observed=Counter(cited if ending.verdict == "pass" else ()))
    comparison = replace(comparison, findings=[*own, *more.values()])
    first = next(iter(more.values()))
    error = ending.error if own else ComparisonFailed(f"{first.path}: {first.observed!r:.200}")
    return replace(
        ending,
        verdict="fail", blame="target", comparison=comparison, error=error, hint="", cause="",
        reason=ending.reason if own else str(error),
    )  # fmt: skip


def confirmed(ending: Ending, second: Ending, subject: str = "the target") -> Ending:
    """Return the failure `ending`, only with the clauses that the `second` attempt broke too.

    Clauses that one attempt alone broke become open. Two assertions without a comparison confirm
    each other whole. If no clause is left, the ending is inconclusive; a second attempt's error is
    returned instead. `subject` names the target in sentences.
    """
    if second.verdict == "error":
        return replace(
            second,
            reason=f"{second.reason} (when the check was repeated to confirm: {ending.in_words()})",
        )
    if second.verdict == "fail" and _is_plain(ending) and _is_plain(second):
        return ending
    once = ending.broken ^ second.broken
    seen = ending if once & ending.broken else second
    reason = f"{subject} does not agree with itself; seen only once: {seen.in_words(once)}"
    return _partly(ending, second.broken, once, Inconclusive(reason, cause="disagrees"))


ENOUGH = 2
"""Cases that confirm that a clause is broken; others that break no other clause are left open."""


def is_known(broken: Collection[str], confirmed: Counter[str]) -> bool:
    """Whether so many cases have confirmed each of these clauses that no further one need do so."""
    return all(confirmed[clause] >= ENOUGH for clause in broken)


def enough(ending: Ending) -> Ending:
    """Return a failure with what it breaks left open, as enough other cases confirm all of it."""
    names = sorted(ending.broken)
    reason = f"it failed {', '.join(names)} too; {ENOUGH} other cases confirm that, so it was not "
    return opened(ending, Inconclusive(f"{reason}tried again", cause="other_clause", needs=names))


def opened(ending: Ending, error: Inconclusive) -> Ending:
    """Return a failure with what it breaks left open by that error; what else it shows is kept."""
    return _partly(ending, (), ending.broken, error)


def _partly(
    ending: Ending, firm: Collection[str], clauses: Collection[str], error: Inconclusive
) -> Ending:
    """Return a failure on `firm` clauses only, inconclusive without any; leave `clauses` open."""
    kept = reduced(ending, lambda _, clause: clause in firm)
    own = kept.comparison or Comparison()
    broken = {*ending.broken, *firm}
    left = Open(clauses=tuple(sorted(clauses)), reason=str(error), cause=error.cause,
                needs=error.needs)  # fmt: skip
    comparison = replace(
        own,
        observed=Counter({name: n for name, n in own.observed.items() if name not in broken}),
        open=[*own.open, *([left] if clauses else [])],
    )
    if own.findings:
        return replace(ending, comparison=comparison)
    return replace(_open(error), since=ending.since,
                   comparison=ending.comparison and comparison)  # fmt: skip


def reduced(ending: Ending, counts: Callable[[Finding, str], bool]) -> Ending:
    """Return a failure with those findings, and clauses of them, only that `counts` says do."""
    kept = [
        msgspec.structs.replace(finding, clauses=clauses)
        for finding in ending.findings(())
        if (clauses := tuple(clause for clause in finding.clauses if counts(finding, clause)))
    ]
    return replace(ending, comparison=replace(ending.comparison or Comparison(), findings=kept))


def _is_plain(ending: Ending) -> bool:
    """Whether the check ended by a plain assertion: without a comparison or misshapen answer."""
    return ending.comparison is None and not isinstance(ending.error, Misshapen)


def reason_of(ending: Ending, evidence: Sequence[str]) -> str:
    """Return a result's reason: the first item of the evidence or, without any, the ending's."""
    return evidence[0] if evidence else ending.reason


IN_A_ROW = 5


@dataclass(slots=True)
class Timeouts:
    """Counter of distinct timeouts in a row, to notice that the target no longer answers.

    A stage that could not be set up counts once, for all of its checks. A late answer, a refusal or
    nonsense is an answer, not a timeout.
    """

    _timeouts: list[BaseException] = field(default_factory=list)

    def after(self, ending: Ending, *, advisory: bool) -> Outcome | None:
        """Count an ending; at the fifth timeout in a row return the run's outcome, else None.

        A timeout already counted does not add to it; any other ending begins the count again;
        checks that do not apply, and timeouts of `advisory` checks, leave it as it is.
        """
        if ending.verdict == "not_applicable" or (advisory and ending.blame == "network"):
            return None
        if ending.blame != "network" or ending.error is None:
            self._timeouts.clear()
        elif not any(ending.error is timeout for timeout in self._timeouts):
            self._timeouts.append(ending.error)
        if len(self._timeouts) < IN_A_ROW:
            return None
        why = f"the target stopped answering, {IN_A_ROW} times in a row; last: {ending.reason}"
        return broke(why)
