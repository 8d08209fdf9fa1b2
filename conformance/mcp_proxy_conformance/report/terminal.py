"""The report on a terminal: failures by clause, what is open, a table, and one last line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from mcp_proxy_conformance.report.colour import painted
from mcp_proxy_conformance.report.curl import quoted
from mcp_proxy_conformance.report.details import advisories, checks, clauses, worlds
from mcp_proxy_conformance.report.failures import failures
from mcp_proxy_conformance.report.summary import VERDICTS, known_failures, last, summary
from mcp_proxy_conformance.report.unsettled import errors, inconclusive

__all__ = ["VERDICTS", "Detail", "known_failures", "render"]

Detail = Literal["quiet", "usual", "verbose"]


def _the_same(name: str) -> str:
    return f"the same command and --check {quoted(name)}"


def render(
    report: dict[str, Any],
    path: Path,
    *,
    again: Callable[[str], str] = _the_same,
    detail: Detail = "usual",
    colour: bool = False,
    code: int | None = None,
) -> str:
    """The whole text; everything a target said is made inert first.

    Args:
        report: The document of a report.
        path: Where it lies, as it is to be told.
        again: The command that runs one check by its name.
        detail: `quiet` is failures and the last line; `verbose` adds checks, worlds, advisories.
        colour: Whether verdicts are coloured.
        code: What the program ends with, if that is not the report's own exit code.
    """
    shown = _near(path)
    lines = failures(report, shown, again)
    if detail != "quiet":
        lines += [*errors(report, again), *inconclusive(report, again)]
    if detail == "verbose":
        lines = [*worlds(report), *checks(report), *clauses(report), *advisories(report), *lines]
    if detail != "quiet":
        why = "see above" if detail == "verbose" else "--verbose tells why"
        lines += summary(report, shown, why=why)
    return painted([*lines, last(report, shown, code)], colour=colour)


def _near(path: Path) -> Path:
    """The path as it is told: from here, if it lies below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
