"""The report on a terminal: failures by clause, open clauses, a table, and one last line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.report.colour import Line, indented, painted, short
from mcp_proxy_conformance.report.details import advisories, checks, clauses, worlds
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.failures import failures, names
from mcp_proxy_conformance.report.phrases import (
    again,
    is_after_the_end,
    is_left_out,
    profile_of,
    requirement_of,
    target_of,
)
from mcp_proxy_conformance.report.pins import pinned, pins
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver, stale
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result, Verdict

VERDICTS: tuple[Verdict, ...] = (
    "pass",
    "fail",
    "inconclusive",
    "not_applicable",
    "error",
    "waived",
)
"""Verdicts in the order of the table's columns."""
NOT_RUN = "not run"
IDS = 10
"""Clauses that the last line names."""
STATES = {"used": "fails", "stale": "STALE", "unobserved": "not observed"}
"""The word for each state of a known failure in a run."""
WIDTH = len("not_applicable")
LAST = 500
"""Characters of the last line, not counting the path of the report."""


def summary(report: Report, path: Path, *, why: str) -> list[Line]:
    """Return the lines after the failures: table, open and known failures, target, counts.

    `why` says how to see more of the advisory failures.
    """
    known = known_failures(report)
    logs = path.with_name(LOGS)
    advisory = [clause.id for clause in _of(report, "advisory") if clause.verdict == "fail"]
    return [
        *table(report),
        Line(),
        *([Line("known failures:"), *map(Line, known), Line()] if known else []),
        *_not_applicable(report),
        *[Line(f"accepted because the target file pins it: {text}") for text in pinned(report)],
        *([Line(f"advisory, never counted: {_some(advisory)} fail; {why}")] if advisory else []),
        Line(f"target {target_of(report)}"),
        Line(f"{profile_of(report)}: {_counted(report)}"),
        *([Line(f"logs of targets: {logs}")] if logs.is_dir() else []),
    ]


def table(report: Report) -> list[Line]:
    """Return a table of required clauses by verdict, with a row for each requirement judged."""
    rows: dict[str, Counter[str]] = {}
    for clause in _of(report, "required"):
        if not is_left_out(clause):
            rows.setdefault(requirement_of(clause.id), Counter())[_word(clause)] += 1
    totals = sum(rows.values(), Counter[str]())
    columns = [word for word in (*VERDICTS, NOT_RUN) if totals[word]]
    rows = {name: counts for name, counts in rows.items() if counts.total() > counts[NOT_RUN]}
    width = max(map(len, ("requirement", *rows)))
    lines = [f"{'requirement':{width}}  {'  '.join(columns)}"] if rows else []
    for requirement, counts in rows.items():
        cells = [f"{counts[word] or '.':>{len(word)}}" for word in columns]
        lines.append(f"{requirement:{width}}  {'  '.join(cells)}")
    return [Line(line) for line in lines]


def last(report: Report, path: Path, code: int | None = None) -> Line:
    """Return the last line: outcome, exit code and the report's path."""
    firm = _of(report, "required")
    broken = [clause.id for clause in firm if clause.verdict == "fail"]
    reason = " ".join(report.why.split())
    if report.headline == "violated" and broken:
        reason = f"{len(broken)} of {len(firm)} clauses broken ({_some(broken)})"
        unseen = sum(is_left_out(clause) or is_after_the_end(clause) for clause in firm)
        reason += f", {unseen} not looked at" if unseen else ""
        reason += f"; the run was cut short: {report.cut_short}" if report.cut_short else ""
    open_ = [clause.id for clause in firm if clause.verdict in ("inconclusive", "error")]
    if reason == f"not settled: {', '.join(open_)}":
        reason = f"{len(open_)} of {len(firm)} clauses not settled ({_some(open_)})"
    if report.headline == "conformant":
        reason = "; ".join([reason, *(f"{_some(ids)} {why}" for why, ids in _unasked(firm))])
    reason = short(f"{report.headline}: {reason}", LAST)
    return Line(f"{reason}; {ending(report, code)}; report: {path}", whole=True)


def _unasked(clauses: list[ClauseVerdict]) -> list[tuple[str, list[str]]]:
    """Return (reason, clauses) for clauses not judged because an option was not given."""
    reasons: dict[str, list[str]] = {}
    for clause in clauses:
        if clause.cause == "not_asked" and not is_left_out(clause):
            reasons.setdefault(clause.reason, []).append(clause.id)
    return list(reasons.items())


def ending(report: Report, code: int | None) -> str:
    """Return the exit code as text, and why it differs from the report's own."""
    own = report.exit
    if code in (None, own):
        return f"exit {own}"
    return f"exit {code} because of --fail-on violated, otherwise {own}"


def _of(report: Report, level: str) -> list[ClauseVerdict]:
    return [clause for clause in report.clauses if clause.level == level]


def _word(clause: ClauseVerdict) -> str:
    return NOT_RUN if is_after_the_end(clause) else clause.verdict


def _some(ids: list[str]) -> str:
    rest = f", and {len(ids) - IDS} more" if len(ids) > IDS else ""
    return ", ".join(ids[:IDS]) + rest


