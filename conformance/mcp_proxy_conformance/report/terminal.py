"""The report on a terminal: one line a clause, then each failure with its evidence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.deviations.waiving import stale
from mcp_proxy_conformance.report.inert import inert
from mcp_proxy_conformance.report.retelling import (
    OPEN,
    again,
    profile_of,
    request,
    sentence,
    target_of,
)
from mcp_proxy_conformance.resources import LOGS

SHOWN_MESSAGES, BODY_SHOWN = 8, 600
UNSEEN = ("left out", "the run ended before it")
VERDICTS = ("pass", "fail", "inconclusive", "not_applicable", "error", "waived")
LOUD = ("fail", "error")
WIDTH = len("not_applicable")
STATES = {"used": "fails", "stale": "STALE", "unobserved": "not observed"}
"""What became of a known failure in a run."""


def render(report: dict[str, Any], path: Path) -> str:
    """The whole text; everything a target said is made inert first."""
    lines = [_clause(one) for one in report["clauses"] if one["reason"] not in UNSEEN]
    for result in report["results"]:
        if result["verdict"] in OPEN:
            lines += ["", *_failure(result, report)]
    if known := known_failures(report):
        lines += ["", "known failures:", *known]
    return inert("\n".join([*lines, "", *_summary(report, path)]))


def known_failures(report: dict[str, Any]) -> list[str]:
    """What became of each deviation, a line each; nothing where a run has none."""
    return [f"{STATES[one['state']]:{WIDTH}}  {_known(one)}" for one in report["waivers"]]


def _known(one: dict[str, Any]) -> str:
    if gone := stale([one]):
        return gone[0]
    told = f"{' '.join(one['reason'].split())} ({one['issue']}, until {one['expires']})"
    return f"{one['id']}  {told}  {one['file']}:{one['line']}"


def _clause(one: dict[str, Any]) -> str:
    advisory = " (advisory)" if one["judgement"] == "A" else ""
    mark = one["verdict"] if advisory else _mark(one["verdict"])
    line = f"{mark:{WIDTH}}  {one['id']}{advisory}"
    if one["verdict"] == "pass" or not one["reason"]:
        return line
    return f"{line}  {one['reason'].splitlines()[0][:120]}"


def _failure(result: dict[str, Any], report: dict[str, Any]) -> list[str]:
    case = f" [{result['case']}]" if result["case"] else ""
    advisory = ", advisory" if result["judgement"] == "A" else ""
    lines = [f"{_mark(result['verdict'])}{advisory}: {result['check']}{case} on {result['stage']}"]
    for clause_id in result["clauses"]:
        told = sentence(clause_id)
        lines.append(f"  {clause_id} ({told.source}): {told.text}")
    lines += [f"  {line}" for line in result["reason"].splitlines()[:12]]
    lines += [f"  {line}" for line in result["evidence"]]
    if result["judgement"] == "A":
        return lines
    cited = [(place, report["messages"][place]) for place in result["messages"]]
    if len(cited) > SHOWN_MESSAGES:
        lines.append(f"  ... {len(cited) - SHOWN_MESSAGES} earlier messages are in the report")
    for place, message in cited[-SHOWN_MESSAGES:]:
        arrow = "->" if message["direction"] == "sent" else "<-"
        body = message["body"][:BODY_SHOWN]
        lines.append(f"  {arrow} {message['edge']} {message['peer']} {message['note']} ({place})")
        lines.append(f"     {body}")
    if command := request(result, report):
        lines.append(f"  the request, for a target in that state: {command}")
    lines.append(f"  reproduce with: {again(result)}   (more: explain {result['clauses'][0]})")
    return lines


def _mark(verdict: str) -> str:
    return verdict.upper() if verdict in LOUD else verdict


def _summary(report: dict[str, Any], path: Path) -> list[str]:
    counts = Counter(one["verdict"] for one in report["clauses"] if one["judgement"] == "F")
    advisory = Counter(one["verdict"] for one in report["clauses"] if one["judgement"] == "A")
    told = ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
    aside = ", ".join(f"{advisory[word]} {word}" for word in VERDICTS if advisory[word])
    return [
        f"target {target_of(report)}",
        f"{profile_of(report)}: {told} (advisory: {aside})",
        f"report: {path}",
        *([f"logs of targets: {logs}"] if (logs := path.with_name(LOGS)).is_dir() else []),
        f"{report['headline']}: {report['why']}",
    ]
