"""Summary of a run for a terminal: what was judged, next commands, and the last line."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.report.colour import COLOURS, Line, Span, command, short
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import (
    command_of,
    covered,
    is_after_the_end,
    is_left_out,
    taken,
    target_of,
    word,
)
from mcp_proxy_conformance.report.pins import accepted_texts
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Verdict

VERDICTS: tuple[Verdict, ...] = (
    "pass",
    "fail",
    "inconclusive",
    "not_applicable",
    "error",
    "waived",
)
"""Verdicts in the order in which they are counted."""
NOT_RUN = "not run"
IDS, FEW = 10, 3
"""Clauses that a line names; reasons that are listed even of a run that fails."""
LAST, REASON = 500, 120
"""Characters of the last line, not counting the path of the report, and of a reason."""
LABEL = 12
"""Columns of the labels, at the left."""
MINUTE = 60
BY_EXIT = {0: "pass", 1: "fail", 4: "inconclusive"}
"""The verdict in whose colour an outcome is printed, by exit code; of others it is `error`."""


def summary(report: Report, path: Path, *, is_verbose: bool, columns: int = 0) -> list[Line]:
    """Return the labelled lines, then the commands to run next; `last` makes the line after.

    They are broken at `columns` unless that is 0. A run that does not end with 0 is shortened,
    unless `is_verbose`: at most three advisory failures are named, and clauses that do not apply
    are only counted if there are more than three reasons.
    """
    why = "see above" if is_verbose else "--verbose shows why"
    is_listed = is_verbose or report.exit == 0
    logs = path.with_name(LOGS)
    advisory = [clause.id for clause in _of(report, "advisory") if clause.verdict == "fail"]
    verb = "fails" if len(advisory) == 1 else "fail"
    counts, aside = _counts(report, "required"), _counts(report, "advisory")
    left = sum(map(is_left_out, report.clauses))
    rows = [
        ("judged", f"{target_of(report)}, by profile {report.profile.name}"),
        ("clauses", f"{counts or 'none judged'}{f'; left out: {left}' if left else ''}"),
        ("advisory", f"{aside}; they do not decide" if aside else ""),
        ("", f"{_some(advisory, IDS if is_listed else FEW)} {verb}; {why}" if advisory else ""),
        ("checks", _checks(report)),
        *(("accepted", f"{text}, as the target file pins it") for text in accepted_texts(report)),
        ("taken", f"on your word: {on_word}" if (on_word := taken(report)) else ""),
        *(("not judged", text) for text in _not_applicable(report, whole=is_verbose)),
        *([("logs", f"{logs}")] if logs.is_dir() else []),
    ]
    lines = [line for label, text in rows if text for line in _labelled(label, text, columns)]
    return [*_unrepeated(lines), *_next(report, path, columns)]


def _labelled(label: str, text: str, columns: int) -> list[Line]:
    """Return the text beside its label, broken at `columns`, unless that is 0.

    The text's part is at least 20 wide. Verdicts are coloured beside labels of counts.
    """
    broken = _broken(text, columns and max(20, columns - LABEL))
    heads = [label, *[""] * len(broken)]
    lines = [f"{head:{LABEL}}{part}" for head, part in zip(heads, broken, strict=False)]
    return [Line(line, spans=_verdicts(line) if label in COUNTED else ()) for line in lines]


COUNTED = ("clauses", "advisory", "checks")
"""Labels of lines that hold numbers of verdicts, and no words of a target."""


def _verdicts(text: str) -> tuple[Span, ...]:
    """Return the spans of numbers with a verdict in a text, like `3 fail`."""
    words = "|".join(COLOURS)
    matches = re.finditer(rf"\b\d+ ({words})\b", text)
    return tuple(Span(match.start(), match.end(), match[1]) for match in matches)


def _unrepeated(lines: list[Line]) -> Iterator[Line]:
    """Yield the lines; a label equal to that of the last labelled line is left out."""
    before = ""
    for line in lines:
        label = line.text[:LABEL]
        is_same = bool(label.strip()) and label == before
        yield Line(f"{'':{LABEL}}{line.text[LABEL:]}", spans=line.spans) if is_same else line
        before = label if label.strip() else before


def _checks(report: Report) -> str:
    """Return how many results there are, the run's time, and their numbers by verdict.

    Advisory ones are counted apart.
    """
    seconds = report.timing.get("seconds")
    spent = "" if seconds is None else f" in {_duration(seconds)}"
    by_level = {level: Counter[str]() for level in ("required", "advisory")}
    for result in report.results:
        by_level[result.level][result.verdict] += 1
    counts = _in_words(by_level["required"])
    aside = _in_words(by_level["advisory"])
    parts = [counts, f"advisory: {aside}" if aside else ""]
    return f"{len(report.results)}{spent}: {'; '.join(filter(None, parts))}"


def _duration(seconds: float) -> str:
    """Return minutes and seconds or, below a minute, seconds with one decimal."""
    minutes, rest = divmod(round(seconds), MINUTE)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"


def _counts(report: Report, level: str) -> str:
    """Return the numbers of the level's clauses by verdict, in words, without those left out."""
    return _in_words(
        Counter(
            (NOT_RUN if is_after_the_end(clause) else clause.verdict)
            for clause in _of(report, level)
            if not is_left_out(clause)
        )
    )