def _counted(report: Report) -> str:
    """Return the counts of clauses by verdict, advisory ones apart, in words."""
    included = [clause for clause in report.clauses if not is_left_out(clause)]
    firm = Counter(_word(clause) for clause in included if clause.level == "required")
    aside = Counter(_word(clause) for clause in included if clause.level == "advisory")
    words = (*VERDICTS, NOT_RUN)
    counts = ", ".join(f"{firm[word]} {word}" for word in words if firm[word]) or "nothing"
    apart = ", ".join(f"{aside[word]} {word}" for word in words if aside[word])
    left = len(report.clauses) - len(included)
    rest = f"; {left} left out" if left else ""
    return f"{counts}{f' (advisory: {apart})' if apart else ''}{rest}"


def _not_applicable(report: Report) -> list[Line]:
    reasons: dict[str, list[str]] = {}
    for clause in _of(report, "required"):
        if clause.verdict == "not_applicable" and not is_left_out(clause):
            reasons.setdefault(short(clause.reason.split("\n")[0], 120), []).append(clause.id)
    return [Line(f"not applicable, {why}: {_some(ids)}") for why, ids in reasons.items()]


def known_failures(report: Report) -> list[str]:
    """Return a line for each deviation: its state, reason, date and place."""
    return [f"{STATES[waiver.state]:{WIDTH}}  {_known(waiver)}" for waiver in report.waivers]


def _known(waiver: Waiver) -> str:
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


def errors(report: Report) -> list[Line]:
    """List up to MOST distinct errors, each with who is to blame and the checks it affected."""
    groups = _by_reason(report, "error")
    lines: list[Line] = []
    for (reason, blame), affected in list(groups.items())[:MOST]:
        lines += [
            Line(f"ERROR  {WHOSE.get(blame, 'unknown cause')}", "error"),
            *indented(reason, 4, LINES),
            *_occurrences(affected, report),
            Line(),
        ]
    return lines + _further_reasons(len(groups)) + _unseen(report)


def inconclusive(report: Report) -> list[Line]:
    """List up to MOST reasons why required results are inconclusive, each with its repair."""
    groups = _by_reason(report, "inconclusive")
    lines: list[Line] = []
    for (reason, _), affected in list(groups.items())[:MOST]:
        clauses = list(
            dict.fromkeys(clause_id for result in affected for clause_id in result.clauses)
        )
        hint = affected[0].hint
        lines += [
            Line(f"inconclusive  {', '.join(clauses)}", "inconclusive"),
            *indented(reason, 4, LINES),
            Line(f"    To settle it: {hint or settling(clauses)}", whole=True),
            *_occurrences(affected, report),
            Line(),
        ]
    return lines + _further_reasons(len(groups)) + _to_be_pinned(report)


def _to_be_pinned(report: Report) -> list[Line]:
    lines = [Line(f"    {line}", whole=True) for line in pins(report)]
    if not lines:
        return []
    head = "Pin these texts in the target file, each under the status whose remediation it is."
    more = "Below, each is under the status that the target gave it for; move it if that is wrong:"
    return [Line(head), Line(more), *lines, Line()]


def settling(clauses: list[str]) -> str:
    """Return the repair for clauses of an inconclusive result that has no hint of its own."""
    if not clauses:
        return "run the suite again"
    return f"provide what is missing; `mcp-proxy-conformance explain {clauses[0]}` shows the checks"


def _by_reason(report: Report, verdict: str) -> dict[tuple[str, str], list[Result]]:
    """Group the results of that verdict that count by their reason and who is to blame."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        counts = result.level == "required" or result.blame == "suite"
        if result.verdict == verdict and counts:
            groups.setdefault((result.reason, result.blame), []).append(result)
    return groups


def _occurrences(affected: list[Result], report: Report) -> list[Line]:
    return [
        Line(f"    in {names(affected)}"),
        Line(f"    Reproduce with: {again(affected[0].name, report)}", whole=True),
    ]


def _further_reasons(reasons: int) -> list[Line]:
    """Return a line that counts the reasons beyond the MOST that are shown, if any."""
    rest = reasons - MOST
    return [Line(f"... and {rest} more reasons, in the report"), Line()] if rest > 0 else []


def _unseen(report: Report) -> list[Line]:
    """List up to MOST clauses that are errors because no check observed them."""
    missing = [
        clause for clause in report.clauses if clause.verdict == "error" and not clause.results
    ]
    return [
        line
        for clause in missing[:MOST]
        for line in (Line(f"ERROR  {clause.id}: {clause.reason}", "error"), Line())
    ]


__all__ = ["VERDICTS", "Detail", "known_failures", "render"]

Detail = Literal["quiet", "usual", "verbose"]


def render(
    report: Report,
    path: Path,
    *,
    detail: Detail = "usual",
    colour: bool = False,
    code: int | None = None,
) -> str:
    """Return the text for the terminal; all output of the target is escaped.

    Args:
        report: The document of a report.
        path: The file of the report.
        detail: `quiet` is failures and the last line; `verbose` adds checks, worlds, advisories.
        colour: Whether verdicts are coloured.
        code: The exit code of the program, if it is not the report's own.
    """
    shown = _near(path)
    lines = failures(report, shown)
    if detail != "quiet":
        lines += [*errors(report), *inconclusive(report)]
    if detail == "verbose":
        lines = [*worlds(report), *checks(report), *clauses(report), *advisories(report), *lines]
    if detail != "quiet":
        why = "see above" if detail == "verbose" else "--verbose shows why"
        lines += summary(report, shown, why=why)
    return painted([*lines, last(report, shown, code)], colour=colour)


def _near(path: Path) -> Path:
    """Return the path relative to the working folder, if it is inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
