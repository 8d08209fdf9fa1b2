"""Report as one HTML page, readable without network or JavaScript; frame of all our pages."""

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
from mcp_proxy_conformance.report.drawing import MEANINGS, SIGNS, drawing
from mcp_proxy_conformance.report.evidence import Evidence, ShownMessages, exchange, read
from mcp_proxy_conformance.report.phrases import (
    MISSING,
    OPEN,
    TOLD,
    Sentence,
    again,
    began,
    command_of,
    covered,
    has_waived,
    interpretations_of,
    is_left_out,
    lasted,
    named,
    request,
    sentence,
    taken,
    verdicts,
    waived_by,
)
from mcp_proxy_conformance.report.picture import Cell, picture
from mcp_proxy_conformance.report.terminal import VERDICTS
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.deviations.waivers import Waiver
from mcp_proxy_conformance.verdict.outcome import CONFORMANT, INCOMPLETE, STALE, VIOLATED
from mcp_proxy_conformance.verdict.redaction import inert
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Result

PACKAGE, FOLDER = "mcp_proxy_conformance", "report"


def framed(template: str, **values: Any) -> str:
    """Return the page of this template with these values, escaped; style and script inlined.

    Its policy allows only these two, by their digests. Raises UndefinedError if the template
    uses a value that is not given.
    """
    style, script = part("page.css"), part("page.js")
    return (
        environment()
        .get_template(template)
        .render(
            **values,
            style=Markup(style),  # noqa: S704 - it is ours
            script=Markup(script),  # noqa: S704 - it is ours
            policy=(
                f"default-src 'none'; style-src '{digest(style)}'; script-src '{digest(script)}';"
                " base-uri 'none'; form-action 'none'"
            ),
        )
    )


