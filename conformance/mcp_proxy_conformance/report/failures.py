"""Failures for a terminal: by clause, the first of each with its evidence, the others counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mcp_proxy_conformance.report.colour import Line, indented, short
from mcp_proxy_conformance.report.document import Message, Report
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.report.retelling import request, sentence
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

SHOWN, NAMED = 3, 5
"""Failures of one clause that are told, and names of further ones."""
EVIDENCE, REASON, MESSAGES, BODY = 8, 2, 2, 300
"""Lines of evidence and of the reason before it, messages, characters of a message's body."""
LONGEST_REQUEST = 2000
"""Characters of a request that is told as a command."""


def failures(report: Report, path: Path, again: Callable[[str], str]) -> list[Line]:
    """Every failure that counts, under the first clause it breaks; each clause once."""
    found: list[Line] = []
    told: dict[str, str] = {}
    for clause in report.clauses:
        failed = [
            one for one in report.results if clause.id in one.clauses and one.verdict == "fail"
        ]
        if clause.judgement == "F" and failed:
            fresh = [one for one in failed if one.name not in told]
            found += [*_heading(clause, failed), *_known(failed, told)]
            found += _told(fresh, clause.id, report, path, again)
            told |= {one.name: clause.id for one in fresh}
    return found


def _heading(clause: ClauseVerdict, failed: list[Result]) -> list[Line]:
    told = sentence(clause.id)
    number = f"checks and cases that fail: {len(failed)} of {clause.results}"
    return [
        Line(f"FAIL  {clause.id}  ({told.source})", "fail"),
        Line(f"  {told.text}", whole=True),
        Line(f"  {number}; more: explain {clause.id}"),
    ]


def _known(failed: list[Result], told: dict[str, str]) -> list[Line]:
    """Failures that an earlier clause has told."""
    known = [one for one in failed if one.name in told]
    if not known:
        return [Line()]
    places = ", ".join(dict.fromkeys(told[one.name] for one in known))
    return [Line(f"  told under {places}: {names(known)}"), Line()]


def _told(
    fresh: list[Result], clause_id: str, report: Report, path: Path, again: Callable[[str], str]
) -> list[Line]:
    lines: list[Line] = []
    for number, one in enumerate(fresh[:SHOWN]):
        lines += _whole(one, report, path) if number == 0 else _brief(one)
        lines += [Line(f"    Reproduce with: {again(one.name)}", whole=True), Line()]
    rest = fresh[SHOWN:]
    if rest:
        lines += [Line(f"  ... and {len(rest)} more of {clause_id}: {names(rest)}"), Line()]
    return lines


def _whole(result: Result, report: Report, path: Path) -> list[Line]:
    lines = [Line(f"  {result.name} on {result.stage}"), *_evidence(result, path)]
    shown = _telling(result, report)
    for place in shown:
        lines += _message(place, report.messages[place])
    if len(result.messages) > len(shown):
        rest = len(result.messages) - len(shown)
        lines.append(Line(f"    {rest} other messages of this check are in {path}"))
    command = request(result, report)
    if len(command) > LONGEST_REQUEST:
        lines.append(Line(f"    Request: {len(command)} characters; report {path} --format html"))
    elif command:
        lines.append(Line(f"    Request, in that state: {command}", whole=True))
    return lines


def _telling(result: Result, report: Report) -> tuple[str, ...]:
    """The answer that the failure is about, and what was asked before it; else the last ones."""
    about = [one.place for one in guilty(result, report.messages)]
    end = result.messages.index(about[0]) + 1 if about else len(result.messages)
    return result.messages[max(0, end - MESSAGES) : end]


def _evidence(result: Result, path: Path) -> list[Line]:
    """The reason, unless the evidence says it, and the evidence; where the rest of it is."""
    evidence = "\n".join(result.evidence)
    if not evidence:
        lines = result.reason.split("\n")
    else:
        reason = [] if result.reason in evidence else result.reason.split("\n")[:REASON]
        lines = [*reason, *evidence.split("\n")]
    rest = len(lines) - EVIDENCE + 1
    told = [Line(f"    {line}") for line in lines[:EVIDENCE]]
    if rest > 1:
        told[-1] = Line(f"    ... {rest} more lines: report {path} --format html")
    return told


def _message(place: str, message: Message) -> list[Line]:
    arrow = "->" if message.direction == "sent" else "<-"
    head = f"    {arrow} {message.edge} {message.peer} {message.note} ({place})"
    return [Line(head), Line(f"       {short(message.body, BODY)}")]


def _brief(result: Result) -> list[Line]:
    return [Line(f"  {result.name} on {result.stage}"), *indented(result.reason, 4, 2)]


def names(results: list[Result]) -> str:
    """The names of a few results, and the number of the others."""
    known = list(dict.fromkeys(one.name for one in results))
    rest = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + rest
