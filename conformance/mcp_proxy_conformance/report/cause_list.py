"""List of a report's causes in a terminal: each with its evidence, and what follows from it."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from math import inf

from mcp_proxy_conformance.report.colour import Line
from mcp_proxy_conformance.report.difference import differences
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import again, consequences
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.result import Result

COLUMNS, SCREEN = 80, 60
"""Characters of a line where there is no terminal, and lines of a failing run."""
WORDS = {"fail": "FAIL", "error": "ERROR", "inconclusive": "inconclusive"}
EVIDENT = ("alone", "same_clause")
"""Rules that need no explanation beside the clause."""
MOST_OF_TEXT = 3
"""Lines of one sentence or value."""


def height(lines: Sequence[Line], columns: int) -> int:
    """Return how many lines these are on a screen of that width."""
    width = columns or COLUMNS
    return sum(max(1, -(-len(line.text) // width)) for line in lines)


def cause_list(report: Report, *, columns: int, room: int | None) -> list[Line]:
    """Return the causes that count in at most `room` lines: the gravest whole, others in a line.

    Those that do not fit are counted. None: all of them whole, however many lines that takes.
    """
    known = [cause for cause in report.causes if not cause.waived]
    width = columns or COLUMNS
    if not known:
        return []
    results = {result.name: result for result in report.results}
    command = Line(f"Run one check again: {again('test_NAME', report)}", whole=True)
    more = "" if room is None else "; --verbose lists every failure"
    lines = [*_wrapped(f"{_head(known)}{more}", width, ""), Line()]
    for number, cause in enumerate(known, 1):
        rest = len(known) - number
        whole = [*_whole(number, cause, results, width), Line()]
        brief = _brief(number, cause, width)
        left = inf if room is None else room - height([*lines, Line(), command, Line()], width)
        if height(whole, width) + rest <= left:
            lines += whole
        elif height(brief, width) + min(rest, 1) <= left:
            lines += brief
        else:
            lines.append(Line(f"... and {rest + 1} more causes, which --verbose lists"))
            break
    return [*lines, *([Line()] if lines[-1].text else []), command, Line()]


def _head(known: Sequence[RootCause]) -> str:
    """Return how many causes there are, and of how much."""
    broken = {clause for cause in known for clause in cause.breaks}
    still = {clause for cause in known for clause in cause.leaves_open} - broken
    pairs = ((len(broken), "broken"), (len(still), "open"))
    counts = " and ".join(f"{number} {word}" for number, word in pairs if number)
    clauses = "clause" if len(broken) + len(still) == 1 else "clauses"
    noun = "cause" if len(known) == 1 else "causes"
    return f"{len(known)} {noun}{f' of {counts} {clauses}' if counts else ''}"


def _whole(number: int, cause: RootCause, results: dict[str, Result], width: int) -> list[Line]:
    """Return the sentence of a cause, an observation, why it is one cause, and what follows."""
    names = cause.results or cause.open_results
    first = results.get(names[0]) if names else None
    texts = [
        f"{cause.clause}: {_evidence(first, cause.clause)}" if cause.results and first else "",
        "" if cause.rule in EVIDENT else f"Why one cause: {cause.why}",
        consequences(cause),
        f"{'Mend' if cause.results else 'To settle it'}: {cause.mend}" if cause.mend else "",
    ]
    lines = _wrapped(f"{WORDS[cause.verdict]}  {number}. {_line(cause)}", width, "  ")
    lines = [Line(lines[0].text, cause.verdict), *lines[1:]]
    lines += [line for text in texts if text for line in _wrapped(f"  {text}", width, "    ")]
    if first is not None:
        lines += _wrapped(f"  See --check {shlex.quote(first.name)}", width, "    ")
    return lines


def _brief(number: int, cause: RootCause, width: int) -> list[Line]:
    """Return a cause in one line."""
    head = f"{WORDS[cause.verdict]}  {number}. "
    text = f"{_line(cause)} ({cause.clause})" if cause.clause else _line(cause)
    rest = textwrap.shorten(text, max(20, width - len(head)), placeholder=" ...")
    return [Line(f"{head}{rest}", cause.verdict)]


def _line(cause: RootCause) -> str:
    """Return the first line of a cause's sentence."""
    return next(iter(cause.sentence.splitlines()), cause.id)


def _evidence(result: Result, clause: str) -> str:
    """Return the first observation of a result that breaks the clause, and what is allowed."""
    own = [finding for finding in result.findings if clause in finding.clauses]
    places = (str(difference) for difference in differences(own[:1]))
    return next((place for place in places if place), "") or _line_of(result)


def _line_of(result: Result) -> str:
    return next(iter(result.reason.splitlines()), result.name)


def _wrapped(text: str, width: int, indent: str) -> list[Line]:
    """Return a text in lines of that width, at most MOST_OF_TEXT; the last tells if it is cut."""
    lines = textwrap.wrap(
        text, width, subsequent_indent=indent, break_on_hyphens=False,
        max_lines=MOST_OF_TEXT, placeholder=" ...",
    )  # fmt: skip
    return [Line(line) for line in lines]
