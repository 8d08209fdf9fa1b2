"""Failures for a terminal, by clause: the first whole, a few in brief, the others counted."""

from __future__ import annotations

from pathlib import Path

from mcp_proxy_conformance.report.colour import Line, command, indented, short
from mcp_proxy_conformance.report.document import Report, ReportedMessage
from mcp_proxy_conformance.report.evidence import guilty
from mcp_proxy_conformance.report.phrases import again, counted, request, sentence
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

SHOWN, NAMED = 3, 5
"""Failures of one clause that are shown, and further ones that are named."""
EVIDENCE, REASON, MESSAGES, BODY = 8, 2, 2, 300
"""Lines of evidence and of the reason before it, messages, characters of a message's body."""
REPRODUCE = "    Reproduce with: "
LONGEST_REQUEST = 2000
"""Characters of a request that is shown as a command."""


def failures(report: Report, path: Path, columns: int = 0) -> list[Line]:
    """Return lines on required failures, under each clause broken: a few shown, the rest counted.

    A failure shown under an earlier clause is only named. `path` is the report's file, named in
    hints. Commands are broken at `columns`, unless that is 0.
    """
    lines: list[Line] = []
    shown_under: dict[str, str] = {}
    for clause in report.clauses:
        failed = [
            result
            for result in report.results
            if clause.id in result.clauses and result.verdict == "fail"
        ]
        if clause.level == "required" and failed:
            fresh = [result for result in failed if result.name not in shown_under]
            lines += [*_heading(clause, failed), *_shown_before(failed, shown_under)]
            lines += _results(fresh, clause.id, report, path, columns)
            shown_under |= {result.name: clause.id for result in fresh}
    return lines


def _heading(clause: ClauseVerdict, failed: list[Result]) -> list[Line]:
    """Return three lines on a clause: id and source; text; how many of its results failed."""
    wording = sentence(clause.id)
    number = f"failing checks and cases: {len(failed)} of {clause.results}"
    return [
        Line(f"FAIL  {clause.id}  ({wording.source})", "fail"),
        Line(f"  {wording.text}", whole=True),
        Line(f"  {number}; more: mcp-proxy-conformance explain {clause.id}"),
    ]


def _shown_before(failed: list[Result], shown_under: dict[str, str]) -> list[Line]:
    """Return a line that names the failures shown under earlier clauses, if any, and a blank one.

    `shown_under` maps a result's name to the clause.
    """
    known = [result for result in failed if result.name in shown_under]
    if not known:
        return [Line()]
    places = ", ".join(dict.fromkeys(shown_under[result.name] for result in known))
    return [Line(f"  shown under {places}: {names(known)}"), Line()]


def _results(
    fresh: list[Result], clause_id: str, report: Report, path: Path, columns: int
) -> list[Line]:
    """Return lines on a clause's failures: the first whole, the next two in brief, others named.

    `fresh` are those not shown before. Each shown one has the command that reproduces it.
    """
    lines: list[Line] = []
    for number, result in enumerate(fresh[:SHOWN]):
        lines += (
            _whole(result, report, path)
            if number == 0
            else [Line(f"  {result.name} on {result.stage}"), *indented(result.reason, 4, 2)]
        )
        lines += [*command(REPRODUCE, again(result.name, report), columns), Line()]
    rest = fresh[SHOWN:]
    if rest:
        lines += [Line(f"  ... and {len(rest)} more of {clause_id}: {names(rest)}"), Line()]
    return lines


def _whole(result: Result, report: Report, path: Path) -> list[Line]:
    """Return the lines of a failure in full: evidence, messages, the request as a command.

    Messages not shown are counted; of a request over 2000 characters only the length is given.
    """
    lines = [Line(f"  {result.name} on {result.stage}"), *_evidence(result, path)]
    shown = _relevant(result, report)
    for place in shown:
        lines += _message(place, report.messages[place])
    if len(result.messages) > len(shown):
        rest = len(result.messages) - len(shown)
        others = counted(rest, "other message of this check is", "other messages of this check are")
        lines.append(Line(f"    {others} in {path}"))
    sent = request(result, report)
    if len(sent) > LONGEST_REQUEST:
        lines.append(Line(f"    Request: {len(sent)} characters; to see it: {_page(path)}"))
    elif sent:
        lines.append(Line(f"    Request, for a target in that state: {sent}", whole=True))
    return lines


def _relevant(result: Result, report: Report) -> tuple[str, ...]:
    """Return the places of the first guilty message, which shows the failure, and of its request.

    Of the last two messages without one.
    """
    for culprit in guilty(result, report.messages):
        return tuple(dict.fromkeys(filter(None, (culprit.request, culprit.place))))
    return result.messages[-MESSAGES:]


def _evidence(result: Result, path: Path) -> list[Line]:
    """Return at most eight lines of a result's reason and evidence; the last counts the rest.

    Before evidence, the reason has at most two lines, and none if the evidence repeats it.
    """
    evidence = "\n".join(result.told)
    if not evidence:
        lines = result.reason.split("\n")
    else:
        reason = [] if result.reason in evidence else result.reason.split("\n")[:REASON]
        lines = [*reason, *evidence.split("\n")]
    rest = len(lines) - EVIDENCE + 1
    shown = [Line(f"    {line}") for line in lines[:EVIDENCE]]
    if rest > 1:
        shown[-1] = Line(f"    ... {rest} more lines; to see them: {_page(path)}")
    return shown


def _page(path: Path) -> str:
    return f"mcp-proxy-conformance report {path} --format html"


def _message(place: str, message: ReportedMessage) -> list[Line]:
    arrow = "->" if message.direction == "sent" else "<-"
    head = f"    {arrow} {message.edge} {message.peer} {message.note} ({place})"
    return [Line(head), Line(f"       {short(message.body, BODY)}")]


def names(results: list[Result]) -> str:
    """Return the first five distinct names of the results, joined; " and N more" counts others."""
    known = list(dict.fromkeys(result.name for result in results))
    rest = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    return ", ".join(known[:NAMED]) + rest
