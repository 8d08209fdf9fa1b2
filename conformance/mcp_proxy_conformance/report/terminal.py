"""Report for a terminal: failures, errors, open results, or causes; known failures; picture."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mcp_proxy_conformance.report import drawing
from mcp_proxy_conformance.report.cause_list import COLUMNS, SCREEN, cause_list, height
from mcp_proxy_conformance.report.colour import Line, command, indented, painted
from mcp_proxy_conformance.report.details import advisories, checks, clauses, worlds
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.failures import REPRODUCE, failures, names
from mcp_proxy_conformance.report.phrases import again, counted
from mcp_proxy_conformance.report.picture import picture
from mcp_proxy_conformance.report.pins import pins
from mcp_proxy_conformance.report.summary import VERDICTS, coverage, ending, last, summary
from mcp_proxy_conformance.verdict.causes import repair
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver, stale
from mcp_proxy_conformance.verdict.result import Result

STATES = {"used": "fails", "stale": "STALE", "unobserved": "not observed"}
"""The word for each state of a known failure in a run."""
WIDTH = len("not_applicable")


def known_failures(report: Report) -> list[str]:
    """Return a line for each deviation: its state, id, reason, issue, date and place.

    A stale one, whose failure is gone, has advice to remove it instead of the reason.
    """
    return [f"{STATES[waiver.state]:{WIDTH}}  {_known(waiver)}" for waiver in report.waivers]


def _known(waiver: Waiver) -> str:
    """Return a deviation in words; of a stale one, advice to remove it."""
    if gone := stale([waiver]):
        return gone[0]
    reason = f"{' '.join(waiver.reason.split())} ({waiver.issue}, until {waiver.expires})"
    return f"{waiver.id}  {reason}  {waiver.file}:{waiver.line}"


MOST, LINES = 12, 10
"""Reasons that are shown, and lines of one."""
WHOSE = {
    "adapter": "caused by the adapter, or by the target behind it",
    "network": "caused by the network, or by a target that cannot be reached",
    "declaration": "caused by the declaration of the target",
    "suite": "caused by this suite",
}


def errors(report: Report, columns: int) -> list[Line]:
    """Return lines on up to twelve distinct errors: whom they blame, checks affected, a command.

    Further ones are counted; clauses that no check observed follow.
    """
    groups = _by_reason(report, "error")
    lines: list[Line] = []
    for (reason, blame), affected in list(groups.items())[:MOST]:
        lines += [
            Line(f"ERROR  {WHOSE.get(blame, 'unknown cause')}", "error"),
            *indented(reason, 4, LINES),
            *_occurrences(affected, report, columns),
            Line(),
        ]
    return lines + _further_reasons(len(groups)) + _unseen(report)


def inconclusive(report: Report, columns: int) -> list[Line]:
    """Return lines on up to twelve reasons of inconclusive results that count, with repairs.

    Results count that are required or blame the suite. Further reasons are only numbered; texts to
    pin in the target file follow.
    """
    groups = _by_reason(report, "inconclusive")
    lines: list[Line] = []
    for (reason, _), affected in list(groups.items())[:MOST]:
        clauses = dict.fromkeys(clause_id for result in affected for clause_id in result.clauses)
        lines += [
            Line(f"inconclusive  {', '.join(clauses)}", "inconclusive"),
            *indented(reason, 4, LINES),
            Line(f"    To settle it: {repair(affected[0])}", whole=True),
            *_occurrences(affected, report, columns),
            Line(),
        ]
    return lines + _further_reasons(len(groups)) + _to_be_pinned(report)


def _to_be_pinned(report: Report) -> list[Line]:
    """Return lines with pins for unread texts, introduced; [] without such texts."""
    lines = [Line(f"    {line}", whole=True) for line in pins(report)]
    if not lines:
        return []
    head = "Pin these texts in the target file, each under the status whose remediation it is."
    more = "Below, each is under the status that the target gave it for; move it if that is wrong:"
    return [Line(head), Line(more), *lines, Line()]


def _by_reason(report: Report, verdict: str) -> dict[tuple[str, str], list[Result]]:
    """Return the results of that verdict by (reason, blame).

    Only results that are required, or that blame the suite.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        counts = result.level == "required" or result.blame == "suite"
        if result.verdict == verdict and counts:
            groups.setdefault((result.reason, result.blame), []).append(result)
    return groups


def _occurrences(affected: list[Result], report: Report, columns: int) -> list[Line]:
    """Return lines that name affected results, and with a command that reproduces the first."""
    repeated = command(REPRODUCE, again(affected[0].name, report), columns)
    return [Line(f"    in {names(affected)}"), *repeated]


def _further_reasons(reasons: int) -> list[Line]:
    rest = reasons - MOST
    more = counted(rest, "more reason", "more reasons")
    return [Line(f"... and {more}, in the report"), Line()] if rest > 0 else []


def _unseen(report: Report) -> list[Line]:
    """Return an ERROR line for up to twelve clauses that are errors without any result."""
    missing = [
        clause for clause in report.clauses if clause.verdict == "error" and not clause.results
    ]
    return [
        line
        for clause in missing[:MOST]
        for line in (Line(f"ERROR  {clause.id}: {clause.reason}", "error"), Line())
    ]


__all__ = ["VERDICTS", "Detail", "ending", "known_failures", "render"]

Detail = Literal["quiet", "usual", "verbose"]


def render(
    report: Report,
    path: Path,
    *,
    detail: Detail = "usual",
    colour: bool = False,
    code: int | None = None,
    columns: int = 0,
) -> str:
    """Return the text for a terminal; all output of the target is escaped.

    Causes replace failures, errors and open results that would not fit on a screen; `quiet`
    leaves errors and open results out. `detail`: `quiet` is failures or causes and the last
    line, `verbose` adds every failure, checks, worlds and advisories. `path` is the report's
    file; `code` the program's exit code if it is not the report's own; `columns` the width at
    which lines are broken, 0 for none.
    """
    shown, is_verbose = _near(path), detail == "verbose"
    end = [
        *coverage(report, is_verbose=is_verbose, columns=columns),
        *last(report, shown, code, columns),
    ]
    listed = failures(report, shown, columns)
    if detail != "quiet":
        seen = picture(report)
        drawn = [*drawing.lines(seen, columns or COLUMNS), Line()] if seen else []
        end = [*drawn, *summary(report, shown, is_verbose=is_verbose, columns=columns), *end]
        listed += [*errors(report, columns), *inconclusive(report, columns)]
    known = _known_failures(report) if detail != "quiet" else []
    room = SCREEN - height([*known, *end], columns)
    if is_verbose:
        cause_lines = [] if _is_single(report) else cause_list(report, columns=columns, room=None)
        before = [*worlds(report), *checks(report), *clauses(report), *advisories(report)]
        lines = [*before, *cause_lines, *listed, *known]
    elif height(listed, columns) <= room or _is_single(report):
        lines = [*listed, *known]
    else:
        lines = [*cause_list(report, columns=columns, room=room), *_unseen(report), *known]
    return painted([*lines, *end], colour=colour)


def _is_single(report: Report) -> bool:
    names = {name for cause in report.causes for name in (*cause.results, *cause.open_results)}
    return len(names) <= 1


def _known_failures(report: Report) -> list[Line]:
    """Return the known failures under a title, with a blank line after them; [] without any."""
    known = known_failures(report)
    return [Line("known failures:"), *map(Line, known), Line()] if known else []


def _near(path: Path) -> Path:
    """Return the path relative to the working folder if it is inside it; else unchanged."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
