"""The end of a run for a terminal: requirements in a table, and a last line that stands alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.report.colour import Line, short
from mcp_proxy_conformance.report.retelling import (
    is_after_the_end,
    is_left_out,
    profile_of,
    requirement_of,
    target_of,
)
from mcp_proxy_conformance.verdict.deviations.waiving import stale

Json = dict[str, Any]
VERDICTS = ("pass", "fail", "inconclusive", "not_applicable", "error", "waived")
"""Reasons of clauses that no check of this run has seen."""
NOT_RUN = "not run"
IDS = 10
"""Clauses that the last line names."""
STATES = {"used": "fails", "stale": "STALE", "unobserved": "not observed"}
"""What became of a known failure in a run."""
WIDTH = len("not_applicable")
LAST = 500
"""Characters of it, the path of the report not counted."""


def summary(report: Json, path: Path, *, why: str) -> list[Line]:
    """The table, what does not apply and why, known failures and advisory ones, and the target.

    `why` says what tells more of the advisory ones.
    """
    known = known_failures(report)
    logs = path.with_name(LOGS)
    advisory = [one["id"] for one in _of(report, "A") if one["verdict"] == "fail"]
    return [
        *table(report),
        Line(),
        *([Line("known failures:"), *map(Line, known), Line()] if known else []),
        *_not_applicable(report),
        *([Line(f"advisory, never counted: {_some(advisory)} fail; {why}")] if advisory else []),
        Line(f"target {target_of(report)}"),
        Line(f"{profile_of(report)}: {_counted(report)}"),
        *([Line(f"logs of targets: {logs}")] if logs.is_dir() else []),
    ]


def table(report: Json) -> list[Line]:
    """A row for each requirement that was looked at: its clauses that count, by verdict."""
    rows: dict[str, Counter[str]] = {}
    for one in _of(report, "F"):
        if not is_left_out(one):
            rows.setdefault(requirement_of(one["id"]), Counter())[_word(one)] += 1
    every = sum(rows.values(), Counter[str]())
    columns = [word for word in (*VERDICTS, NOT_RUN) if every[word]]
    rows = {name: counts for name, counts in rows.items() if counts.total() > counts[NOT_RUN]}
    width = max(map(len, ("requirement", *rows)))
    lines = [f"{'requirement':{width}}  {'  '.join(columns)}"] if rows else []
    for name, counts in rows.items():
        cells = [f"{counts[word] or '.':>{len(word)}}" for word in columns]
        lines.append(f"{name:{width}}  {'  '.join(cells)}")
    return [Line(line) for line in lines]


def last(report: Json, path: Path, code: int | None = None) -> Line:
    """One line that says how the run ended, where, and what to look at."""
    firm = _of(report, "F")
    broken = [one["id"] for one in firm if one["verdict"] == "fail"]
    told = " ".join(report["why"].split())
    if report["headline"] == "violated" and broken:
        told = f"{len(broken)} of {len(firm)} clauses broken ({_some(broken)})"
        unseen = sum(is_left_out(one) or is_after_the_end(one) for one in firm)
        told += f", {unseen} not looked at" if unseen else ""
    open_ = [one["id"] for one in firm if one["verdict"] in ("inconclusive", "error")]
    if told == f"not settled: {', '.join(open_)}":
        told = f"{len(open_)} of {len(firm)} clauses not settled ({_some(open_)})"
    told = short(f"{report['headline']}: {told}", LAST)
    return Line(f"{told}; {ending(report, code)}; report: {path}", whole=True)


def ending(report: Json, code: int | None) -> str:
    """The exit code, and why it is not the report's own."""
    own = report["exit"]
    if code in (None, own):
        return f"exit {own}"
    return f"exit {code} because of --fail-on violated, the report's own is {own}"


def _of(report: Json, judgement: str) -> list[Json]:
    return [one for one in report["clauses"] if one["judgement"] == judgement]


def _word(clause: Json) -> str:
    return NOT_RUN if is_after_the_end(clause) else clause["verdict"]


def _some(ids: list[str]) -> str:
    rest = f", and {len(ids) - IDS} more" if len(ids) > IDS else ""
    return ", ".join(ids[:IDS]) + rest


def _counted(report: Json) -> str:
    """How many clauses came to what."""
    seen = [one for one in report["clauses"] if not is_left_out(one)]
    firm = Counter(_word(one) for one in seen if one["judgement"] == "F")
    aside = Counter(_word(one) for one in seen if one["judgement"] == "A")
    words = (*VERDICTS, NOT_RUN)
    told = ", ".join(f"{firm[word]} {word}" for word in words if firm[word]) or "nothing"
    apart = ", ".join(f"{aside[word]} {word}" for word in words if aside[word])
    left = len(report["clauses"]) - len(seen)
    rest = f"; {left} left out" if left else ""
    return f"{told}{f' (advisory: {apart})' if apart else ''}{rest}"


def _not_applicable(report: Json) -> list[Line]:
    reasons: dict[str, list[str]] = {}
    for one in _of(report, "F"):
        if one["verdict"] == "not_applicable" and not is_left_out(one):
            reasons.setdefault(short(one["reason"].split("\n")[0], 120), []).append(one["id"])
    return [Line(f"not applicable, {why}: {_some(ids)}") for why, ids in reasons.items()]


def known_failures(report: Json) -> list[str]:
    """What became of each deviation, a line each; nothing where a run has none."""
    return [f"{STATES[one['state']]:{WIDTH}}  {_known(one)}" for one in report["waivers"]]


def _known(one: Json) -> str:
    if gone := stale([one]):
        return gone[0]
    told = f"{' '.join(one['reason'].split())} ({one['issue']}, until {one['expires']})"
    return f"{one['id']}  {told}  {one['file']}:{one['line']}"
