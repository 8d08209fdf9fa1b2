"""Data of a record: builds of implementations with their reports, in order, and their notes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from importlib.metadata import version
from typing import Literal

from mcp_proxy_conformance.catalogue.requirement import BESIDE, UnknownProfile
from mcp_proxy_conformance.catalogue.requirement import profile as profile_named
from mcp_proxy_conformance.report.document import SUITE, Report
from mcp_proxy_conformance.report.html import colour_of
from mcp_proxy_conformance.report.phrases import began, counted, is_left_out, profile_of
from mcp_proxy_conformance.report.site.recomputation import is_of_the_suite
from mcp_proxy_conformance.verdict.outcome import INTERRUPTED, VIOLATED
from mcp_proxy_conformance.verdict.result import ClauseVerdict, Verdict

NoteKind = Literal[
    "interrupted", "cut_short", "partial", "deviations", "older_profile", "unknown_profile",
    "other_suite", "aged", "undated",
]  # fmt: skip
AGED_DAYS = 365
"""Days before the newest run of a record after which a run is called old."""
NOT_ASKED = ("not_asked", "left_out", "untested")
"""Causes of a clause of which a run says nothing, because nobody asked."""
STAGES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 4, "rc": 4, "post": 6}
"""Order of words after the numbers of a version: others are 3, and a release is 5."""
_PART = re.compile(r"[0-9]+|[a-z]+")
_PREFIX = re.compile(r"^(?:v|version|release|rel)[-._]?(?=[0-9])")
_RELEASE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:\.[0-9]+)*(?![0-9])|[0-9]+(?:[._][0-9]+)*")
_COMMIT = re.compile(r"(?=.*[a-f])(?=.*[0-9])[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader must know before comparing a report with others, as a sentence."""

    kind: NoteKind
    text: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Build:
    """One build of an implementation: its report, and the files beside it.

    `reproduce` maps the words of `REPRODUCE.md` (Suite, Target, Platform, Command) to their texts;
    `target` is the text of the target file, `reply` what its authors say to the report, or "".
    """

    implementation: str
    version: str
    report: Report
    reproduce: Mapping[str, str]
    target: str
    reply: str
    notes: tuple[Note, ...] = ()

    @property
    def profile(self) -> str:
        """The ids of its run's profiles, without versions; builds with the same are compared."""
        return self.report.profile.id

    @property
    def address(self) -> str:
        """The path of its page in the site."""
        return f"implementations/{self.implementation}/{self.version}.html"

    @property
    def began(self) -> str:
        """The day on which its run began, as 2026-11-25; "" if the report does not say."""
        return began(self.report)[:10]

    @cached_property
    def is_whole(self) -> bool:
        """Whether its run is complete, or has exit code 1 and left no clause out."""
        left_out = any(map(is_left_out, self.report.clauses))
        return self.report.complete or (self.report.exit == VIOLATED and not left_out)

    @cached_property
    def is_current(self) -> bool:
        """Whether the suite has its profile with the same clauses, levels, checks and floor."""
        return is_of_the_suite(self.report)

    @property
    def may_be_green(self) -> bool:
        """Whether a pass may be shown green: nothing was left out, and its profile is current."""
        return self.is_whole and self.is_current

    @property
    def colour(self) -> str:
        """The verdict whose colour its headline has: `inconclusive` for a pass not to be green."""
        colour = colour_of(self.report)
        is_green = colour in ("pass", "waived")
        return "inconclusive" if is_green and not self.may_be_green else colour

    @cached_property
    def asked(self) -> Mapping[str, ClauseVerdict]:
        """The verdicts on clauses that its run was asked about, without untested ones, by id."""
        return {
            clause.id: clause for clause in self.report.clauses if clause.cause not in NOT_ASKED
        }

    def clause(self, clause_id: str) -> ClauseVerdict | None:
        """Return its verdict on a clause; None if the run was not asked about it."""
        return self.asked.get(clause_id)

    def count(self, verdict: Verdict) -> int:
        """Return the number of required clauses with that verdict, of those that were asked."""
        return sum(
            clause.level == "required" and clause.verdict == verdict
            for clause in self.asked.values()
        )

    @property
    def unasked(self) -> int:
        """The number of required clauses that its run was not asked about."""
        required = [clause.id for clause in self.report.clauses if clause.level == "required"]
        return sum(clause_id not in self.asked for clause_id in required)


