"""Details on the terminal for --verbose: worlds, checks with times, clauses, advisories."""

from __future__ import annotations

from mcp_proxy_conformance.report.colour import Line, indented
from mcp_proxy_conformance.report.document import Report, Stage
from mcp_proxy_conformance.report.phrases import counted, is_after_the_end, is_left_out, sentence
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

LOUD = ("fail", "error")
WIDTH = len("not_applicable")


def worlds(report: Report) -> list[Line]:
    """Return, titled, a line for each world set up: its time, locks proven, skipped, unproven.

    [] without worlds.
    """
    seconds = report.timing.get("stages", {})
    return _under("Worlds", [_world(stage, seconds.get(stage.place)) for stage in report.stages])


def checks(report: Report) -> list[Line]:
    """Return, titled, a line for each check: verdict, time, stage, number of messages it rests on.

    A last line has the number of messages in the report and, if known, how long the run took.
    """
    timing = report.timing.get("results", {})
    lines = []
    for result in report.results:
        spent = timing.get(result.name, {}).get("seconds", 0.0)
        rests = f"{spent:6.2f} s  {result.name} on {result.stage}, {_messages_in_words(result)}"
        lines.append(Line(f"{_mark(result)}  {rests}", result.verdict))
    kept = f"{counted(len(report.messages), 'message is', 'messages are')} in the report"
    took = report.timing.get("seconds")
    total = [Line(kept if took is None else f"{kept}; the run took {took:.1f} s")]
    return _under("Checks", [*lines, *total])


def clauses(report: Report) -> list[Line]:
    """Return, titled, a line for each clause with its verdict and reason.

    Clauses left out of the run, or that it did not reach, have none.
    """
    judged = [
        clause for clause in report.clauses if not (is_left_out(clause) or is_after_the_end(clause))
    ]
    return _under("Clauses", [_clause(clause) for clause in judged])


def advisories(report: Report) -> list[Line]:
    """Return, titled, lines on the failing and inconclusive advisory results, which never count.

    Each has its clauses and at most six lines of reason and evidence. [] without any.
    """
    lines: list[Line] = []
    for result in report.results:
        if result.level == "advisory" and result.verdict in ("fail", "inconclusive"):
            lines.append(Line(f"{result.verdict}, advisory: {result.name} on {result.stage}"))
            for clause_id in result.clauses:
                wording = sentence(clause_id)
                lines.append(
                    Line(f"    {clause_id} ({wording.source}): {wording.text}", whole=True)
                )
            lines += indented("\n".join([result.reason, *result.told]), 4, 6)
    return _under("Advisory", lines)


def _under(title: str, lines: list[Line]) -> list[Line]:
    """Return the lines under a title, with a blank line after them; [] for none."""
    return [Line(f"{title}:"), *lines, Line()] if lines else []


def _world(stage: Stage, seconds: float | None) -> Line:
    """Return a line on a stage: its name, seconds if known, numbers of tools called and refused.

    Tools skipped or unproven are counted, with each distinct reason. A stage without tools to lock
    has no numbers.
    """
    armed = stage.armed
    counts = []
    if armed.called or armed.refused or armed.skipped or armed.unproven:
        counts = [f"{len(armed.called)} tools called", f"{len(armed.refused)} refused"]
    for word, reasons in (("skipped", armed.skipped), ("unproven", armed.unproven)):
        if reasons:
            counts.append(f"{len(reasons)} {word} ({', '.join(dict.fromkeys(reasons.values()))})")
    spent = [] if seconds is None else [f"{seconds:.2f} s"]
    of = "" if stage.stage in ("", stage.place) else f" (stage {stage.stage})"
    return Line(f"  {stage.place}{of}: {', '.join([*spent, *counts])}")


def _messages_in_words(result: Result) -> str:
    """Return the number of a result's messages with the noun: "1 message"."""
    count = len(result.messages)
    return f"{count} message" if count == 1 else f"{count} messages"


def _clause(clause: ClauseVerdict) -> Line:
    """Return a clause's line: verdict, id, "(advisory)" if so and, unless passed, its reason.

    Of the reason it has at most 120 characters of the first line.
    """
    advisory = " (advisory)" if clause.level == "advisory" else ""
    line = f"{_mark(clause)}  {clause.id}{advisory}"
    reason = "" if clause.verdict == "pass" else clause.reason.split("\n")[0][:120]
    return Line(f"{line}  {reason}" if reason else line, clause.verdict)


def _mark(judged: ClauseVerdict | Result) -> str:
    """Return the verdict: in capitals for a required failure or error, else padded to one width."""
    loud = judged.verdict in LOUD and judged.level == "required"
    return f"{judged.verdict.upper() if loud else judged.verdict:{WIDTH}}"
