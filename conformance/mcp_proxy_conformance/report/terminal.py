"""The report on a terminal: failures by clause, what is open, a table, and one last line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.report.colour import Line, indented, painted, short
from mcp_proxy_conformance.report.details import advisories, checks, clauses, worlds
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.failures import failures, names
from mcp_proxy_conformance.report.pins import pinned, pins
from mcp_proxy_conformance.report.retelling import (
    is_after_the_end,
    is_left_out,
    profile_of,
    quoted,
    requirement_of,
    target_of,
)
from mcp_proxy_conformance.verdict.deviations.waiving import Waiver, stale
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result, Verdict

VERDICTS: tuple[Verdict, ...] = (
    "pass",
    "fail",
    "inconclusive",
    "not_applicable",
    "error",
    "waived",
)
"""Reasons of clauses that no check of this run has seen."""
NOT_RUN = "not run"
IDS = 10
"""Clauses that the last line names."""
STATES = {"used": "fails", "stale": "STALE", "unobserved": "not observed"}
"""What became of a known failure in a run."""
WIDTH = len("not_applicable")
LAST = 500
"""Characters of it, the path of the report not counted."""


def summary(report: Report, path: Path, *, why: str) -> list[Line]:
    """The table, what does not apply and why, known failures and advisory ones, and the target.

    `why` says what tells more of the advisory ones.
    """
    known = known_failures(report)
    logs = path.with_name(LOGS)
    advisory = [one.id for one in _of(report, "A") if one.verdict == "fail"]
    return [
        *table(report),
        Line(),
        *([Line("known failures:"), *map(Line, known), Line()] if known else []),
        *_not_applicable(report),
        *[Line(f"taken for what the target file pins: {one}") for one in pinned(report)],
        *([Line(f"advisory, never counted: {_some(advisory)} fail; {why}")] if advisory else []),
        Line(f"target {target_of(report)}"),
        Line(f"{profile_of(report)}: {_counted(report)}"),
        *([Line(f"logs of targets: {logs}")] if logs.is_dir() else []),
    ]


def table(report: Report) -> list[Line]:
    """A row for each requirement that was looked at: its clauses that count, by verdict."""
    rows: dict[str, Counter[str]] = {}
    for one in _of(report, "F"):
        if not is_left_out(one):
            rows.setdefault(requirement_of(one.id), Counter())[_word(one)] += 1
    every = sum(rows.values(), Counter[str]())
    columns = [word for word in (*VERDICTS, NOT_RUN) if every[word]]
    rows = {name: counts for name, counts in rows.items() if counts.total() > counts[NOT_RUN]}
    width = max(map(len, ("requirement", *rows)))
    lines = [f"{'requirement':{width}}  {'  '.join(columns)}"] if rows else []
    for requirement, counts in rows.items():
        cells = [f"{counts[word] or '.':>{len(word)}}" for word in columns]
        lines.append(f"{requirement:{width}}  {'  '.join(cells)}")
    return [Line(line) for line in lines]


def last(report: Report, path: Path, code: int | None = None) -> Line:
    """One line that says how the run ended, where, and what to look at."""
    firm = _of(report, "F")
    broken = [one.id for one in firm if one.verdict == "fail"]
    told = " ".join(report.why.split())
    if report.headline == "violated" and broken:
        told = f"{len(broken)} of {len(firm)} clauses broken ({_some(broken)})"
        unseen = sum(is_left_out(one) or is_after_the_end(one) for one in firm)
        told += f", {unseen} not looked at" if unseen else ""
    open_ = [one.id for one in firm if one.verdict in ("inconclusive", "error")]
    if told == f"not settled: {', '.join(open_)}":
        told = f"{len(open_)} of {len(firm)} clauses not settled ({_some(open_)})"
    told = short(f"{report.headline}: {told}", LAST)
    return Line(f"{told}; {ending(report, code)}; report: {path}", whole=True)


def ending(report: Report, code: int | None) -> str:
    """The exit code, and why it is not the report's own."""
    own = report.exit
    if code in (None, own):
        return f"exit {own}"
    return f"exit {code} because of --fail-on violated, the report's own is {own}"


def _of(report: Report, judgement: str) -> list[ClauseVerdict]:
    return [one for one in report.clauses if one.judgement == judgement]


def _word(clause: ClauseVerdict) -> str:
    return NOT_RUN if is_after_the_end(clause) else clause.verdict


def _some(ids: list[str]) -> str:
    rest = f", and {len(ids) - IDS} more" if len(ids) > IDS else ""
    return ", ".join(ids[:IDS]) + rest


def _counted(report: Report) -> str:
    """How many clauses came to what."""
    seen = [one for one in report.clauses if not is_left_out(one)]
    firm = Counter(_word(one) for one in seen if one.judgement == "F")
    aside = Counter(_word(one) for one in seen if one.judgement == "A")
    words = (*VERDICTS, NOT_RUN)
    told = ", ".join(f"{firm[word]} {word}" for word in words if firm[word]) or "nothing"
    apart = ", ".join(f"{aside[word]} {word}" for word in words if aside[word])
    left = len(report.clauses) - len(seen)
    rest = f"; {left} left out" if left else ""
    return f"{told}{f' (advisory: {apart})' if apart else ''}{rest}"


