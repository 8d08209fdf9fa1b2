"""Renderer of a record's static site: each file (page, badge, `data.json`) by its path."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from mcp_proxy_conformance.report import badge
from mcp_proxy_conformance.report.document import SUITE
from mcp_proxy_conformance.report.drawing import MEANINGS, SIGNS, Drawing, drawing
from mcp_proxy_conformance.report.evidence import Evidence, ShownMessages, exchange, read
from mcp_proxy_conformance.report.html import digest, environment, part, rendered
from mcp_proxy_conformance.report.phrases import counted, interpretations_of, profile_of, sentence
from mcp_proxy_conformance.report.picture import Picture, picture
from mcp_proxy_conformance.report.site.builds import Build, Record
from mcp_proxy_conformance.report.site.history import Moving, Step, adjacent, moving, pairs
from mcp_proxy_conformance.report.site.positions import Positions, disagreements, positions
from mcp_proxy_conformance.report.site.rules import rules
from mcp_proxy_conformance.verdict.causes import RootCause
from mcp_proxy_conformance.verdict.result import WORST_FIRST, Result, Verdict

FORMAT = "mcp-proxy-conformance-record/1"
MOST_EVIDENCE = 3
"""Failing builds whose evidence is on the page of a clause."""
FILLS = {
    "brightgreen": "#2a7d3f", "yellowgreen": "#60722a", "red": "#b3261e", "yellow": "#8a6100",
    "orange": "#9c4a00", "lightgrey": "#666",
}  # fmt: skip
"""Colours of a drawn badge, by the words of its JSON."""
GREEN = ("brightgreen", "yellowgreen")
"""Colours of a pass; a build whose pass is not one of its whole profile has another."""
LETTER, MARGIN = 7, 10
"""Units of a badge: a letter, and both margins of a text."""
Files = Mapping[str, bytes]
Drawn = tuple[Picture, Drawing, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Group:
    """The builds of an implementation that were judged by the same profiles, newest first.

    `steps` has each build with the step from the one before it, `pairs` those between any two.
    """

    profile: str
    builds: tuple[Build, ...]
    newest: Build
    causes: tuple[RootCause, ...]
    steps: tuple[tuple[Build, Step | None], ...]
    pairs: tuple[Step, ...]
    moving: tuple[Moving, ...]

    @property
    def is_comparable(self) -> bool:
        """Whether there are at least two builds."""
        return len(self.builds) > 1

    @property
    def table(self) -> Mapping[tuple[str, str], Step]:
        """The step between each two builds of `pairs`, by their versions."""
        return {(step.before.version, step.after.version): step for step in self.pairs}


@dataclass(frozen=True, slots=True)
class Failure:
    """The evidence of one build that fails a clause."""

    build: Build
    result: Result
    evidence: Evidence
    exchange: ShownMessages


def pages(record: Record) -> Files:
    """Return the bytes of every file of the site, by its path; the same record, the same bytes."""
    return {path: text.encode() for path, text in _texts(record)}


def _texts(record: Record) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every file of the site."""
    every = positions(record)
    disputed = disagreements(every)
    pictures = {build.address: _drawn(build) for build in record.newest}
    shared: dict[str, Any] = {
        "record": record,
        "every": every,
        "disputed": disputed,
        "compared": any(each.is_compared for each in every),
        "pictures": pictures,
    }
    yield "style.css", part("page.css") + part("site/site.css")
    yield "index.html", _page("front", "", script=part("site/search.js"), **shared)
    yield "clauses.html", _page("clauses", "", script=part("site/search.js"), **shared)
    yield "disagreements.html", _page("disagreements", "", **shared)
    yield "rules.html", _page("rules", "", rules=rules())
    yield "data.json", json.dumps(_data(record, every), indent=1, ensure_ascii=False) + "\n"
    for each in every:
        yield f"clauses/{each.clause}.html", _clause(record, each)
    for name in record.implementations:
        yield from _implementation(record, name, pictures)


def _page(template: str, root: str, *, script: str = "", **values: Any) -> str:
    """Return a page of the site by its template; only `script`, if any, is allowed to run on it.

    `root` is the relative path from the page's folder to the top; `values` are for the template.
    """
    allowed = f"script-src '{digest(script)}'; " if script else ""
    return (
        environment()
        .get_template(f"site/{template}.html.jinja")
        .render(
            **values,
            root=root,
            script=Markup(script),  # noqa: S704 - it is ours
            policy=(
                f"default-src 'none'; style-src 'self'; img-src 'self'; {allowed}"
                "base-uri 'none'; form-action 'none'"
            ),
            suite=_suite(),
            signs=SIGNS,
            meanings=MEANINGS,
            verdicts=WORST_FIRST,
            profile_of=profile_of,
            sentence=sentence,
            interpretations_of=interpretations_of,
            place=_place,
            counted=counted,
        )
    )


@cache
def _suite() -> str:
    """Return name and version of the running suite."""
    return f"{SUITE} {version(SUITE)}"


