"""Report as Markdown, for a job's summary or a comment; escapes for such pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mcp_proxy_conformance.report import drawing
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import (
    OPEN,
    again,
    consequences,
    covered,
    is_left_out,
    sentence,
    taken,
    target_of,
)
from mcp_proxy_conformance.report.picture import picture
from mcp_proxy_conformance.report.terminal import VERDICTS
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.redaction import disarmed, inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

MOST, LINES, CELL = 50, 12, 200
_TICKS = re.compile("`+")
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&$@-])")


def render(report: Report) -> str:
    """Return Markdown: headline, profile, causes, picture, clauses, open results, deviations.

    The target's words are shown as code. Results beyond fifty are only counted.
    """
    on_word = taken(report)
    seen = report.coverage
    lines = [
        f"# {code(report.headline)}: {code(report.why)}",
        "",
        f"Profile {code(report.profile.name)}, target {code(target_of(report))}.",
        *(["", f"Taken on the word of its target file: {code(on_word)}."] if on_word else []),
        *(["", code(covered(seen))] if seen else []),
        *([] if report.complete else ["", "Only a part of the profile was judged."]),
        "",
        *_causes(report.causes),
        *([*drawing.markdown(shown), ""] if (shown := picture(report)) else []),
        *_clauses(report.clauses),
    ]
    open_ = [result for result in report.results if result.verdict in OPEN]
    for result in open_[:MOST]:
        lines += ["", *_result(result, report)]
    if len(open_) > MOST:
        lines += ["", f"{len(open_) - MOST} more are in the JSON report."]
    if known := report.waivers:
        lines += ["", "## Known deviations", "", *map(_deviation, known)]
    return "\n".join([*lines, ""])


def _causes(causes: Sequence[RootCause]) -> list[str]:
    """Return a numbered list of the causes that are not waived, at most fifty, the rest counted.

    [] if no cause has more than one result.
    """
    if not any(len(cause.results) + len(cause.open_results) > 1 for cause in causes):
        return []
    known = [cause for cause in causes if not cause.waived]
    lines = [f"## Causes: {len(known)}", ""]
    lines += [f"{number}. {_cause(cause)}" for number, cause in enumerate(known[:MOST], 1)]
    if len(known) > MOST:
        lines += ["", f"{len(known) - MOST} more are in the JSON report."]
    return [*lines, ""]


def _cause(cause: RootCause) -> str:
    """Return a cause as one line: verdict, sentence, clause, reason, consequences, what to mend.

    The sentence is its first line, cut to 200 characters.
    """
    sentence = next(iter(cause.sentence.splitlines()), cause.id)
    shown = sentence if len(sentence) <= CELL else f"{sentence[:CELL]}..."
    parts = [f"**{cause.verdict}** {code(shown)} {code(cause.clause)}", plain(cause.why),
             plain(consequences(cause))]  # fmt: skip
    return " ".join([*parts[:2], *([f"{parts[2]}."] if parts[2] else []),
                     *([f"Mend first: {plain(cause.mend)}"] if cause.mend else [])])  # fmt: skip


def _clauses(clauses: Sequence[ClauseVerdict]) -> list[str]:
    """Return the numbers of required clauses by verdict, and a table of all that did not pass.

    Clauses left out are only counted.
    """
    counts = Counter(clause.verdict for clause in clauses if clause.level == "required")
    summary = ", ".join(f"{counts[word]} {word}" for word in VERDICTS if counts[word])
    lines = [f"Clauses: {summary or 'none'}; advisory ones are not counted."]
    unseen = sum(map(is_left_out, clauses))
    if unseen:
        lines += ["", f"{unseen} clauses were left out, and are not in the table."]
    rest = [clause for clause in clauses if clause.verdict != "pass" and not is_left_out(clause)]
    if rest:
        lines += ["", "| verdict | clause | reason |", "|---|---|---|"]
    return lines + [_row(clause) for clause in rest]


def _row(clause: ClauseVerdict) -> str:
    """Return a clause's table row: verdict, id, and its reason's first line, cut to 200."""
    advisory = " (advisory)" if clause.level == "advisory" else ""
    reason = next(iter(inert(clause.reason).splitlines()), "")
    shown = reason if len(reason) <= CELL else f"{reason[:CELL]}..."
    return f"| {clause.verdict}{advisory} | {cell(clause.id)} | {cell(shown)} |"


def _result(result: Result, report: Report) -> list[str]:
    """Return lines on a result: heading, clauses, reason (12 lines), evidence, command."""
    advisory = ", advisory" if result.level == "advisory" else ""
    lines = [f"## {result.verdict}{advisory}: {code(result.name)}", ""]
    for clause_id in result.clauses:
        wording = sentence(clause_id)
        lines.append(f"- {code(clause_id)} ({plain(wording.source)}): {plain(wording.text)}")
    reason = inert(result.reason).splitlines()[:LINES]
    return [
        *lines,
        "",
        *_block([*reason, *result.told]),
        "",
        f"Reproduce with: {code(again(result.name, report))}",
    ]


def _deviation(known: Waiver) -> str:
    """Return a deviation as one list item, all as code.

    It has the id, the state after the run, FILE:LINE, the last date, the reason and the issue.
    """
    state = f"{code(known.state)} " if known.state else ""
    return (
        f"- {code(known.id)} {state}at {code(known.place)}, until {code(known.expires)}:"
        f" {code(known.reason)}, {code(known.issue)}"
    )


def plain(text: str) -> str:
    """Return the suite's own words escaped, so that none of their characters is markup."""
    return _MARKS.sub(r"\\\1", text)


def code(text: str) -> str:
    """Return a text as inline code on one line, escaped, in enough backticks; "" if blank."""
    line = disarmed(inert(text)).replace("\n", "\\n").replace("\t", "\\t")
    if not line.strip():
        return ""
    ticks = "`" * (_longest(line) + 1)
    return f"{ticks} {line} {ticks}" if len(ticks) > 1 else f"`{line}`"


def cell(text: str) -> str:
    """Return a text as inline code for a table cell, with its bars escaped."""
    return code(text.replace("|", "\\x7c"))


def _block(lines: list[str]) -> list[str]:
    """Return lines, escaped, as a code block in a fence longer than any run of backticks."""
    text = disarmed(inert("\n".join(lines)))
    fence = "`" * max(3, _longest(text) + 1)
    return [f"{fence}text", text, fence]


def _longest(text: str) -> int:
    """Return the length of the longest run of backticks in the text; 0 without one."""
    return max(map(len, _TICKS.findall(text)), default=0)
