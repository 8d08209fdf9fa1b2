"""The report as one HTML page that is readable without network and without JavaScript."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mcp_proxy_conformance.catalogue.interpretation import Interpretation
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.evidence import Evidence, ShownMessages, exchange, read
from mcp_proxy_conformance.report.phrases import (
    OPEN,
    TOLD,
    Sentence,
    again,
    has_waived,
    interpretations_of,
    is_left_out,
    profile_of,
    request,
    sentence,
    target_of,
    waived_by,
)
from mcp_proxy_conformance.report.terminal import VERDICTS
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, INCOMPLETE, STALE, VIOLATED
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

PACKAGE, FOLDER = "mcp_proxy_conformance", "report"


def framed(template: str, **values: Any) -> str:
    """Render a template with these values, all escaped, with our style, script and policy."""
    style, script = _part("page.css"), _part("page.js")
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            style=Markup(style),  # noqa: S704 - it is ours
            script=Markup(script),  # noqa: S704 - it is ours
            policy=(
                f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
                " base-uri 'none'; form-action 'none'"
            ),
        )
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _shown(value: Any) -> Any:
    """Escape control characters of a text in the template; markup that a macro made stays."""
    return inert(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _part(name: str) -> str:
    return files(PACKAGE).joinpath(FOLDER, name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the source expression of a Content-Security-Policy that allows this text alone."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


COLOURS = {
    CONFORMANT: "pass",
    VIOLATED: "fail",
    INCOMPLETE: "inconclusive",
    STALE: "inconclusive",
}
"""Verdict whose colours the headline takes, by exit code; any other code has those of an error."""
_PLAIN = re.compile(r"[A-Za-z0-9._~-]{1,80}")
Group = Literal["open", "waived", "advisory", "settled"]
GROUPS: dict[Group, str] = {
    "open": "To fix or to settle",
    "waived": "Known deviations",
    "advisory": "Advisory: reported, never counted",
    "settled": "Nothing to do",
}


@dataclass(frozen=True, slots=True)
class ResultEntry:
    """A result with an entry of its own on the page, and everything the entry shows."""

    anchor: str
    result: Result
    name: str
    again: str
    request: str
    evidence: Evidence
    exchange: ShownMessages
    waivers: Sequence[Waiver]


@dataclass(frozen=True, slots=True)
class Section:
    """A clause, the results shown under it, and those shown under another clause they share."""

    anchor: str
    group: Group
    clause: ClauseVerdict
    sentence: Sentence
    interpretations: list[Interpretation]
    own: tuple[ResultEntry, ...]
    elsewhere: tuple[ResultEntry, ...]


def render(report: Report) -> str:
    """Return the page: the headline, what is open with its evidence, then every other clause."""
    entries = [
        _entry(f"result-{number}", result, report)
        for number, result in enumerate(report.results, 1)
        if result.verdict in TOLD
    ]
    shown = [clause for clause in report.clauses if not is_left_out(clause)]
    homes = _homes(entries, {clause.id for clause in shown})
    places = anchors([clause.id for clause in shown])
    sections = [
        _section(place, clause, entries, homes) for place, clause in zip(places, shown, strict=True)
    ]
    return framed(
        "page.html.jinja",
        report=report,
        profile=profile_of(report),
        target=target_of(report),
        colour=colour_of(report),
        counts=_counts(report.clauses),
        left_out=len(report.clauses) - len(shown),
        every=sections,
        groups=[
            (title, [section for section in sections if section.group == group])
            for group, title in GROUPS.items()
        ],
        homeless=[entry for entry in entries if homes[entry.anchor] is None],
        waivers=report.waivers,
        sentence=sentence,
    )


def anchors(clauses: list[str]) -> list[str]:
    """Return an anchor for each clause id: the id, or a number if a link cannot hold it."""
    places: list[str] = []
    for number, clause_id in enumerate(clauses, 1):
        place = f"clause-{clause_id}" if _PLAIN.fullmatch(clause_id) else f"clause-number-{number}"
        places.append(f"clause-number-{number}" if place in places else place)
    return places


def colour_of(report: Report) -> str:
    """Return the verdict whose colours the headline of a report takes."""
    if report.exit == CONFORMANT and has_waived(report):
        return "waived"
    return COLOURS.get(report.exit, "error")


def _entry(anchor: str, result: Result, report: Report) -> ResultEntry:
    return ResultEntry(
        anchor=anchor,
        result=result,
        name=result.name,
        again=again(result.name, report),
        request=request(result, report),
        evidence=read(result),
        exchange=exchange(result, report.messages),
        waivers=waived_by(result, report.waivers),
    )


def _homes(entries: list[ResultEntry], shown: set[str]) -> dict[str, str | None]:
    """Map each entry's anchor to the first of its clauses that is shown, None without one."""
    return {
        entry.anchor: next(
            (clause_id for clause_id in entry.result.clauses if clause_id in shown), None
        )
        for entry in entries
    }


def _section(
    anchor: str, clause: ClauseVerdict, entries: list[ResultEntry], homes: dict[str, str | None]
) -> Section:
    cited = [entry for entry in entries if clause.id in entry.result.clauses]
    own = tuple(entry for entry in cited if homes[entry.anchor] == clause.id)
    elsewhere = tuple(entry for entry in cited if homes[entry.anchor] != clause.id)
    return Section(
        anchor=anchor,
        group=_group(clause),
        clause=clause,
        sentence=sentence(clause.id),
        interpretations=interpretations_of(clause.id),
        own=own,
        elsewhere=elsewhere,
    )


def _group(clause: ClauseVerdict) -> Group:
    if clause.verdict in OPEN:
        return "open" if clause.level == "required" else "advisory"
    return "waived" if clause.verdict == "waived" else "settled"


def _counts(clauses: Sequence[ClauseVerdict]) -> list[tuple[str, int, int]]:
    """Return (verdict, required clauses, advisory clauses) for each verdict that occurs."""
    firm = Counter(clause.verdict for clause in clauses if clause.level == "required")
    advisory = Counter(clause.verdict for clause in clauses if clause.level == "advisory")
    return [(word, firm[word], advisory[word]) for word in VERDICTS if firm[word] or advisory[word]]
