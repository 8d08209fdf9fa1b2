"""A report's causes and stale deviations, else the run's end, as at most ten GitHub annotations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import again, consequences, line_of, sentence
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, INCOMPLETE, STALE, VIOLATED
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import Result

MOST, LONGEST = 10, 1500
"""Annotations that a job shows, and characters of one."""
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})


def render(report: Report, folder: str = "") -> str:
    """Return workflow commands for GitHub: at most ten annotations, the last counts the rest.

    They are on causes and stale deviations, and first on the run's end if there are none, or if its
    exit code is not 0, 1 or 5. `folder`: the run's working folder within the repository.
    """
    lines = [*_failures(report, folder), *_stale(report.waivers, folder)]
    if not lines or report.exit not in (CONFORMANT, VIOLATED, STALE):
        lines = [_run(report), *lines]
    if len(lines) > MOST:
        more = f"{len(lines) - MOST + 1} more are in the report."
        lines = [*lines[: MOST - 1], annotation("error", more, title=report.headline)]
    return "\n".join([*lines, ""])


def annotation(level: str, text: str, **properties: Any) -> str:
    """Return one workflow command, `::LEVEL KEY=VALUE::TEXT`, escaped so that nothing ends it.

    `level` is `error`, `warning` or `notice`.
    """
    members = [f"{key}={_escaped(str(value), _PROPERTY)}" for key, value in properties.items()]
    return f"::{level} {','.join(members)}::{_escaped(text, _DATA)}"


def _failures(report: Report, folder: str) -> list[str]:
    """Return an annotation for each cause, not waived, that breaks clauses, by its first result.

    With a target file, it is at that file's line that names what is judged, or the capabilities.
    """
    target = report.target
    file, lines = target.file, target.lines
    results = {result.name: result for result in report.results}
    return [
        annotation(
            "error",
            _body(result, cause, report),
            **({"file": _file(folder, file), "line": line_of(result, lines)} if file else {}),
            title=cause.clause,
        )
        for cause in report.causes
        if cause.breaks and not cause.waived
        for result in [results[cause.results[0]]]
    ]


def _body(result: Result, cause: RootCause, report: Report) -> str:
    """Return an annotation's text: clause, result with its evidence, how to reproduce it.

    If the cause has several results, also its sentence, why they have one cause, and its
    consequences. All before the command is cut at 1500 characters.
    """
    wording = sentence(cause.clause)
    reason = next(iter(result.reason.splitlines()), "")
    shared = [cause.sentence, cause.why, f"{consequences(cause)}."]
    several = len(cause.results) + len(cause.open_results) > 1
    lines = [
        f"{wording.text} ({wording.source})",
        *(shared if several else []),
        f"{result.name}: {reason}",
        *result.told,
    ]
    return "\n".join([_cut("\n".join(lines)), f"Reproduce with: {again(result.name, report)}"])


def _stale(known: Sequence[Waiver], folder: str) -> list[str]:
    """Return an error annotation, at its line, for each deviation whose failure is gone."""
    return [
        annotation(
            "error",
            f"{waiver.id} passes now; take the deviation out",
            file=_file(folder, waiver.file),
            line=waiver.line,
            title="stale deviation",
        )
        for waiver in known
        if waiver.state == "stale"
    ]


def _file(folder: str, file: str) -> str:
    """Return the path of a file below the folder, with slashes; an absolute path unchanged."""
    return str(PurePosixPath(folder) / file)


def _run(report: Report) -> str:
    """Return an annotation with the run's headline and reason.

    It is a notice if conformant, a warning if incomplete, otherwise an error.
    """
    levels = {CONFORMANT: "notice", INCOMPLETE: "warning"}
    level = levels.get(report.exit, "error")
    return annotation(level, _cut(report.why), title=report.headline)


def _cut(text: str) -> str:
    """Return the text; over 1500 characters it is cut, with "..." added."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _escaped(text: str, escapes: dict[int, str]) -> str:
    """Return the text without control characters, and with the characters of `escapes` replaced."""
    return inert(text).translate(escapes)
