"""Folder of a record, read strictly: each build's report and the files beside it, or a refusal."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from mcp_proxy_conformance.catalogue.bounded import nests_deeper, read_bytes, toml
from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.phrases import began, command_of
from mcp_proxy_conformance.report.reader import BadReport, report_of
from mcp_proxy_conformance.report.site.builds import Build, Record, record_of
from mcp_proxy_conformance.report.site.recomputation import contradiction, recomputed
from mcp_proxy_conformance.report.site.secrets import (
    is_pinned,
    moving_in,
    secret_header,
    secret_member,
    secret_of,
)
from mcp_proxy_conformance.verdict.causes import causes, slug
from mcp_proxy_conformance.verdict.redaction import inert

REPORT, TARGET, REPRODUCE, REPLY = "report.json", "target.toml", "REPRODUCE.md", "reply.txt"
MOST: Mapping[str, int] = {REPORT: 4 << 20, TARGET: 64 << 10, REPRODUCE: 16 << 10, REPLY: 16 << 10}
"""Bytes of each file of a build."""
DEEPEST, MOST_BUILDS = 40, 2000
"""Levels of lists and objects in a report; builds of a record."""
FACTS = ("Suite", "Target", "Platform", "Command")
"""Facts that REPRODUCE.md must have, each on a line like `- Suite: ...`."""
BESIDE = ("README.md", "LICENSE")
"""Files beside the folders of implementations that are no part of the record."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,79}")
_FACT = re.compile(r"^[-*] (\w+): *(\S.*)$", re.MULTILINE)
_CLAUSE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,79}")
SHOWN = 80


class BadRecord(Exception):
    """A folder is not a record that may be published; the message names place and repair."""

    def __init__(self, place: str, problem: str, repair: str) -> None:
        """Make one sentence of a place within the folder, what is wrong there, and the repair."""
        super().__init__(" ".join(inert(f"{place}: {problem}; {repair}").split()))


def read_record(folder: Path) -> Record:
    """Read a folder `<implementation>/<version>/`, every build of it, and return the record.

    Raises:
        BadRecord: A file is missing, too large, unreadable, a link or not allowed there; a report
            is not one, or contradicts itself; something is secret, or not pinned.
    """
    if not folder.is_dir():
        raise BadRecord(str(folder), "it is not a folder", "name the folder of a record")
    builds = [
        _build(path, implementation.name)
        for implementation in _folders(folder, str(folder), beside=BESIDE)
        for path in _folders(Path(implementation.path), implementation.name)
    ]
    if not builds:
        raise BadRecord(str(folder), "it has no report", "add <implementation>/<version>/")
    known: dict[tuple[str, str], Build] = {}
    for build in builds:
        key = (build.implementation, build.version.lower().removeprefix("v"))
        if (other := known.setdefault(key, build)) is not build:
            place = f"{build.implementation}/{build.version}"
            raise BadRecord(place, f"it is the version of {other.version}", "keep one of them")
    if len(builds) > MOST_BUILDS:
        raise BadRecord(str(folder), f"it has more than {MOST_BUILDS} reports", "part it")
    return record_of(builds)


def _folders(folder: Path, place: str, beside: tuple[str, ...] = ()) -> list[os.DirEntry[str]]:
    """Return the folders in a folder, by name; hidden entries, and names in `beside`, are skipped.

    Raises BadRecord for links, files, names that no page can have, and names that differ in case.
    """
    by_lower_name: dict[str, os.DirEntry[str]] = {}
    for entry in _entries(folder, place):
        if entry.name.startswith(".") or (entry.name in beside and not entry.is_symlink()):
            continue
        where = f"{place}/{entry.name[:SHOWN]}"
        if entry.is_symlink():
            raise BadRecord(where, "it is a link", "put the folder itself there")
        if not entry.is_dir():
            raise BadRecord(where, "it is not a folder", "move it into a build's folder, or away")
        if not _NAME.fullmatch(entry.name):
            raise BadRecord(
                where, "no page can have this name", "use letters, digits and . _ + - (at most 80)"
            )
        other = by_lower_name.setdefault(entry.name.lower(), entry)
        if other is not entry:
            raise BadRecord(where, f"{other.name} differs in case alone", "rename one of them")
    return list(by_lower_name.values())


