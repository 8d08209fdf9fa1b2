"""Judgement: one call of a check turned into a verdict, settled and confirmed."""

from __future__ import annotations

import errno
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.targets.adapter import AdapterError, NotDeclared, Refused, Unsupported
from mcp_proxy_conformance.targets.started import Started
from mcp_proxy_conformance.verdict.comparison import Comparison, Open, of_sides, watched
from mcp_proxy_conformance.verdict.outcome import Outcome, broke
from mcp_proxy_conformance.verdict.result import (
    Blame,
    Breach,
    Cause,
    DeclarationFault,
    Finding,
    Inconclusive,
    LockText,
    Misshapen,
    NotApplicable,
    Verdict,
)
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

AGAIN_S = 0.05
LONGEST_REASON = 10_000
"""Characters that a result keeps of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one call of a check ended; `final` endings are neither settled nor confirmed.

    `since` is where in the transcript the call that counted began; `sides` are those of a failing
    assertion, `comparison` is what the check concluded, `unread` and `pinned` are texts it judged.
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

    def findings(self, cited: tuple[str, ...]) -> tuple[Finding, ...]:
        """The differences that a failure rests on; an assertion speaks of what its check cites."""
        if self.verdict != "fail":
            return ()
        if self.comparison is not None and self.comparison.findings:
            return tuple(self.comparison.findings)
        if isinstance(self.error, Misshapen) and self.error.clauses:
            return (Finding(path="the answer's shape", clauses=self.error.clauses,
                            allowed="as the surface names it", observed=self.reason),)  # fmt: skip
        return of_sides(self.sides, cited)


def attempt(check: Callable[[], Any]) -> Ending:
    """Call a check once; every way of ending is a value, only interruptions are raised."""
    with watched() as left:
        ending = _ended(check)
    return replace(
        ending,
        reason=_bounded(ending.reason),
        sides=left.sides,
        comparison=left.comparison,
        unread=tuple(left.unread),
        pinned=tuple(left.pinned),
    )


def _bounded(reason: str) -> str:
    """A reason that quotes a target may be as long as the target likes."""
    if len(reason) <= LONGEST_REASON:
        return reason
    return f"{reason[:LONGEST_REASON]} ... ({len(reason)} characters)"


def _ended(check: Callable[[], Any]) -> Ending:
    try:
        check()
    except Exception as error:  # noqa: BLE001 - a fault of the suite is a verdict of its own
        ending = next(end(error) for kind, end in ENDINGS if isinstance(error, kind))
        if not isinstance(error, AssertionError):  # of which pytest shows where it was raised
            error.__traceback__ = error.__context__ = None  # they hold all that was answered
        return ending
    return Ending(verdict="pass")


def _failed(error: Exception) -> Ending:
    final = isinstance(error, Breach)
    reason = str(error) if final else _first_line(error)
    return Ending(verdict="fail", reason=reason, blame="target", error=error, final=final)


def _misshapen(error: Misshapen) -> Ending:
    """A shape that breaks clauses is a failure; in another one nothing was observed."""
    if not error.clauses:
        return _unread(error)
    return Ending(verdict="fail", reason=str(error), blame="target", error=error)


def _unread(error: Exception) -> Ending:
    """An answer that cannot be read: nothing of the check's clauses was observed in it."""
    open_ = _open(Inconclusive(str(error), cause="unread_answer"))
    return replace(open_, error=error, blame="target")


def _open(error: Inconclusive) -> Ending:
    return Ending(
        verdict="inconclusive", reason=str(error), error=error, cause=error.cause, hint=error.hint
    )


def _not_applicable(error: NotApplicable) -> Ending:
    return Ending(verdict="not_applicable", reason=str(error), error=error, cause=error.cause)


def _unsupported(error: Exception) -> Ending:
    reason = f"the adapter does not support {error}, though it is declared"
    return _open(Inconclusive(reason, cause="not_supported"))


def _broke(blame: Blame) -> Callable[[Exception], Ending]:
    return lambda error: Ending(verdict="error", reason=str(error), blame=blame, error=error)


