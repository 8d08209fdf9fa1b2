"""List of a report's causes for a terminal: each with its evidence and its consequences."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence

from mcp_proxy_conformance.report.colour import Line, command
from mcp_proxy_conformance.report.difference import differences
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import again, consequences, counted, verdicts
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.result import Result

COLUMNS, SCREEN = 80, 60
"""Characters of a line where there is no terminal, and lines of a failing run."""
WORDS = {"fail": "FAIL", "error": "ERROR", "inconclusive": "inconclusive"}
EVIDENT = ("alone", "same_clause")
"""Rules that need no explanation beside the clause."""
MOST_OF_TEXT = 3
"""Lines of one sentence or value."""


Forms = tuple[list[Line], list[Line], list[Line]]
"""The lines of one cause, from brief to whole."""


def height(lines: Sequence[Line], columns: int) -> int:
    """Return how many rows of a screen, `columns` wide (0 means 80), these lines take.

    Each takes at least one.
    """
    width = columns or COLUMNS
    return sum(max(1, -(-len(line.text) // width)) for line in lines)


def cause_list(report: Report, *, columns: int, room: int | None) -> list[Line]:
    """Return lines on the causes that are not waived, each as full as `room` rows of screen allow.

    A head counts them, and a command to run a check again follows. With `room` None all are
    whole; [] without such causes. `columns` is the screen's width, 0 for unknown.
    """
    known = [cause for cause in report.causes if not cause.waived]
    width = columns or COLUMNS
    if not known:
        return []
    results = {result.name: result for result in report.results}
    more = "" if room is None else "; --verbose lists every failure"
    head = [*_wrapped(f"{_head(known)}{more}", width, ""), Line()]
    end = [Line(), *command("Run one check again: ", again("test_NAME", report), width), Line()]
    forms = [_forms(number, cause, results, width) for number, cause in enumerate(known, 1)]
    if room is None:
        lines = [line for form in forms for line in form[-1]]
    else:
        left = room - height([*head, *end], width)
        lines = _fitted(forms, [cause.verdict == "fail" for cause in known], left, width)
    return [*head, *lines, *(end if lines[-1].text else end[1:])]


def _fitted(
    forms: Sequence[Forms], failed: Sequence[bool], left: int, width: int
) -> list[Line]:  # fmt: skip
    """Return the causes' lines, each cause in one of its forms, in at most `left` rows of screen.

    `failed` says which causes are failures: these are made fuller first, all to the second form
    before any to the third. Causes for which there is no line are counted in the last one.
    """
    heights = [[height(form, width) for form in each] for each in forms]
    shown = len(forms) if len(forms) <= left else max(0, left - 1)
    chosen = [0] * shown
    left -= shown
    for is_failed, level in ((True, 1), (True, 2), (False, 1), (False, 2)):
        for number, own in enumerate(heights[:shown]):
            more = own[level] - own[chosen[number]]
            if failed[number] == is_failed and more <= left:
                chosen[number] = level
                left -= more
    lines = [line for each, level in zip(forms, chosen, strict=False) for line in each[level]]
    rest = len(forms) - shown
    return [*lines, *([Line(f"... and {rest} more causes, which --verbose lists")] if rest else [])]


def _head(known: Sequence[RootCause]) -> str:
    """Return in words the number of causes, and of clauses that fail or are inconclusive by them.

    A clause that both fails and is inconclusive counts as failing.
    """
    failing = {clause for cause in known for clause in cause.breaks}
    still = {clause for cause in known for clause in cause.leaves_open} - failing
    causes = counted(len(known), "cause", "causes")
    return ": ".join(filter(None, (causes, verdicts("clause", len(failing), len(still)))))


def _forms(number: int, cause: RootCause, results: dict[str, Result], width: int) -> Forms:
    """Return a cause's three forms: one line; with how to see and mend it; with all that is known.

    `number` is shown before it; `results` are by name; `width` is in characters.
    """
    head = f"{WORDS[cause.verdict]}  {number}. "
    names = cause.results or cause.open_results
    first = results.get(names[0]) if names else None
    sentence = _wrapped(f"{head}{_first_line(cause.sentence, cause.id)}", width, "  ")
    sentence = [Line(sentence[0].text, cause.verdict), *sentence[1:]]
    observed = _evidence(first, cause.clause) if cause.results and first else ""
    mend = f"{'Mend' if cause.results else 'To settle it'}: {cause.mend}" if cause.mend else ""
    why = "" if cause.rule in EVIDENT else f"Why one cause: {cause.why}"
    check = command("  See --check ", shlex.quote(first.name), width) if first else []
    return (
        _brief(head, cause, width),
        [*sentence, *_indented((observed, mend), width), *check, Line()],
        [*sentence, *_indented((observed, consequences(cause), why, mend), width), *check, Line()],
    )


def _indented(texts: Sequence[str], width: int) -> list[Line]:
    """Return the texts that are not empty as lines, up to three each, indented by two."""
    return [line for text in texts if text for line in _wrapped(f"  {text}", width, "    ")]


def _brief(head: str, cause: RootCause, width: int) -> list[Line]:
    """Return a cause in one line, cut to the width: head, first line of its sentence, clause.

    The clause is left out if it does not fit.
    """
    sentence = _first_line(cause.sentence, cause.id)
    room = max(20, width - len(head))
    text = f"{sentence} ({cause.clause})" if cause.clause else sentence
    rest = textwrap.shorten(text if len(text) <= room else sentence, room, placeholder=" ...")
    return [Line(f"{head}{rest}", cause.verdict)]


def _first_line(text: str, otherwise: str) -> str:
    """Return the first line of a text; `otherwise` if the text is empty."""
    return next(iter(text.splitlines()), otherwise)


def _evidence(result: Result, clause: str) -> str:
    """Return the first difference of a result that breaks the clause; without one, its reason.

    Of the reason it is the first line; if that is empty, the result's name.
    """
    own = [finding for finding in result.findings if clause in finding.clauses]
    places = (str(difference) for difference in differences(own[:1]))
    return next((place for place in places if place), "") or _first_line(result.reason, result.name)


def _wrapped(text: str, width: int, indent: str) -> list[Line]:
    """Return a text in at most three lines of that width, all but the first indented.

    A text that is cut ends with " ...".
    """
    lines = textwrap.wrap(
        text, width, subsequent_indent=indent, break_on_hyphens=False,
        max_lines=MOST_OF_TEXT, placeholder=" ...",
    )  # fmt: skip
    return [Line(line) for line in lines]