def _entries(folder: Path, place: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder in order of name; raises BadRecord if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise BadRecord(place, f"it cannot be read ({error.strerror})", "allow it") from error


def _build(entry: os.DirEntry[str], implementation: str) -> Build:
    """Return the build of the folder `entry`, whose name is its version.

    Raises BadRecord if the version does not name one build for ever, if a file is missing or not of
    its run, or if a file holds something secret.
    """
    place, folder = f"{implementation}/{entry.name}", Path(entry.path)
    if not is_pinned(entry.name):
        raise BadRecord(
            place, "the version is not pinned", "name the folder by a released version or a commit"
        )
    texts = _texts(folder, place)
    report = _report(folder / REPORT, f"{place}/{REPORT}", texts[REPORT])
    members = _members(f"{place}/{TARGET}", texts[TARGET])
    _expect_nothing_secret(place, texts, report, members)
    _expect_pinned(place, texts, report, entry.name, implementation)
    _expect_own_target(f"{place}/{TARGET}", members, report)
    return Build(
        implementation=implementation,
        version=entry.name,
        report=report,
        reproduce=_facts(f"{place}/{REPRODUCE}", texts[REPRODUCE], report, entry.name),
        target=texts[TARGET],
        reply=texts.get(REPLY, "").strip(),
    )


def _texts(folder: Path, place: str) -> dict[str, str]:
    """Return the text of each file of a build, by its name.

    Raises BadRecord for a missing, unknown, oversized or unreadable file, a link or a folder;
    hidden entries are skipped.
    """
    names = [entry for entry in _entries(folder, place) if not entry.name.startswith(".")]
    for entry in names:
        where = f"{place}/{entry.name[:SHOWN]}"
        if entry.name not in MOST:
            raise BadRecord(where, "a build has no such file", f"keep {', '.join(MOST)} alone")
        if entry.is_symlink() or not entry.is_file():
            raise BadRecord(where, "it is a link or not a file", "put the file itself there")
    there = {entry.name for entry in names}
    for name in (REPORT, TARGET, REPRODUCE):
        if name not in there:
            raise BadRecord(place, f"{name} is missing", "add it: see the rules of the record")
    return {name: _text(folder / name, f"{place}/{name}", MOST[name]) for name in sorted(there)}


def _text(path: Path, place: str, most: int) -> str:
    """Return the text of a file; BadRecord if it has over `most` bytes or is not readable UTF-8."""
    shorter = "shorten it with `report --format brief`" if path.name == REPORT else "shorten it"
    try:
        return read_bytes(path, most).decode("utf-8")
    except OSError as error:
        raise BadRecord(place, str(error.strerror), shorter) from error
    except UnicodeDecodeError as error:
        raise BadRecord(place, "it is not UTF-8", "write it as UTF-8") from error


def _report(path: Path, place: str, text: str) -> Report:
    """Return the report of a file, its causes and reason computed again.

    Raises BadRecord if it is no report, has a clause that no page can be named after, is of a day
    to come or does not recompute.
    """
    again = "create it again with `run`"
    try:
        document: Any = msgspec.json.decode(text)
        if isinstance(document, dict) and nests_deeper(document, DEEPEST):
            raise BadRecord(place, f"it nests deeper than {DEEPEST} levels", again)
        report = report_of(text.encode(), path)
    except BadReport as error:
        problem, _, repair = str(error).removeprefix(f"{path} ").rpartition("; ")
        raise BadRecord(place, problem, repair) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRecord(place, f"it is not JSON ({error})", again) from error
    for clause in report.clauses:
        if not _CLAUSE.fullmatch(clause.id):
            raise BadRecord(place, f"no page can be named after {clause.id[:SHOWN]!r}", again)
    if problem := _of_date(report):
        raise BadRecord(place, problem, again)
    if problem := contradiction(report):
        raise BadRecord(place, f"it does not recompute: {problem[:400]}", again)
    report = recomputed(report)
    return msgspec.structs.replace(report, causes=causes(report.clauses, report.results))


def _of_date(report: Report) -> str:
    """Return what is wrong with the date of a report's run; "" if nothing is, or it has none.

    It is not a date in UTC, or more than a day ahead of now.
    """
    given, known = report.timing.get("began"), began(report)
    if given is None:
        return ""
    if not known:
        return f"{str(given)[:SHOWN]!r} is not the date of a run"
    day = timedelta(days=1)  # clocks differ, and so do zones
    is_ahead = datetime.fromisoformat(known) > datetime.now(UTC) + day
    return f"its run began on {known[:10]}, which is still to come" if is_ahead else ""


def _members(place: str, text: str) -> dict[str, Any]:
    """Return the members of a target file; raises BadRecord if it is not TOML."""
    try:
        return toml(text)
    except (ValueError, RecursionError) as error:
        raise BadRecord(place, f"it is not TOML ({error})", "take the file of the run") from error


def _expect_nothing_secret(
    place: str, texts: Mapping[str, str], report: Report, members: dict[str, Any]
) -> None:
    """Raise BadRecord if a file of the build, a header or a member of its target file is secret.

    `texts` are the files by name; report and reply are searched as prose.
    """
    out = "take it out, and see that it is no longer valid"
    unescaped = msgspec.json.encode(msgspec.json.decode(texts[REPORT])).decode()
    shown = {**texts, REPORT: unescaped}
    command = " ".join(command_of(report))
    for name, text in (*shown.items(), (REPORT, command)):
        if secret := secret_of(text, prose=name == REPLY or text is unescaped):
            raise BadRecord(f"{place}/{name}", f"it has {secret}", out)
    if name := secret_header(report):
        raise BadRecord(f"{place}/{REPORT}", f"it has a value of the header {name}", out)
    if name := secret_member(members):
        raise BadRecord(f"{place}/{TARGET}", f"its member {name[:SHOWN]} has a credential", out)


def _expect_pinned(
    place: str, texts: Mapping[str, str], report: Report, build: str, implementation: str
) -> None:
    """Raise BadRecord if the report is of another build than its folder says, or names none.

    `build` and `implementation` are the names of the folders. Also if the target file or the steps
    to reproduce name a version such as `@latest`, which changes.
    """
    own, name = report.target.version, report.target.name
    given = f"give `name` and `version` in {TARGET}, and run again"
    where = f"{place}/{REPORT}"
    if not own or not is_pinned(own):
        raise BadRecord(where, "it does not say which version it is about", given)
    if own.removeprefix("v") != build.removeprefix("v"):
        raise BadRecord(where, f"it is about version {own[:SHOWN]}", f"move it, or {given}")
    if not name:
        raise BadRecord(where, "it does not say what it is about", given)
    if slug(name) != slug(implementation):
        raise BadRecord(where, f"it is about {name[:SHOWN]}", f"move it, or {given}")
    for file in (TARGET, REPRODUCE):
        if moving_in(texts[file]):
            raise BadRecord(f"{place}/{file}", "it names a latest version", "name the version")


def _expect_own_target(place: str, members: dict[str, Any], report: Report) -> None:
    """Raise BadRecord if the target file is not that of the report's run.

    Its name and version must be the report's, and the report must have all capabilities that it
    declares.
    """
    repair = "take the file of the run"
    for member, value in (("name", report.target.name), ("version", report.target.version)):
        if members.get(member) != value:
            given = str(members.get(member, "missing"))[:SHOWN]
            problem = f"its {member} is {given}, and that of the report {value[:SHOWN]}"
            raise BadRecord(place, problem, repair)
    declared = members.get("capabilities", [])
    for word in declared if isinstance(declared, list) else []:
        if word not in report.target.capabilities:
            problem = f"it declares {str(word)[:SHOWN]}, and the report does not"
            raise BadRecord(place, problem, repair)


def _facts(place: str, text: str, report: Report, build: str) -> dict[str, str]:
    """Return the facts (Suite, Target, Platform, Command) in `text`, that of REPRODUCE.md.

    Raises BadRecord if one is missing, the suite's version is not the report's, or the target's is
    not `build`, the name of the folder.
    """
    facts = {name: value.strip().strip("`") for name, value in _FACT.findall(text) if name in FACTS}
    for name in FACTS:
        if name not in facts:
            raise BadRecord(place, f"it has no line `- {name}: ...`", "add it")
    if not _names(facts["Suite"], report.suite.version):
        raise BadRecord(
            place, f"its suite is not version {report.suite.version} of the report", "correct it"
        )
    if not _names(facts["Target"], build):
        raise BadRecord(place, f"its target is not version {build}", "correct it")
    return {name: facts[name] for name in FACTS}


def _names(text: str, version: str) -> bool:
    """Whether a text names just this version, with or without a `v`: 11.0.0 does not name 1.0.0."""
    plain = re.escape(version.removeprefix("v"))
    return re.search(rf"(?<![\w.+])v?{plain}(?![\w+-]|\.\w)", text) is not None