def _full(error: OSError) -> Ending:
    """A disk that is full is nobody's fault but that of the machine this runs on."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return _own_fault(error)
    told = f"{error.filename or 'the output folder'}: {error.strerror}; free some room"
    return Ending(verdict="error", reason=told, blame="declaration", error=error)


def _own_fault(error: Exception) -> Ending:
    reason = "".join(traceback.format_exception(error)[-6:])
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
"""The ways in which a check can end other than by passing; the first that fits holds."""


def judge(
    check: Callable[[Bench], Any],
    bench: Bench,
    confirm: Callable[[], Bench] | None,
    *,
    trial: bool = False,
) -> Ending:
    """The verdict of a check on its bench.

    A check that touched nothing on the operator side is called again until the settle time is
    over, and at least once if it may have rested on answers that another check had asked for.
    A failure on a shared stage counts only when a second, fresh target shows it too. Where a check
    fails and then cannot look again, for what it sent has broken the target, the fresh one decides;
    in a `trial` the failure stands.
    """
    started = bench.started
    touched_at, settled = started.last_change, dict[Verdict, float]()
    failed: Ending | None = None
    while True:
        mark, shared = started.transcript.mark(), bool(started.answers)
        ending = replace(attempt(lambda: check(bench)), since=mark)
        # looking at a lock again moves it on; a lock that was not there had no claim to follow
        open_end = settled.setdefault(ending.verdict, started.settled_at) > time.monotonic()
        untouched = started.last_change == touched_at
        if ending.verdict == "inconclusive" and failed is not None:
            ending = failed
            break
        if ending.verdict == "fail" and (confirm is not None or trial):
            failed = ending
        if ending.verdict not in ("fail", "inconclusive") or ending.final:
            break
        if not untouched or not (open_end or shared):
            break
        started.answers.clear()
        if open_end:
            time.sleep(AGAIN_S)
    if ending.verdict == "fail" and not ending.final and confirm is not None:
        return confirmed(ending, attempt(lambda: check(confirm())))
    return ending


def confirmed(ending: Ending, second: Ending, subject: str = "the target") -> Ending:
    """The failure as far as a second look shows the same clauses broken; the rest is open."""
    if second.verdict == "error":
        return replace(second, reason=f"{second.reason} (while confirming: {ending.reason})")
    if second.verdict == "fail" and _is_plain(ending) and _is_plain(second):
        return ending
    again = {clause for one in second.findings(()) for clause in one.clauses}
    first = {clause for one in ending.findings(()) for clause in one.clauses}
    kept = [
        msgspec.structs.replace(one, clauses=common)
        for one in ending.findings(())
        if (common := tuple(clause for clause in one.clauses if clause in again))
    ]
    reason = f"{subject} does not agree with itself; first seen: {ending.reason}"
    own = ending.comparison or Comparison()
    seen = {clause: n for clause, n in own.observed.items() if clause not in first | again}
    unsettled = Open(clauses=tuple(sorted(first ^ again)), reason=reason, cause="disagrees")
    comparison = replace(
        own,
        findings=kept,
        observed=Counter(seen),
        open=[*own.open, *([unsettled] if unsettled.clauses else [])],
    )
    if kept:
        return replace(ending, comparison=comparison)
    left = None if ending.comparison is None else comparison
    ended = _open(Inconclusive(reason, cause="disagrees"))
    return replace(ended, since=ending.since, comparison=left)


def _is_plain(ending: Ending) -> bool:
    """Whether it ended by an assertion, which speaks of all that its check cites."""
    return ending.comparison is None and not isinstance(ending.error, Misshapen)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or "the check's comparison does not hold"


def told(ending: Ending, evidence: Sequence[str]) -> str:
    """The reason; differences say more than the comparison as it stands in the check."""
    return "; ".join(evidence[:2]) or ending.reason


def with_log(ending: Ending, started: Started) -> Ending:
    """Silence of a target that has ended is told with the end of its log."""
    if ending.blame != "network" or started.adapter.alive():
        return ending
    tail = started.adapter.log().strip()
    return replace(ending, reason=f"{ending.reason}; the target has ended, its log: {tail}")


IN_A_ROW = 5


@dataclass(slots=True)
class Silence:
    """The waits in vain since a check was last answered, each once, however many it cost.

    A stage that could not be set up is one of them, though all of its checks end in it. A target
    that answers late, with a refusal or with nonsense has answered.
    """

    _waits: list[BaseException] = field(default_factory=list)

    def after(self, ending: Ending, *, advisory: bool) -> Outcome | None:
        """What the run comes to once nothing answers any more; None as long as something does."""
        if ending.verdict == "not_applicable" or (advisory and ending.blame == "network"):
            return None
        if ending.blame != "network" or ending.error is None:
            self._waits.clear()
        elif not any(ending.error is one for one in self._waits):
            self._waits.append(ending.error)
        if len(self._waits) < IN_A_ROW:
            return None
        why = f"the target stopped answering, {IN_A_ROW} times in a row: {ending.reason}"
        return broke(why)