def _implementation(
    record: Record, name: str, pictures: Mapping[str, Drawn | None]
) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of the files of one implementation: its pages, builds and badges."""
    folder, root = f"implementations/{name}", "../../"
    profiles = dict.fromkeys(build.profile for build in record.of(name))
    groups = [
        _group(record.of(name, profile), newest)
        for profile in profiles
        if (newest := record.newest_of(name, profile)) is not None
    ]
    newest = record.newest_of(name)
    values: dict[str, Any] = {
        "name": name,
        "groups": groups,
        "pictures": pictures,
        "newest_build": newest,
    }
    yield f"{folder}/index.html", _page("implementation", root, **values)
    if any(group.is_comparable for group in groups):
        yield f"{folder}/changes.html", _page("changes", root, **values)
    for build in record.of(name):
        yield build.address, rendered(build.report, "site/build.html.jinja", build=build)
        yield from _badge(f"badges/{name}/{build.version}", build)
    if newest is not None:
        yield from _badge(f"badges/{name}/newest", newest)


def _group(builds: tuple[Build, ...], newest: Build) -> Group:
    """Return the Group of an implementation's builds of one profile, newest first, with history.

    `newest` is the one whose causes are shown.
    """
    steps = [*adjacent(builds), None]
    return Group(
        profile=newest.profile,
        builds=builds,
        newest=newest,
        causes=tuple(cause for cause in newest.report.causes if not cause.waived),
        steps=tuple(zip(builds, steps, strict=True)),
        pairs=tuple(pairs(builds)),
        moving=tuple(moving(builds)),
    )


def _clause(record: Record, each: Positions) -> str:
    """Return the page of a clause: positions on it, interpretations, every build's verdict.

    Also the evidence of up to three failing builds, those first that are the newest of their
    implementation; further ones are counted.
    """
    failing = [*each.fails]
    failing += [
        build
        for build in record.builds
        if build not in failing and _verdict(build, each.clause) in ("fail", "waived")
    ]
    shown = [_failure(build, each.clause) for build in failing[:MOST_EVIDENCE]]
    known = [
        (name, [(build, verdict) for build in record.of(name)
                if (verdict := _verdict(build, each.clause)) is not None])
        for name in record.implementations
    ]  # fmt: skip
    return _page(
        "clause",
        "../",
        each=each,
        readings=interpretations_of(each.clause),
        shown=[failure for failure in shown if failure is not None],
        left_out=len(failing[MOST_EVIDENCE:]),
        all=[(name, builds) for name, builds in known if builds],
    )


def _failure(build: Build, clause: str) -> Failure | None:
    """Return a build's evidence against a clause: of its first such result with messages, if any.

    Else of its first such result; None if no result fails the clause, or is waived on it.
    """
    results = [
        result
        for result in build.report.results
        if clause in result.clauses and result.verdict in ("fail", "waived")
    ]
    if not results:
        return None
    result = next((result for result in results if result.messages), results[0])
    return Failure(build, result, read(result), exchange(result, build.report.messages))


def _verdict(build: Build, clause: str) -> Verdict | None:
    """Return a build's verdict on a clause; None if its run was not asked."""
    entry = build.clause(clause)
    return None if entry is None else entry.verdict


def _place(build: Build, clause: str) -> str:
    """Return the fragment, `#clause-ID`, of a clause on a build's page; "" if it was not asked."""
    return f"#clause-{clause}" if build.clause(clause) is not None else ""


def _drawn(build: Build) -> Drawn | None:
    """Return a build's picture, its drawing, and the anchor on its page by name of a cell.

    The anchor is that of the cell's first clause on the page, "" without one. None without picture.
    """
    shown = picture(build.report)
    if shown is None:
        return None
    places = {
        cell.name: next((_place(build, id_)[1:] for id_ in cell.clauses if build.clause(id_)), "")
        for cell in shown.every
    }
    return shown, drawing(shown), places


def _badge(path: str, build: Build) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of a build's badge, as JSON and drawn.

    A green one turns yellow if the build may not be green; "of another profile" is added to its
    message if the suite has that profile with other clauses now, or not at all.
    """
    text = badge.render(build.report)
    said = json.loads(text)
    if said["color"] in GREEN and not build.may_be_green:
        said["color"] = "yellow"
        said["message"] += "" if build.is_current else ", of another profile"
        text = json.dumps(said, ensure_ascii=False) + "\n"
    label, message = said["label"], said["message"]
    template = environment().get_template("site/badge.svg.jinja")
    yield f"{path}.json", text
    yield (
        f"{path}.svg",
        template.render(
            label=label,
            message=message,
            left=LETTER * len(label) + MARGIN,
            right=LETTER * len(message) + MARGIN,
            fill=FILLS.get(said["color"], "#666"),
        ),
    )


def _data(record: Record, every: Sequence[Positions]) -> dict[str, Any]:
    """Return the content of data.json: every report in short, and the positions on each clause."""
    return {
        "format": FORMAT,
        "suite": {"name": SUITE, "version": version(SUITE)},
        "reports": [_short(build) for build in record.builds],
        "clauses": [
            {
                "id": each.clause,
                "level": each.level,
                "pass": [build.address for build in each.passes],
                "fail": [build.address for build in each.fails],
                "not_declared": [build.address for build in each.undeclared],
                "not_settled": [build.address for build in each.unsettled],
            }
            for each in every
        ],
    }


def _short(build: Build) -> dict[str, Any]:
    """Return a build as data.json has it: what it is, its outcome, and its verdicts by clause."""
    report = build.report
    return {
        "implementation": build.implementation,
        "version": build.version,
        "page": build.address,
        "profile": profile_of(report),
        "suite": report.suite.version,
        "headline": report.headline,
        "exit": report.exit,
        "complete": report.complete,
        "began": build.began,
        "notes": [note.kind for note in build.notes],
        "clauses": {clause.id: clause.verdict for clause in build.asked.values()},
    }
