"""One trial: the request, run and verdicts of selected checks on one changed target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.index import checks_in
from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.catalogue.specification import judging
from mcp_proxy_conformance.run.invocation import invoke, prepare
from mcp_proxy_conformance.run.request import RunRequest, Selection
from mcp_proxy_conformance.targets.target import Target

EVERY = Selection()
"""All checks of the profile, in their order."""
LONG_S = 600
"""Seconds that one check may take of a variant, which need not be quick: its trial has a limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Outcome of a trial: the run's exit code, headline and reason, and every result.

    `every` holds the results as dicts, by members of the report; `clauses` maps each clause of the
    profile to its verdict.
    """

    exit: int
    headline: str
    why: str
    every: tuple[dict[str, Any], ...]
    clauses: Mapping[str, str]

    @property
    def clauses_passed(self) -> tuple[str, ...]:
        """The clauses whose verdict is a pass."""
        return tuple(name for name, verdict in self.clauses.items() if verdict == "pass")

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results other than passes."""
        return [result for result in self.every if result["verdict"] != "pass"]

    @property
    def passed(self) -> int:
        """The number of results that pass."""
        return len(self.every) - len(self.results)

    def failed(self) -> list[dict[str, Any]]:
        """Return the failing results of required checks."""
        return [r for r in self.results if r["verdict"] == "fail" and r["level"] == "required"]

    def convicted(self) -> tuple[str, ...]:
        """Return the clauses, sorted, that results of required checks found broken."""
        return tuple(sorted({clause for r in self.failed() for clause in r["clauses"]}))


def trial(
    target: Target,
    selection: Selection = EVERY,
    *,
    profile: str | None = None,
    confirm: bool = False,
    examples: int | None = None,
) -> RunRequest:
    """Return the run request that tries a target; failures are not confirmed unless `confirm`.

    Without a profile it is the first that is proven of the target's specification.

    `examples`: how many scenarios or values are generated; None is the target's own number.
    """
    profile = profile or judging(target.kind).proven[0]
    examples = target.examples if examples is None else examples
    return RunRequest(
        subject=target,
        profile=profile,
        selection=selection,
        confirm=confirm,
        examples=examples,
        trial=True,
    )


def tried(request: RunRequest, out: Path, *, check_s: int | None = None) -> Verdicts:
    """Run a trial's request in this process, without output, and return its verdicts.

    The report stays in the folder `out`; FileNotFoundError if the run wrote none. `check_s`:
    seconds that one check may take; None is the number of the target's specification.
    """
    usual = judging(request.subject.kind).check_s
    request = replace(request, out=out)
    prepare(out)
    invoke(request, check_s=check_s or usual, files=_files(request), silent=True)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    results = report["results"]
    return Verdicts(
        exit=report["exit"],
        headline=report["headline"],
        why=report["why"],
        every=tuple(_slim(result) for result in results),
        clauses={clause["id"]: clause["verdict"] for clause in report["clauses"]},
    )


def _files(request: RunRequest) -> list[Path]:
    """Return the check files of the profile that have a check of a selected clause, sorted.

    If no clauses are selected, return all check folders of the profile.
    """
    wanted = request.selection.clauses
    folders = profile(request.profile).folders if request.profile else ()
    if wanted is None:
        return list(folders)
    checks = [check for folder in folders for check in checks_in(folder)]
    return sorted({check.path for check in checks if wanted.intersection(check.clauses)})


def _slim(result: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a report's result with only the members that trials need."""
    members = ("check", "case", "clauses", "level", "verdict", "reason", "cause", "stage")
    return {name: result[name] for name in members}
