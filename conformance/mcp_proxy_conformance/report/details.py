"""What --verbose adds for a terminal: checks with their time, worlds, clauses, advisories."""

from __future__ import annotations

from mcp_proxy_conformance.report.colour import Line, indented
from mcp_proxy_conformance.report.document import Report, Stage
from mcp_proxy_conformance.report.retelling import is_after_the_end, is_left_out, sentence
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

LOUD = ("fail", "error")
WIDTH = len("not_applicable")


def worlds(report: Report) -> list[Line]:
    """Each world that was set up: how long that took, and what arming proved of its locks."""
    seconds = report.timing.get("stages", {})
    return _under("Worlds", [_world(one, seconds.get(one.place)) for one in report.stages])


def checks(report: Report) -> list[Line]:
    """Each check with its time and the number of messages that it rests on."""
    timing = report.timing.get("results", {})
    lines = []
    for one in report.results:
        spent = timing.get(one.name, {}).get("seconds", 0.0)
        rests = f"{spent:6.2f} s  {one.name} on {one.stage}, {_number(one)}"
        lines.append(Line(f"{_mark(one)}  {rests}", one.verdict))
    kept = f"{len(report.messages)} messages are in the report"
    took = report.timing.get("seconds")
    total = [Line(kept if took is None else f"{kept}; the run took {took:.1f} s")]
    return _under("Checks", [*lines, *total])


def clauses(report: Report) -> list[Line]:
    """Each clause that was judged, with its verdict and the reason for it."""
    seen = [one for one in report.clauses if not (is_left_out(one) or is_after_the_end(one))]
    return _under("Clauses", [_clause(one) for one in seen])


def advisories(report: Report) -> list[Line]:
    """What advisory checks found, which counts for nothing."""
    lines: list[Line] = []
    for one in report.results:
        if one.judgement == "A" and one.verdict in ("fail", "inconclusive"):
            lines.append(Line(f"{one.verdict}, advisory: {one.name} on {one.stage}"))
            for clause_id in one.clauses:
                told = sentence(clause_id)
                lines.append(Line(f"    {clause_id} ({told.source}): {told.text}", whole=True))
            lines += indented("\n".join([one.reason, *one.evidence]), 4, 6)
    return _under("Advisory", lines)


def _under(title: str, lines: list[Line]) -> list[Line]:
    return [Line(f"{title}:"), *lines, Line()] if lines else []


def _world(stage: Stage, seconds: float | None) -> Line:
    armed = stage.armed
    told = [f"{len(armed.called)} tools called", f"{len(armed.refused)} refused"]
    for word, reasons in (("skipped", armed.skipped), ("unproven", armed.unproven)):
        if reasons:
            told.append(f"{len(reasons)} {word} ({', '.join(dict.fromkeys(reasons.values()))})")
    spent = "" if seconds is None else f"{seconds:.2f} s, "
    of = "" if stage.stage in ("", stage.place) else f" (stage {stage.stage})"
    return Line(f"  {stage.place}{of}: {spent}{', '.join(told)}")


def _number(result: Result) -> str:
    count = len(result.messages)
    return f"{count} message" if count == 1 else f"{count} messages"


def _clause(one: ClauseVerdict) -> Line:
    advisory = " (advisory)" if one.judgement == "A" else ""
    line = f"{_mark(one)}  {one.id}{advisory}"
    reason = "" if one.verdict == "pass" else one.reason.split("\n")[0][:120]
    return Line(f"{line}  {reason}" if reason else line, one.verdict)


def _mark(one: ClauseVerdict | Result) -> str:
    loud = one.verdict in LOUD and one.judgement == "F"
    return f"{one.verdict.upper() if loud else one.verdict:{WIDTH}}"
