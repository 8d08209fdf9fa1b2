"""Small records for tests of the site: builds of a profile of nine clauses, as folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.catalogue.requirement import profile
from mcp_proxy_conformance.report.document import plain, written
from mcp_proxy_conformance.report.from_record import report_of
from mcp_proxy_conformance.verdict.cited import CitedMessage
from mcp_proxy_conformance.verdict.record import RunRecord, RunState, TargetFacts
from mcp_proxy_conformance.verdict.result import Finding, Result, Verdict

CLAUSES = profile("robustness").clauses
Json = dict[str, Any]
DAY = "2026-07-01"


def document(
    name: str, version: str, verdicts: Mapping[str, Verdict], *, day: str = DAY, **state: Any
) -> Json:
    """Return a report, as JSON, of a build: each clause passes, but those with a verdict here.

    `day` is its run's date, `state` sets members of the run's state.
    """
    results = [_result(clause, verdicts.get(clause, "pass")) for clause in CLAUSES]
    record = RunRecord(
        profile=profile("robustness"),
        target=TargetFacts(kind="command", name=name, version=version),
        state=RunState(results=results, messages=dict(_messages(results)), **state),
        date=f"{day}T10:00:00+00:00",
    )
    return plain(report_of(record))


def _result(clause: str, verdict: Verdict) -> Result:
    """Return a result of that verdict on one clause.

    A failed or waived one has a finding and two messages.
    """
    broken = verdict in ("fail", "waived")
    finding = Finding(path="tools", clauses=(clause,), allowed=1, observed="two-and-a-half")
    return Result(
        check=f"test_{clause}",
        case=None,
        clauses=(clause,),
        level="advisory" if "~" in clause else "required",
        verdict=verdict,
        reason="" if verdict == "pass" else f"{clause} was not seen to hold",
        stage="plain",
        findings=(finding,) if broken else (),
        messages=(f"plain/{clause}/1", f"plain/{clause}/2") if broken else (),
        blame="target" if verdict == "error" else "",
    )


def _messages(results: list[Result]) -> list[tuple[str, CitedMessage]]:
    """Return (place, message) of each message that the results cite, in order."""
    places = [place for result in results for place in result.messages]
    return [
        (
            place,
            CitedMessage(
                edge="client",
                direction="sent" if place.endswith("1") else "received",
                peer="http://127.0.0.1:1/mcp",
                note="tools/call",
                headers=(("content-type", "application/json"),),
                body='{"answer":"two-and-a-half"}',
                cut=0,
                at=0.0,
            ),
        )
        for place in places
    ]


def add(
    folder: Path,
    name: str,
    version: str,
    verdicts: Mapping[str, Verdict] | None = None,
    *,
    change: Callable[[Json], object] = lambda _: None,
    files: Mapping[str, str] | None = None,
    **more: Any,
) -> Path:
    """Write a build to `folder/name/version`, with a report, target file and REPRODUCE.md.

    Return its folder. `change` edits the report in place; `files` are texts by name, which add or
    replace; `more` is for `document`.
    """
    report = document(name, version, verdicts or {}, **more)
    change(report)
    build = folder / name / version
    build.mkdir(parents=True)
    texts = {
        "target.toml": f'kind = "command"\nname = "{name}"\nversion = "{version}"\n',
        "REPRODUCE.md": reproduce(version, report["suite"]["version"]),
        **(files or {}),
    }
    (build / "report.json").write_bytes(written(report))
    for file, text in texts.items():
        (build / file).write_text(text, encoding="utf-8")
    return build


def reproduce(version: str, suite: str) -> str:
    """Return the text of REPRODUCE.md for this version of a target, judged by this of the suite."""
    return (
        f"# How\n\n- Suite: mcp-proxy-conformance {suite}\n- Target: it {version}\n"
        "- Platform: Linux\n- Command: `mcp-proxy-conformance run`\n"
    )
