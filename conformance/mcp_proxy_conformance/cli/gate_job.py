"""The CI job in which `gate` runs: its report files, outputs, summary and annotations."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from mcp_proxy_conformance.report import github, html, junit, markdown, sarif
from mcp_proxy_conformance.report.document import Report

REPORT = "report.json"
RENDERED: dict[str, tuple[str, Callable[[Report], str]]] = {
    "html": ("report.html", html.render),
    "junit": ("junit.xml", junit.render),
    "sarif": ("report.sarif", sarif.render),
    "markdown": ("report.md", markdown.render),
}
"""The formats that a gate writes: their outputs' names, files and renderers."""
NO_REPORT = "no report"
SUMMARY_MOST = 1_000_000
"""Bytes; a longer summary is refused by the job as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The CI job in which a gate runs; outside of GitHub it has no files, and no annotations.

    `output` and `summary` are the files that GitHub reads; `folder` is the working folder within
    the repository.
    """

    annotated: bool
    output: Path | None
    summary: Path | None
    folder: str

    @classmethod
    def of(cls, environment: Mapping[str, str], working: Path) -> Job:
        """Return the CI job that GitHub's environment variables describe.

        `working` is the working folder; `folder` is "" if it is outside of the repository.
        """
        output, summary = (environment.get(f"GITHUB_{n}") for n in ("OUTPUT", "STEP_SUMMARY"))
        top = Path(environment.get("GITHUB_WORKSPACE") or working)
        inside = working.is_relative_to(top)
        return cls(
            annotated=environment.get("GITHUB_ACTIONS") == "true",
            output=Path(output) if output else None,
            summary=Path(summary) if summary else None,
            folder=working.relative_to(top).as_posix() if inside else "",
        )

    def publish(self, code: int, report: Report | None, out: Path) -> str:
        """Append summary and outputs to the job's files, if any; return the annotations to print.

        They are "" outside of GitHub; without a report there is one, with the exit code.
        Raises OSError if a file cannot be written.
        """
        if self.summary is not None:
            _append(self.summary, summary_of(code, report))
        if self.output is not None:  # last, when nothing can change the exit code
            _append(self.output, as_outputs(outputs_of(code, report, out)))
        if not self.annotated:
            return ""
        return _unreported(code) if report is None else github.render(report, self.folder)


def files_of(report: Report, out: Path) -> None:
    """Write every rendering of the report into the folder; raises OSError."""
    for file, render in RENDERED.values():
        (out / file).write_text(render(report), encoding="utf-8")


def cleared(out: Path) -> None:
    """Remove the report and renderings of an earlier run from the folder; raises OSError."""
    for file in (REPORT, *(file for file, _ in RENDERED.values())):
        (out / file).unlink(missing_ok=True)


def outputs_of(code: int, report: Report | None, out: Path) -> dict[str, str]:
    """Return the outputs of the CI step by name: verdict, exit code, and each file's path.

    Without a report the paths are "".
    """
    places = {"report": REPORT} | {name: file for name, (file, _) in RENDERED.items()}
    values = {"verdict": report.headline if report else NO_REPORT, "exit-code": str(code)}
    return values | {name: str(out / file) if report else "" for name, file in places.items()}


def as_outputs(outputs: Mapping[str, str]) -> str:
    """Return outputs as the job's file has them, each value between lines nobody can guess."""
    lines = []
    for name, value in outputs.items():
        mark = f"end-{secrets.token_hex(16)}"
        lines += [f"{name}<<{mark}", value, mark]
    return "\n".join([*lines, ""])


def summary_of(code: int, report: Report | None) -> str:
    """Return the report as Markdown, without its results if it is too long for a job.

    Without a report, a few words with the exit code.
    """
    if report is None:
        return f"# `{NO_REPORT}`: exit {code}\n\nThe job's log says what was wrong.\n"
    summary = markdown.render(report)
    if len(summary.encode()) <= SUMMARY_MOST:
        return summary
    return (
        markdown.render(msgspec.structs.replace(report, results=[]))
        + "\nThe single results are left out, for length; they are in the report.\n"
    )


def _unreported(code: int) -> str:
    """Return the annotation that the run ended with this code before it wrote a report."""
    message = f"The run ended with exit {code} before it wrote a report; the job's log says why."
    return github.annotation("error", message, title=NO_REPORT) + "\n"


def _append(path: Path, text: str) -> None:
    """Append the text to the file, which is created if missing."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
