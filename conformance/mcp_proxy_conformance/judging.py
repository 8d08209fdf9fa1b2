"""Judging: one call of a check turned into a verdict, settled and confirmed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_proxy_conformance.bench import Bench
from mcp_proxy_conformance.target.adapter import AdapterError, Refused, Unsupported
from mcp_proxy_conformance.target.started import Started
from mcp_proxy_conformance.verdict import (
    Blame,
    Breach,
    DeclarationFault,
    Inconclusive,
    Misshapen,
    NotApplicable,
    Verdict,
)
from mcp_proxy_conformance.wire.faults import ProtocolFault, Unreachable

AGAIN_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How one call of a check ended; `final` endings are neither settled nor confirmed.

    `since` is where in the transcript the call that counted began.
    """

    verdict: Verdict
    reason: str = ""
    blame: Blame = ""
    error: BaseException | None = None
    final: bool = False
    since: int | None = None


def attempt(check: Callable[[], Any]) -> Ending:
    """Call a check once; every way of ending is a value, only interruptions are raised."""
    try:
        check()
    except Breach as error:
        return Ending(verdict="fail", reason=str(error), blame="target", error=error, final=True)
    except AssertionError as error:
        return Ending(verdict="fail", reason=_first_line(error), blame="target", error=error)
    except ProtocolFault as error:
        if error.kind == "size":
            return Ending(verdict="inconclusive", reason=str(error), error=error)
        return Ending(verdict="fail", reason=str(error), blame="target", error=error)
    except Misshapen as error:
        return Ending(verdict="fail", reason=str(error), blame="target", error=error)
    except Inconclusive as error:
        return Ending(verdict="inconclusive", reason=str(error), error=error)
    except (NotApplicable, Refused) as error:
        return Ending(verdict="not_applicable", reason=str(error), error=error)
    except Unsupported as error:
        reason = f"the adapter does not support {error}, though it is declared"
        return Ending(verdict="inconclusive", reason=reason, error=error)
    except DeclarationFault as error:
        return Ending(verdict="error", reason=str(error), blame="declaration", error=error)
    except AdapterError as error:
        return Ending(verdict="error", reason=str(error), blame="adapter", error=error)
    except Unreachable as error:
        return Ending(verdict="error", reason=str(error), blame="network", error=error)
    except Exception as error:  # noqa: BLE001 - a fault of the suite is a verdict of its own
        reason = "".join(traceback.format_exception(error)[-6:])
        return Ending(verdict="error", reason=reason, blame="suite", error=error)
    return Ending(verdict="pass")


def judge(
    check: Callable[[Bench], Any], bench: Bench, confirm: Callable[[], Bench] | None
) -> Ending:
    """The verdict of a check on its bench.

    A check that touched nothing on the operator side is called again until the settle time is
    over, and at least once if it may have rested on answers that another check had asked for.
    A failure on a shared stage counts only when a second, fresh target shows it too.
    """
    started = bench.started
    touched_at, settled = started.last_change, dict[Verdict, float]()
    while True:
        mark, shared = started.transcript.mark(), bool(started.answers)
        ending = replace(attempt(lambda: check(bench)), since=mark)
        # looking at a lock again moves it on; a lock that was not there had no claim to follow
        open_end = settled.setdefault(ending.verdict, started.settled_at) > time.monotonic()
        untouched = started.last_change == touched_at
        if ending.verdict not in ("fail", "inconclusive") or ending.final:
            break
        if not untouched or not (open_end or shared):
            break
        started.answers.clear()
        if open_end:
            time.sleep(AGAIN_S)
    if ending.verdict == "fail" and not ending.final and confirm is not None:
        second = attempt(lambda: check(confirm()))
        if second.verdict == "error":
            return replace(second, reason=f"{second.reason} (while confirming: {ending.reason})")
        if second.verdict != "fail":
            reason = f"the target does not agree with itself; first seen: {ending.reason}"
            error = Inconclusive(reason)
            return Ending(verdict="inconclusive", reason=reason, error=error, since=ending.since)
    return ending


def _first_line(error: AssertionError) -> str:
    return str(error).partition("\n")[0] or "the check's comparison does not hold"


def told(ending: Ending, evidence: Sequence[str]) -> str:
    """The reason; the first difference says more than the comparison as it stands in the check."""
    return "; ".join(evidence[2:3] or evidence[:2]) or ending.reason


def with_log(ending: Ending, started: Started) -> Ending:
    """Silence of a target that has ended is told with the end of its log."""
    if ending.blame != "network" or started.adapter.alive():
        return ending
    tail = started.adapter.log().strip()
    return replace(ending, reason=f"{ending.reason}; the target has ended, its log: {tail}")
