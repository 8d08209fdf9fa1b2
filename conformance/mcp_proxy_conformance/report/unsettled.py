"""What a run left open, for a terminal: errors, what is inconclusive, and what would settle it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp_proxy_conformance.report.colour import Line, indented
from mcp_proxy_conformance.report.failures import names
from mcp_proxy_conformance.report.retelling import name

Json = dict[str, Any]
MOST, LINES = 12, 10
"""Reasons that are told, and lines of one."""
WHOSE = {
    "adapter": "of the adapter, or of the target behind it",
    "network": "of the network, or of a target that is away",
    "declaration": "of the declaration",
    "suite": "of this suite",
}
SETTLING = {
    "unrecognised text": "pin that text under its status word: `pins` in the target file",
    "it is not deterministic": "a loader that tells equal loads alike; run it again",
    "does not agree with itself": "a target that answers equal requests alike; if it is slow to"
    " follow a lock, a longer --settle",
    "the adapter does not support": "answer that operation, or leave the capability out of the"
    " target file",
    "the listing does not show": "name the tool that lists servers: `surface` in the target file",
    "is offered": "name the tool as the target does: `surface` in the target file",
    "rests on another document": "an inputSchema that holds all it refers to",
    "healthy server": "a loader that loads healthy servers here; its own words are in the logs",
    "generated server": "more generated loads: a higher --examples",
    "control server": "a loader that loads healthy servers here; its own words are in the logs",
    "the lock had no effect": "an adapter whose locks are real; if they take their time, a longer"
    " --enforce",
    "was not reached either": "a longer --ready, or an adapter that approves what it says it does",
    "never callable": "a target on which that tool can be called before it is locked; if it is"
    " slow, a longer --ready",
    "no call reaches": "a longer --ready, or an adapter that approves what it says it does",
    "see I": "first mend what breaks the clause that is named",
    "cut short": "a longer --timeout",
}
"""What would settle a thing, by words of its reason; the first that is found holds."""


def errors(report: Json, again: Callable[[str], str]) -> list[Line]:
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


def inconclusive(report: Json, again: Callable[[str], str]) -> list[Line]:
    """Every reason why something that counts was not settled, and what would settle it."""
    found = _by_reason(report, "inconclusive")
    lines: list[Line] = []
    for (reason, _), befallen in list(found.items())[:MOST]:
        clauses = list(dict.fromkeys(one for each in befallen for one in each["clauses"]))
        lines += [
            Line(f"inconclusive  {', '.join(clauses)}", "inconclusive"),
            *indented(reason, 4, LINES),
            Line(f"    To settle it: {settling(reason, clauses)}", whole=True),
            *_where(befallen, again),
            Line(),
        ]
    return lines + _uncounted(len(found))


def settling(reason: str, clauses: list[str]) -> str:
    """What would settle what is open for that reason."""
    hint = next((told for words, told in SETTLING.items() if words in reason), "")
    if not hint and "--" in reason:
        return "the option that is named"
    seen = f"what `explain {clauses[0]}` says is observed, on a target that shows it"
    return hint or (seen if clauses else "another run")


def _by_reason(report: Json, verdict: str) -> dict[tuple[str, str], list[Json]]:
    found: dict[tuple[str, str], list[Json]] = {}
    for one in report["results"]:
        counts = one["judgement"] == "F" or one["blame"] == "suite"
        if one["verdict"] == verdict and counts:
            found.setdefault((one["reason"], one["blame"]), []).append(one)
    return found


def _where(befallen: list[Json], again: Callable[[str], str]) -> list[Line]:
    return [
        Line(f"    in {names(befallen)}"),
        Line(f"    Reproduce with: {again(name(befallen[0]))}", whole=True),
    ]


def _uncounted(reasons: int) -> list[Line]:
    rest = reasons - MOST
    return [Line(f"... and {rest} more reasons, in the report"), Line()] if rest > 0 else []


def _unseen(report: Json) -> list[Line]:
    """Clauses that are errors though no check is: the suite owes them one."""
    missing = [one for one in report["clauses"] if one["verdict"] == "error" and not one["results"]]
    return [
        line
        for one in missing[:MOST]
        for line in (Line(f"ERROR  {one['id']}: {one['reason']}", "error"), Line())
    ]
