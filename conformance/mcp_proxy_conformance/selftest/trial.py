"""One trial: the checks, or those of some clauses, against one changed target in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.index import checks_in
from mcp_proxy_conformance.catalogue.requirement import folders_of
from mcp_proxy_conformance.catalogue.resources import checks_dir
from mcp_proxy_conformance.run.given import Given

SHORT_S, LONG_S = 30, 120
"""What one check may take in front of the reference; loads wait for silent servers, and nobody says
that a variant must be quick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What a trial came to: its exit code, headline and reason, and every result."""

    exit: int
    headline: str
    why: str
    every: tuple[dict[str, Any], ...]
    clauses: Mapping[str, str]

    @property
    def clauses_passed(self) -> tuple[str, ...]:
        """The clauses of which something was observed, and nothing against them."""
        return tuple(name for name, verdict in self.clauses.items() if verdict == "pass")

    @property
    def results(self) -> list[dict[str, Any]]:
        """Those that are no pass."""
        return [one for one in self.every if one["verdict"] != "pass"]

    @property
    def passed(self) -> int:
        """How many pass."""
        return len(self.every) - len(self.results)

    def failed(self) -> list[dict[str, Any]]:
        """The convictions by F checks."""
        return [r for r in self.results if r["verdict"] == "fail" and r["judgement"] == "F"]


def tried(given: Given, out: Path, *, check_s: int = SHORT_S) -> Verdicts:
    """Run the trial, each check for at most so many seconds; its report stays in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    arguments = [
        *_files(given), "-c", "/dev/null", "--rootdir", str(out), "-q", "--tb=no",
        "--no-header", "-p", "no:cacheprovider", "-p", "no:unraisableexception",
        "-p", "no:threadexception", "-p", "no:logging", "--capture=no",
        "--disable-plugin-autoload", "-p", "pytest_timeout", f"--timeout={check_s}",
        "-o", "timeout_func_only=true", "-W", "ignore", "--assert=rewrite",
        "-p", "mcp_proxy_conformance.plugin", "--out", str(out), "--profile", given.profile,
    ]  # fmt: skip
    pytest.main(arguments, plugins=[given])
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    results = report["results"]
    return Verdicts(
        exit=report["exit"],
        headline=report["headline"],
        why=report["why"],
        every=tuple(_slim(one) for one in results),
        clauses={one["id"]: one["verdict"] for one in report["clauses"]},
    )


def _files(given: Given) -> list[str]:
    """The files of the checks that are wanted; collecting the others would take longer."""
    if given.clauses is None:
        return [str(checks_dir() / folder) for folder in folders_of(given.profile)]
    every = [check for folder in folders_of(given.profile) for check in checks_in(folder)]
    wanted = {check.module for check in every if given.clauses.intersection(check.clauses)}
    return sorted(str(checks_dir() / module) for module in wanted)


def _slim(result: dict[str, Any]) -> dict[str, Any]:
    members = ("check", "case", "clauses", "judgement", "verdict", "reason", "cause", "stage")
    return {name: result[name] for name in members}
