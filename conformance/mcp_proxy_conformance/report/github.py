"""The report as workflow commands: the annotations that a job on GitHub shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.retelling import again, line_of, sentence
from mcp_proxy_conformance.verdict.deviations.waiving import Waiver
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, INCOMPLETE, STALE, VIOLATED
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import Result

MOST, LONGEST = 10, 1500
"""Annotations of a job that are shown, and characters of one."""
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(report: Report, folder: str = "") -> str:
    """A line for each clause that convicts and each stale deviation; and one for another end.

    Args:
        report: The document of a run.
        folder: Where the run's working folder lies in the repository, for the names of files.
    """
    lines = [*_failures(report, folder), *_stale(report.waivers, folder)]
    if not lines or report.exit not in (CONFORMANT, VIOLATED, STALE):
        lines = [_run(report), *lines]
    if len(lines) > MOST:
        more = f"{len(lines) - MOST + 1} more are in the report."
        lines = [*lines[: MOST - 1], annotation("error", more, title=report.headline)]
    return "\n".join([*lines, ""])


def annotation(level: str, text: str, **properties: Any) -> str:
    """One workflow command; nothing in its texts ends it or begins another."""
    told = [f"{key}={_escaped(str(value), _PROPERTY)}" for key, value in properties.items()]
    return f"::{level} {','.join(told)}::{_escaped(text, _DATA)}"


def _failures(report: Report, folder: str) -> list[str]:
    """The clauses that are broken, each with the first result that says so.

    They stand where the target file says what is judged, if there is one.
    """
    target = report.target
    file, lines = target.file, target.lines
    failed = [one for one in report.results if one.verdict == "fail"]
    broken = [one.id for one in report.clauses if (one.judgement, one.verdict) == ("F", "fail")]
    return [
        annotation(
            "error",
            _told(one, clause),
            **({"file": _file(folder, file), "line": line_of(one, lines)} if file else {}),
            title=clause,
        )
        for clause in broken
        for one in [one for one in failed if clause in one.clauses][:1]
    ]


def _told(result: Result, clause: str) -> str:
    asked = sentence(clause)
    reason = next(iter(result.reason.splitlines()), "")
    lines = [f"{asked.text} ({asked.source})", f"{result.name}: {reason}", *result.evidence]
    return "\n".join([_cut("\n".join(lines)), f"Reproduce with: {again(result)}"])


def _stale(known: Sequence[Waiver], folder: str) -> list[str]:
    """The deviations that cover nothing any more, at their lines."""
    return [
        annotation(
            "error",
            f"{one.id} passes now; take the deviation out",
            file=_file(folder, one.file),
            line=one.line,
            title="stale deviation",
        )
        for one in known
        if one.state == "stale"
    ]


def _file(folder: str, file: str) -> str:
    return str(PurePosixPath(folder) / file)


def _run(report: Report) -> str:
    """How a run ended that no clause and no deviation tells of."""
    levels = {CONFORMANT: "notice", INCOMPLETE: "warning"}
    level = levels.get(report.exit, "error")
    return annotation(level, _cut(report.why), title=report.headline)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _escaped(text: str, escapes: dict[int, str]) -> str:
    return inert(text).translate(escapes)