@cache
def environment() -> Environment:
    """Return the templates' environment, made once: escaping, and failing on undefined names."""
    made = Environment(
        loader=PackageLoader(PACKAGE, FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["text"] = text
    return made


def text(value: str) -> Markup:
    """Return a text as markup between tags: escaped, control characters too, but quotes stay."""
    plain = inert(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(plain)  # noqa: S704 - nothing in it can begin a tag or an entity


def _shown(value: Any) -> Any:
    """Return a value for a template; control characters of a text are escaped, markup stays."""
    return inert(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def part(name: str) -> str:
    """Return the text of a file beside the templates."""
    return files(PACKAGE).joinpath(FOLDER, name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Return the SHA-256 source expression by which a Content-Security-Policy allows this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


COLOURS = {
    CONFORMANT: "pass",
    VIOLATED: "fail",
    INCOMPLETE: "inconclusive",
    STALE: "inconclusive",
}
"""Verdict whose colours the headline takes, by exit code; any other code has those of an error."""
_PLAIN = re.compile(r"[A-Za-z0-9._~-]{1,80}")
Group = Literal["broken", "unsettled", "waived", "advisory", "proven", "unjudged"]
TITLES: dict[Group, str] = {
    "broken": "To mend",
    "unsettled": "To settle",
    "waived": "Known deviations",
    "proven": "What was proven",
    "unjudged": "Not judged",
    "advisory": "Advisory: reported, never counted",
}
PROVEN_FIRST: tuple[Group, ...] = ("proven", "waived", "unjudged", "advisory")
"""The order of the groups where nothing is broken or unsettled; otherwise that of TITLES."""
FEW = 8
"""Clauses that were not judged which are shown unfolded."""
FEW_CAUSES = 6
"""Causes that are shown unfolded."""
WHOLE = 3
"""Failures of a clause that are shown with their messages; of further ones, only the facts."""
LONGEST_REQUEST = 4000
"""Characters of a request that is shown as a command."""
LINE = 160
"""Characters of the line that sums up a result."""


@dataclass(frozen=True, slots=True)
class ResultEntry:
    """A result with an entry of its own on the page, and everything the entry shows.

    `line` sums it up. `exchange` is None for one whose messages are left to the JSON report.
    """

    anchor: str
    result: Result
    name: str
    line: str
    again: str
    request: str
    evidence: Evidence
    exchange: ShownMessages | None
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


@dataclass(frozen=True, slots=True)
class ShownCause:
    """A cause, the entry to look at first, if there is one, and its clauses with their sections."""

    cause: RootCause
    first: ResultEntry | None
    broken: tuple[Section, ...]
    unsettled: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the page: its heading, its clauses, and whether it is folded at first."""

    group: Group
    title: str
    folded: bool
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the bar of verdicts, in percent of its length."""

    verdict: str
    start: float
    width: float


def render(report: Report) -> str:
    """Return the HTML page: how the run ended, its causes and picture, each clause with evidence.

    Clauses that were left out are only counted.
    """
    return rendered(report, "page.html.jinja")


def rendered(report: Report, template: str, **more: Any) -> str:
    """Return the page of a report by a template; `more` are further values that it uses."""
    shown = [clause for clause in report.clauses if not is_left_out(clause)]
    entries = _entries(report, {clause.id for clause in shown})
    places = anchors([clause.id for clause in shown])
    sections = [
        _section(place, clause, entries) for place, clause in zip(places, shown, strict=True)
    ]
    causes = _causes(report, sections, entries)
    seen = picture(report)
    links = {section.clause.id: section.anchor for section in sections}
    links |= {entry.name: entry.anchor for every in entries.values() for entry in every}
    return framed(
        template,
        **more,
        report=report,
        name=named(report),
        profile=report.profile.name,
        on_word=taken(report),
        began=began(report).replace("T", " ").replace("+00:00", " UTC"),
        lasted=lasted(report),
        command=again("", report) if any(command_of(report)) else "",
        summary=_summary(report),
        colour=colour_of(report),
        covered=covered(report.coverage) if report.coverage else "",
        missing=MISSING,
        missed=report.coverage.missed_by_dimensions if report.coverage else {},
        counts=_counts(report.clauses),
        bar=_bar(shown),
        left_out=len(report.clauses) - len(shown),
        number=len(sections),
        parts=_parts(sections),
        causes=causes,
        at_once=_at_once(causes),
        first=_first(causes, sections),
        picture=seen,
        drawing=drawing(seen) if seen else None,
        cell_links={cell.name: _link(cell, links) for cell in seen.every} if seen else {},
        signs=SIGNS,
        meanings=MEANINGS,
        homeless=entries[None],
        waivers=report.waivers,
        sentence=sentence,
        verdicts=verdicts,
    )


def anchors(clauses: list[str]) -> list[str]:
    """Return a unique anchor for each clause id: its own, or its number if no link can hold it."""
    places: list[str] = []
    for number, clause_id in enumerate(clauses, 1):
        place = f"clause-{clause_id}" if _PLAIN.fullmatch(clause_id) else f"clause-number-{number}"
        places.append(f"clause-number-{number}" if place in places else place)
    return places


def colour_of(report: Report) -> str:
    """Return the verdict whose colour the headline gets, by exit code; `error` for other codes.

    It is `waived` if the run conforms with deviations.
    """
    if report.exit == CONFORMANT and has_waived(report):
        return "waived"
    return COLOURS.get(report.exit, "error")


def _summary(report: Report) -> str:
    """Return a sentence on the end: how many required clauses were proven, or fail or are open.

    It is the report's own reason if the run neither conforms nor has such clauses.
    """
    firm = [clause for clause in report.clauses if clause.level == "required"]
    counts = Counter(clause.verdict for clause in firm)
    if report.headline == "conformant":
        rest = len(firm) - counts["pass"]
        others = f"; the other {rest} do not apply or were not asked for" if rest else ""
        return f"{counts['pass']} of {len(firm)} required clauses were proven{others}."
    open_ = counts["inconclusive"] + counts["error"]
    if report.exit == VIOLATED or (report.exit == INCOMPLETE and open_):
        return f"Of {len(firm)} required clauses, {verdicts('', counts['fail'], open_)}."
    return report.why


def _entries(report: Report, shown: set[str]) -> dict[str | None, list[ResultEntry]]:
    """Return the entries of results that fail, are open or waived, by their first clause shown.

    Those without a clause in `shown` are under None. Only the first three under a clause have their
    request and messages.
    """
    entries: dict[str | None, list[ResultEntry]] = {None: []}
    for number, result in enumerate(report.results, 1):
        if result.verdict in TOLD:
            home = next((clause for clause in result.clauses if clause in shown), None)
            beside = entries.setdefault(home, [])
            whole = len(beside) < WHOLE
            beside.append(_entry(f"result-{number}", result, report, whole=whole))
    return entries


def _entry(anchor: str, result: Result, report: Report, *, whole: bool) -> ResultEntry:
    """Return a result's entry on the page; only if `whole`, with its request and messages."""
    evidence = read(result)
    line = evidence.first or evidence.wrong or next(iter(result.reason.splitlines()), "")
    command = request(result, report) if whole else ""
    return ResultEntry(
        anchor=anchor,
        result=result,
        name=result.name,
        line=line if len(line) <= LINE else f"{line[:LINE]}…",
        again=again(result.name, report),
        request=command if len(command) <= LONGEST_REQUEST else "",
        evidence=evidence,
        exchange=exchange(result, report.messages) if whole else None,
        waivers=waived_by(result, report.waivers),
    )


def _section(
    anchor: str, clause: ClauseVerdict, entries: dict[str | None, list[ResultEntry]]
) -> Section:
    """Return a clause's section: the entries under it, and those elsewhere whose result names it.

    `anchor` is its link; `entries` are by the clause that they are under.
    """
    others = [entry for home, every in entries.items() if home != clause.id for entry in every]
    return Section(
        anchor=anchor,
        group=_group(clause),
        clause=clause,
        sentence=sentence(clause.id),
        interpretations=interpretations_of(clause.id),
        own=tuple(entries.get(clause.id, ())),
        elsewhere=tuple(entry for entry in others if clause.id in entry.result.clauses),
    )


def _group(clause: ClauseVerdict) -> Group:
    """Return a clause's group: advisory, broken, unsettled, waived, proven or else unjudged."""
    if clause.level == "advisory":
        return "advisory"
    if clause.verdict in OPEN:
        return "broken" if clause.verdict == "fail" else "unsettled"
    return {"waived": "waived", "pass": "proven"}.get(clause.verdict, "unjudged")  # type: ignore[return-value]


def _parts(sections: list[Section]) -> list[Part]:
    """Return the parts of the page that have sections, in the order of TITLES.

    Proven ones come first if nothing is broken or unsettled. The part of advisory clauses, and that
    of clauses not judged if there are more than eight, are folded.
    """
    groups = {section.group for section in sections}
    order = tuple(TITLES) if groups & {"broken", "unsettled"} else PROVEN_FIRST
    return [
        Part(
            group=group,
            title=TITLES[group],
            folded=group == "advisory" or (group == "unjudged" and len(own) > FEW),
            sections=own,
        )
        for group in order
        if (own := tuple(section for section in sections if section.group == group))
    ]


def _causes(
    report: Report, sections: list[Section], entries: dict[str | None, list[ResultEntry]]
) -> list[ShownCause]:
    """Return the causes that are not waived, in the report's order, with their sections.

    Each has the entry of its first failing or open result that is on the page, None without
    one.
    """
    by_id = {section.clause.id: section for section in sections}
    by_name = {entry.name: entry for every in entries.values() for entry in every}
    return [
        ShownCause(
            cause=cause,
            first=next(
                (by_name[n] for n in (*cause.results, *cause.open_results) if n in by_name), None
            ),
            broken=tuple(by_id[clause] for clause in cause.breaks if clause in by_id),
            unsettled=tuple(by_id[clause] for clause in cause.leaves_open if clause in by_id),
        )
        for cause in report.causes
        if not cause.waived
    ]


def _at_once(causes: list[ShownCause]) -> int:
    """Return how many causes are unfolded, from the first: those with failures; all if none has.

    At most six.
    """
    broken = sum(bool(shown.cause.results) for shown in causes)
    return min(broken or len(causes), FEW_CAUSES)


def _first(causes: list[ShownCause], sections: list[Section]) -> str:
    """Return the anchor of the failure that is unfolded when the page opens; "" without one.

    It is the first cause's entry if that failed, else the first failure on the page.
    """
    gravest = causes[0].first if causes else None
    if gravest is not None and gravest.result.verdict == "fail":
        return gravest.anchor
    failed = (
        entry.anchor
        for section in sections
        if section.group == "broken"
        for entry in section.own
        if entry.result.verdict == "fail"
    )
    return next(failed, "")


def _link(cell: Cell, links: dict[str, str]) -> str:
    """Return the anchor that a picture's cell leads to: its first result's or clause's; else "".

    `links` maps names of results and clauses to anchors.
    """
    names = (*(result.name for result in cell.results), *cell.clauses)
    return next((links[name] for name in names if name in links), "")


def _counts(clauses: Sequence[ClauseVerdict]) -> list[tuple[str, int, int]]:
    """Return (verdict, required clauses, advisory clauses) for each verdict that occurs."""
    firm = Counter(clause.verdict for clause in clauses if clause.level == "required")
    advisory = Counter(clause.verdict for clause in clauses if clause.level == "advisory")
    return [(word, firm[word], advisory[word]) for word in VERDICTS if firm[word] or advisory[word]]


def _bar(clauses: Sequence[ClauseVerdict]) -> list[Stretch]:
    """Return the stretches of the bar of verdicts on required clauses, one for each that occurs."""
    counts = Counter(clause.verdict for clause in clauses if clause.level == "required")
    stretches, start = [], 0.0
    for word in VERDICTS:
        if counts[word]:
            width = round(100 * counts[word] / counts.total(), 2)
            stretches.append(Stretch(word, round(start, 2), width))
            start += width
    return stretches
