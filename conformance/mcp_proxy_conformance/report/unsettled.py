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
        hint = befallen[0].get("hint", "")
        lines += [
            Line(f"inconclusive  {', '.join(clauses)}", "inconclusive"),
            *indented(reason, 4, LINES),
            Line(f"    To settle it: {hint or settling(clauses)}", whole=True),
            *_where(befallen, again),
            Line(),
        ]
    return lines + _uncounted(len(found))


def settling(clauses: list[str]) -> str:
    """What would settle what is open, where the result itself does not say."""
    if not clauses:
        return "another run"
    return f"what `explain {clauses[0]}` says is observed, on a target that shows it"


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
