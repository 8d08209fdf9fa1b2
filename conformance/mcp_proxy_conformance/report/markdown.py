"""The report as Markdown, for the summary page of a job or a comment."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.retelling import (
    OPEN,
    again,
    is_left_out,
    profile_of,
    sentence,
    target_of,
)
from mcp_proxy_conformance.report.terminal import VERDICTS
from mcp_proxy_conformance.verdict.deviations.waiving import Waiver
from mcp_proxy_conformance.verdict.redaction import disarmed, inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

MOST, LINES, CELL = 50, 12, 200
_TICKS = re.compile("`+")
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@-])")


def render(report: Report) -> str:
    """Headline, open clauses and open results; what a target said stands in code alone."""
    lines = [
        f"# {code(report.headline)}: {code(report.why)}",
        "",
        f"Profile {code(profile_of(report))}, target {code(target_of(report))}.",
        *([] if report.complete else ["", "Not the whole profile was judged."]),
        "",
        *_clauses(report.clauses),
    ]
    shown = [one for one in report.results if one.verdict in OPEN]
    for result in shown[:MOST]:
        lines += ["", *_result(result)]
    if len(shown) > MOST:
        lines += ["", f"{len(shown) - MOST} more are in the JSON report."]
    if known := report.waivers:
        lines += ["", "## Known deviations", "", *map(_deviation, known)]
    return "\n".join([*lines, ""])


def _clauses(clauses: Sequence[ClauseVerdict]) -> list[str]:
    counts = Counter(one.verdict for one in clauses if one.judgement == "F")
    told = ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
    lines = [f"Clauses: {told or 'none'}; advisory ones are not counted."]
    unseen = sum(map(is_left_out, clauses))
    if unseen:
        lines += ["", f"{unseen} clauses were left out, and are not in the table."]
    rest = [one for one in clauses if one.verdict != "pass" and not is_left_out(one)]
    if rest:
        lines += ["", "| verdict | clause | reason |", "|---|---|---|"]
    return lines + [_row(one) for one in rest]


def _row(one: ClauseVerdict) -> str:
    advisory = " (advisory)" if one.judgement == "A" else ""
    reason = next(iter(inert(one.reason).splitlines()), "")
    told = reason if len(reason) <= CELL else f"{reason[:CELL]}..."
    return f"| {one.verdict}{advisory} | {cell(one.id)} | {cell(told)} |"


def _result(result: Result) -> list[str]:
    advisory = ", advisory" if result.judgement == "A" else ""
    lines = [f"## {result.verdict}{advisory}: {code(result.name)}", ""]
    for clause_id in result.clauses:
        told = sentence(clause_id)
        lines.append(f"- {code(clause_id)} ({plain(told.source)}): {plain(told.text)}")
    reason = inert(result.reason).splitlines()[:LINES]
    return [
        *lines,
        "",
        *_block([*reason, *result.evidence]),
        "",
        f"Reproduce with: {code(again(result))}",
    ]


def _deviation(known: Waiver) -> str:
    """A deviation in one line of a list; its issue is no link, as nothing here is."""
    state = f"{code(known.state)} " if known.state else ""
    return (
        f"- {code(known.id)} {state}at {code(known.place)}, until {code(known.expires)}:"
        f" {code(known.reason)}, {code(known.issue)}"
    )


def plain(text: str) -> str:
    """Words of ours, so that no character of theirs is taken for markup."""
    return _MARKS.sub(r"\\\1", text)


def code(text: str) -> str:
    """Code on one line: nothing in it is markup, a link, a mention or HTML."""
    line = disarmed(inert(text)).replace("\n", "\\n").replace("\t", "\\t")
    if not line.strip():
        return ""
    ticks = "`" * (_longest(line) + 1)
    return f"{ticks} {line} {ticks}" if len(ticks) > 1 else f"`{line}`"


def cell(text: str) -> str:
    """Code in a table, where a bar would end the cell even in code."""
    return code(text.replace("|", "\\x7c"))


def _block(lines: list[str]) -> list[str]:
    """Code on lines of its own, in a fence that is longer than any in it."""
    text = disarmed(inert("\n".join(lines)))
    fence = "`" * max(3, _longest(text) + 1)
    return [f"{fence}text", text, fence]


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