def _in_words(counts: Counter[str]) -> str:
    """Return counts like "3 pass, 1 not run", in the usual order, without zeros."""
    words = (*VERDICTS, NOT_RUN)
    return ", ".join(f"{counts[each]} {each.replace('_', ' ')}" for each in words if counts[each])


def _not_applicable(report: Report, *, whole: bool) -> list[str]:
    """Return "CLAUSES: reason" for each reason why required clauses do not apply.

    Clauses left out of the run are not among them. In a run that does not end with 0, more than
    three reasons are one line of counts, unless `whole`.
    """
    reasons: dict[str, list[str]] = {}
    for clause in _of(report, "required"):
        if clause.verdict == "not_applicable" and not is_left_out(clause):
            reasons.setdefault(short(clause.reason.split("\n")[0], REASON), []).append(clause.id)
    if report.exit and len(reasons) > FEW and not whole:
        number = sum(map(len, reasons.values()))
        return [f"{number} clauses do not apply, for {len(reasons)} reasons; --verbose lists them"]
    return [f"{_some(ids)}: {reason}" for reason, ids in reasons.items()]


def _next(report: Report, path: Path, columns: int) -> Iterator[Line]:
    """Yield lines of the commands to run next, each after a comment on what it is for.

    The last renders the page; the one before, if any, depends on the outcome: the whole run,
    `init` or `gate`. They are broken at `columns`, unless that is 0.
    """
    commands = []
    whole = _without_case(" ".join(filter(None, command_of(report))))
    if report.headline == "partial" and whole:
        commands.append((command("  ", whole, columns), "all of the profile"))
    elif report.exit == 0 and report.target.kind == "reference":
        commands.append(([Line("  mcp-proxy-conformance init")], "begin with a proxy of yours"))
    elif report.exit == 0:
        commands.append(([Line("  mcp-proxy-conformance gate --help")], "the same in a CI"))
    page = word(str(path.with_suffix(".html")))
    render = (
        f"  mcp-proxy-conformance report {word(str(path))} \\",
        f"    --format html --out {page}",
    )
    commands.append(([Line(part, whole=True) for part in render], "as a page, with all evidence"))
    for number, (lines, purpose) in enumerate(commands):
        yield Line(f"{'' if number else 'next':{LABEL}}# {purpose}", whole=True)
        yield from lines


def _without_case(command: str) -> str:
    """Return the command line without --case and its value; unchanged without --case."""
    words = shlex.split(command)
    if "--case" not in words:
        return command
    at = words.index("--case")
    return shlex.join(words[:at] + words[at + 2 :])


def last(report: Report, path: Path, code: int | None = None, columns: int = 0) -> list[Line]:
    """Return the last line: outcome, exit code, the report's path; broken at `columns` unless 0.

    The reason is the report's, but broken or unsettled required clauses are counted and only ten
    named; it is cut at 500 characters. `code` is the program's exit code if it is not the report's
    own.
    """
    firm = _of(report, "required")
    broken = [clause.id for clause in firm if clause.verdict == "fail"]
    reason = " ".join(report.why.split())
    if broken:
        verb = "fails" if len(broken) == 1 else "fail"
        unseen = sum(is_left_out(clause) or is_after_the_end(clause) for clause in firm)
        number = f"{len(broken)} of {len(firm) - unseen} clauses {verb} ({_some(broken)})"
        number += f"; {unseen} others were not run" if unseen else ""
        if report.headline == "violated":
            cut = f"; the run was cut short: {report.cut_short}" if report.cut_short else ""
            reason = f"{number}{cut}"
        reason = reason.replace(f"broken: {', '.join(broken)}", number)
    open_ = [clause.id for clause in firm if clause.verdict in ("inconclusive", "error")]
    if reason == f"not settled: {', '.join(open_)}":
        reason = f"{len(open_)} of {len(firm)} clauses inconclusive ({_some(open_)})"
    reason = short(f"{report.headline}: {reason}", LAST)
    text = f"{reason}; {ending(report, code)}; report: {path}"
    parts = _broken(text, columns)
    verdict = BY_EXIT.get(report.exit if code is None else code, "error")
    head = (Span(0, len(report.headline), verdict),)
    return [Line(parts[0], whole=True, spans=head), *(Line(part, whole=True) for part in parts[1:])]


def coverage(report: Report, *, is_verbose: bool, columns: int = 0) -> list[Line]:
    """Return the line on coverage; [] without a space, or if all was looked at, unless verbose."""
    seen = report.coverage
    is_shown = seen is not None and (is_verbose or seen.missed)
    return [Line(part) for part in _broken(covered(seen), columns)] if seen and is_shown else []


def _broken(text: str, columns: int) -> list[str]:
    """Return the text in lines of `columns` at most, but whole words; in one if that is 0."""
    if not columns:
        return [text]
    return textwrap.wrap(text, columns, break_long_words=False, break_on_hyphens=False)


def ending(report: Report, code: int | None) -> str:
    """Return "exit CODE" with the report's exit code; if `code` is another, both and the reason."""
    own = report.exit
    if code in (None, own):
        return f"exit {own}"
    return f"exit {code} because of --fail-on violated, otherwise {own}"


def _of(report: Report, level: str) -> list[ClauseVerdict]:
    """Return the report's clauses of that level, `required` or `advisory`."""
    return [clause for clause in report.clauses if clause.level == level]


def _some(ids: list[str], most: int = IDS) -> str:
    """Return the first ids, ten or `most`, joined, and the number of others."""
    rest = f", and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + rest