def _not_applicable(report: Report) -> list[Line]:
    reasons: dict[str, list[str]] = {}
    for one in _of(report, "F"):
        if one.verdict == "not_applicable" and not is_left_out(one):
            reasons.setdefault(short(one.reason.split("\n")[0], 120), []).append(one.id)
    return [Line(f"not applicable, {why}: {_some(ids)}") for why, ids in reasons.items()]


def known_failures(report: Report) -> list[str]:
    """What became of each deviation, a line each; nothing where a run has none."""
    return [f"{STATES[one.state]:{WIDTH}}  {_known(one)}" for one in report.waivers]


def _known(one: Waiver) -> str:
    if gone := stale([one]):
        return gone[0]
    told = f"{' '.join(one.reason.split())} ({one.issue}, until {one.expires})"
    return f"{one.id}  {told}  {one.file}:{one.line}"


MOST, LINES = 12, 10
"""Reasons that are told, and lines of one."""
WHOSE = {
    "adapter": "of the adapter, or of the target behind it",
    "network": "of the network, or of a target that is away",
    "declaration": "of the declaration",
    "suite": "of this suite",
}


def errors(report: Report, again: Callable[[str], str]) -> list[Line]:
    """Every error once, with whose fault it is and what it befell."""
    found = _by_reason(report, "error")
    lines: list[Line] = []
    for (reason, blame), befallen in list(found.items())[:MOST]:
        lines += [
            Line(f"ERROR  a fault {WHOSE.get(blame, 'of nobody known')}", "error"),
            *indented(reason, 4, LINES),
            *_where(befallen, again),
            Line(),
        ]
    return lines + _uncounted(len(found)) + _unseen(report)


def inconclusive(report: Report, again: Callable[[str], str]) -> list[Line]:
    """Every reason why something that counts was not settled, and what would settle it."""
    found = _by_reason(report, "inconclusive")
    lines: list[Line] = []
    for (reason, _), befallen in list(found.items())[:MOST]:
        clauses = list(dict.fromkeys(one for each in befallen for one in each.clauses))
        hint = befallen[0].hint
        lines += [
            Line(f"inconclusive  {', '.join(clauses)}", "inconclusive"),
            *indented(reason, 4, LINES),
            Line(f"    To settle it: {hint or settling(clauses)}", whole=True),
            *_where(befallen, again),
            Line(),
        ]
    return lines + _uncounted(len(found)) + _to_be_pinned(report)


def _to_be_pinned(report: Report) -> list[Line]:
    lines = [Line(f"    {line}", whole=True) for line in pins(report)]
    if not lines:
        return []
    head = "To be pinned in the target file, each text under the lock whose remedy it is;"
    more = "as they stand they say that each conveys the lock it was told for:"
    return [Line(head), Line(more), *lines, Line()]


def settling(clauses: list[str]) -> str:
    """What would settle what is open, where the result itself does not say."""
    if not clauses:
        return "another run"
    return f"see to what is missing there; `explain {clauses[0]}` tells how it is looked for"


def _by_reason(report: Report, verdict: str) -> dict[tuple[str, str], list[Result]]:
    found: dict[tuple[str, str], list[Result]] = {}
    for one in report.results:
        counts = one.judgement == "F" or one.blame == "suite"
        if one.verdict == verdict and counts:
            found.setdefault((one.reason, one.blame), []).append(one)
    return found


def _where(befallen: list[Result], again: Callable[[str], str]) -> list[Line]:
    return [
        Line(f"    in {names(befallen)}"),
        Line(f"    Reproduce with: {again(befallen[0].name)}", whole=True),
    ]


def _uncounted(reasons: int) -> list[Line]:
    rest = reasons - MOST
    return [Line(f"... and {rest} more reasons, in the report"), Line()] if rest > 0 else []


def _unseen(report: Report) -> list[Line]:
    """Clauses that are errors though no check is: the suite owes them one."""
    missing = [one for one in report.clauses if one.verdict == "error" and not one.results]
    return [
        line
        for one in missing[:MOST]
        for line in (Line(f"ERROR  {one.id}: {one.reason}", "error"), Line())
    ]


__all__ = ["VERDICTS", "Detail", "known_failures", "render"]

Detail = Literal["quiet", "usual", "verbose"]


def _the_same(name: str) -> str:
    return f"the same command and --check {quoted(name)}"


def render(
    report: Report,
    path: Path,
    *,
    again: Callable[[str], str] = _the_same,
    detail: Detail = "usual",
    colour: bool = False,
    code: int | None = None,
) -> str:
    """The whole text; everything a target said is made inert first.

    Args:
        report: The document of a report.
        path: Where it lies, as it is to be told.
        again: The command that runs one check by its name.
        detail: `quiet` is failures and the last line; `verbose` adds checks, worlds, advisories.
        colour: Whether verdicts are coloured.
        code: What the program ends with, if that is not the report's own exit code.
    """
    shown = _near(path)
    lines = failures(report, shown, again)
    if detail != "quiet":
        lines += [*errors(report, again), *inconclusive(report, again)]
    if detail == "verbose":
        lines = [*worlds(report), *checks(report), *clauses(report), *advisories(report), *lines]
    if detail != "quiet":
        why = "see above" if detail == "verbose" else "--verbose tells why"
        lines += summary(report, shown, why=why)
    return painted([*lines, last(report, shown, code)], colour=colour)


def _near(path: Path) -> Path:
    """The path as it is told: from here, if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