@dataclass(frozen=True, slots=True)
class Record:
    """All builds of a record: by implementation, the newest build first."""

    builds: tuple[Build, ...]

    @property
    def implementations(self) -> tuple[str, ...]:
        """The names of the implementations, that of the latest run first."""
        return tuple(dict.fromkeys(build.implementation for build in self.builds))

    @property
    def profiles(self) -> tuple[str, ...]:
        """The ids of the profiles, in order."""
        return tuple(sorted({build.profile for build in self.builds}))

    def of(self, implementation: str, profile: str | None = None) -> tuple[Build, ...]:
        """Return the builds of an implementation, newest first; with a profile, those of it."""
        return tuple(
            build
            for build in self.builds
            if build.implementation == implementation and profile in (None, build.profile)
        )

    def newest_of(self, implementation: str, profile: str | None = None) -> Build | None:
        """Return the newest build of an implementation, and of a profile if given; else None.

        One whose run left something out is returned only if the runs of all of them did.
        """
        builds = self.of(implementation, profile)
        return next((build for build in builds if build.is_whole), next(iter(builds), None))

    @property
    def newest(self) -> tuple[Build, ...]:
        """The newest build of each implementation in each profile."""
        pairs = dict.fromkeys((build.implementation, build.profile) for build in self.builds)
        newest = [self.newest_of(*pair) for pair in pairs]
        return tuple(build for build in self.builds if build in newest)


def record_of(builds: Sequence[Build]) -> Record:
    """Return the record of builds with their notes, in order.

    The implementation with the latest run comes first; of each, the newest version.
    """
    last = max((build.began for build in builds), default="")
    latest = {
        name: max(build.began for build in builds if build.implementation == name)
        for name in {build.implementation for build in builds}
    }
    noted = [_noted(build, last) for build in builds]
    noted.sort(key=lambda build: version_key(build.version, began(build.report)), reverse=True)
    noted.sort(key=lambda build: build.implementation)
    noted.sort(key=lambda build: latest[build.implementation], reverse=True)
    return Record(tuple(noted))


def version_key(name: str, date: str = "") -> tuple[object, ...]:
    """Return the key by which versions are ordered: numbers as numbers, 1.0-rc.1 before 1.0.

    A part after a hyphen and words such as `rc` or `dev` make a version earlier; what follows a
    plus sign decides last. Commits come before all versions, in the order of their dates.
    """
    text = name.lower()
    if _COMMIT.fullmatch(text):
        return (False, date, name)
    plain, _, built = text.partition("+")
    plain = _PREFIX.sub("", plain, count=1)
    match = _RELEASE.match(plain)
    release, rest = (match[0], plain[match.end() :]) if match else ("", plain)
    word = next(iter(re.findall(r"[a-z]+", rest)), "")
    stage = STAGES.get(word, 3) if rest.strip("._-") else 5
    return (True, _parts(release), stage, _parts(rest), _parts(built), name)


def _parts(text: str) -> tuple[tuple[bool, int, str], ...]:
    """Return the numbers and lower-case words of a text, in order, as keys to sort by.

    A word sorts before any number; all other characters only separate.
    """
    return tuple(
        (part.isdigit(), int(part) if part.isdigit() else 0, part) for part in _PART.findall(text)
    )


def _noted(build: Build, last: str) -> Build:
    """Return the build with its notes: what to know before comparing its report with others.

    `last` is the day of the newest run of the record.
    """
    report = build.report
    notes: list[Note] = []
    if report.exit == INTERRUPTED:
        notes.append(Note("interrupted", "The run was interrupted: the report is partial."))
    if report.cut_short:
        notes.append(Note("cut_short", f"The run was cut short: {report.cut_short}"))
    if not report.complete and report.exit != INTERRUPTED and not report.cut_short:
        notes.append(Note("partial", "Only a part of the profile was judged."))
    if report.waivers:
        entries = counted(len(report.waivers), "known deviation", "known deviations")
        notes.append(Note("deviations", f"Its authors list {entries}; waived is not a pass."))
    notes += _of_profile(build)
    if report.suite.version != version(SUITE):
        notes.append(
            Note(
                "other_suite",
                f"Version {report.suite.version} of the suite made it; {version(SUITE)} made this"
                " site.",
            )
        )
    if not build.began:
        notes.append(Note("undated", "It does not say when it was made; it may be old."))
    elif _days(build.began, last) > AGED_DAYS:
        notes.append(Note("aged", f"It is more than {AGED_DAYS} days older than the newest run."))
    return replace(build, notes=tuple(notes))


def _of_profile(build: Build) -> list[Note]:
    """Return a note if the suite lacks its profiles, or has newer ones or other clauses in them.

    [] if the build's run was judged as the suite would judge it now.
    """
    name = profile_of(build.report)
    try:
        newest = BESIDE.join(
            profile_named(part.partition("@")[0]).name for part in name.split(BESIDE)
        )
    except UnknownProfile:
        return [Note("unknown_profile", f"This version of the suite does not have {name}.")]
    if name != newest:
        return [Note("older_profile", f"It was judged by {name}; the newest is {newest}.")]
    if not build.is_current:
        text = f"{name} has other clauses or checks now, so no pass is green."
        return [Note("older_profile", text)]
    return []


def _days(first: str, last: str) -> float:
    """Return the number of days from the day `first` to `last`, both written as 2026-11-25."""
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)) / timedelta(days=1)
