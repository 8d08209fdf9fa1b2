"""The site of a record: pages, history, positions, notes, links, and the same bytes twice."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from records import CLAUSES, add
from site_links import Page, broken_links

from mcp_proxy_conformance.report.site.builds import Build, Record, version_key
from mcp_proxy_conformance.report.site.files import difference, write
from mcp_proxy_conformance.report.site.folder import BadRecord, read_record
from mcp_proxy_conformance.report.site.history import pairs, step
from mcp_proxy_conformance.report.site.pages import FORMAT, pages
from mcp_proxy_conformance.report.site.positions import Positions, disagreements, positions

ROB_FLAG, ROB_QUERY, ROB_CALL = "ROB.flag", "ROB.query", "ROB.call"
SEEDS = Path(__file__).with_name("record")
SCRIPT = "<script>alert(1)</script>\" onload='alert(1)' javascript:alert(1)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a record of three implementations: alpha with four builds, beta and gamma with one."""
    record = tmp_path / "record"
    add(record, "alpha", "1.2.0", {ROB_FLAG: "fail", ROB_QUERY: "fail"})
    add(record, "alpha", "1.10.0-rc.1", {ROB_QUERY: "fail"})
    add(record, "alpha", "1.10.0", {ROB_CALL: "fail"}, day="2026-07-03")
    add(record, "alpha", "1.9.0", {ROB_QUERY: "fail", ROB_CALL: "inconclusive"})
    add(record, "beta", "2.0", {ROB_CALL: "fail"}, files={"reply.txt": "We read it otherwise."})
    add(record, "gamma", "3.0")
    return record


def build_of(record: Record, version: str) -> Any:
    """Return the build of that version in the record; StopIteration if there is none."""
    return next(build for build in record.builds if build.version == version)


def test_the_same_folder_gives_the_same_bytes(folder: Path) -> None:
    """Two readings of a record make a site of the same bytes."""
    assert pages(read_record(folder)) == pages(read_record(folder))


def test_every_link_and_anchor_leads_somewhere_in_the_site(folder: Path) -> None:
    """In a site each link and loaded file leads to a place in it, and no page has an id twice."""
    files = pages(read_record(folder))

    assert broken_links(files) == []
    for path, content in files.items():
        if path.endswith(".html"):
            anchors = Page(content.decode()).anchors
            assert len(anchors) == len(set(anchors)), path


def test_builds_are_in_the_order_of_their_versions_and_implementations_of_their_runs(
    folder: Path,
) -> None:
    """A record has the newest build of an implementation first, and the latest run's first of all.

    Numbers count as numbers; a part after a hyphen comes before the version itself.
    """
    record = read_record(folder)

    assert record.implementations == ("alpha", "beta", "gamma")
    assert [build.version for build in record.of("alpha")] == [
        "1.10.0", "1.10.0-rc.1", "1.9.0", "1.2.0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "versions",
    [
        "1-a 1 v2 10",
        "1.0.0.dev1 1.0.0a1 1.0.0-alpha.2 1.0.0b2 1.0.0-RC.1 1.0.0rc2 1.0.0 1.0.0.post1 1.0.1",
        "release-1.2.0 release-1.10.0-rc1 release-1.10.0 V2.0 3.0",
        "1.0.0+9 1.0.0+10 1.0.1-rc.1+build",
        "2026-06-30-ff03db92 2026-07-01-99aa 2026-07-01.2-ff03db92 2026-07-02-0a",
        "ff03db92 0.1.0",
    ],
)
def test_versions_are_in_order(versions: str) -> None:
    """`version_key` puts stages before their release, and compares numbers as numbers."""
    names = versions.split()

    assert sorted(names, key=version_key) == names


def test_commits_are_in_the_order_of_their_dates() -> None:
    """Of two commits without a number the one of the later date is the newer one."""
    older, newer = version_key("99aab0c", "2026-07-01"), version_key("00aab0c", "2026-07-02")

    assert older < newer


def test_a_step_has_regressions_mends_and_other_changes(folder: Path) -> None:
    """`step` of two builds has a pass that became a failure as regression, the reverse as mend.

    Any other change of a verdict is in `others`.
    """
    record = read_record(folder)

    first = step(build_of(record, "1.2.0"), build_of(record, "1.9.0"))
    last = step(build_of(record, "1.10.0-rc.1"), build_of(record, "1.10.0"))

    assert [change.clause for change in first.mends] == [ROB_FLAG]
    assert [(change.clause, change.after) for change in first.others] == [
        (ROB_CALL, "inconclusive")
    ]
    assert [change.clause for change in last.regressions] == [ROB_CALL]
    assert [change.clause for change in last.mends] == [ROB_QUERY]


def test_any_two_builds_have_a_section_without_script(folder: Path) -> None:
    """The page of changes of four builds has six sections, one a pair, with links and no script."""
    files = pages(read_record(folder))
    text = files["implementations/alpha/changes.html"].decode()

    assert len(pairs(read_record(folder).of("alpha"))) == 6
    assert text.count('class="step"') == 6
    assert 'href="#from-1.2.0~1.10.0"' in text
    assert "<script" not in text


def test_the_most_even_split_is_the_first_disagreement(folder: Path) -> None:
    """`disagreements` of the newest builds has the one clause that two fail and one passes."""
    disputed = disagreements(positions(read_record(folder)))

    assert [each.clause for each in disputed] == [ROB_CALL]
    assert [build.implementation for build in disputed[0].fails] == ["alpha", "beta"]
    assert [build.implementation for build in disputed[0].passes] == ["gamma"]


def test_a_clause_has_its_sentence_positions_and_bytes(folder: Path) -> None:
    """A clause's page has how many pass and fail it, and the marked evidence of a failure."""
    text = pages(read_record(folder))[f"clauses/{ROB_CALL}.html"].decode()

    assert "passes (1)" in text
    assert "fails (2)" in text
    assert "<mark>two-and-a-half</mark>" in text


def test_a_disputed_clause_is_one_click_from_the_front(folder: Path) -> None:
    """The site's first page links to the page of the most disputed clause."""
    front = Page(pages(read_record(folder))["index.html"].decode())

    assert f"clauses/{ROB_CALL}.html" in front.addresses


def test_the_reply_is_shown_on_the_pages_of_build_and_implementation(folder: Path) -> None:
    """The reply of a build is on its page, its implementation's and those of what it fails."""
    files = pages(read_record(folder))

    for path in (
        "implementations/beta/index.html", "implementations/beta/2.0.html",
        f"clauses/{ROB_CALL}.html",
    ):  # fmt: skip
        assert "We read it otherwise." in files[path].decode()


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("partial", {"narrowed": True}),
        ("interrupted", {"interrupted": True}),
        ("cut_short", {"cut_short": "the time was over"}),
        ("aged", {"day": "2025-01-01"}),
    ],
)
def test_a_build_says_what_its_run_lacks(kind: str, more: dict[str, Any], tmp_path: Path) -> None:
    """A partial, interrupted, cut or old run has a note, on its build's page and in data.json."""
    add(tmp_path, "alpha", "1.0", **more)
    add(tmp_path, "beta", "1.0")

    record = read_record(tmp_path)
    files = pages(record)

    assert [note.kind for note in record.of("alpha")[0].notes] == [kind]
    assert f'class="note-{kind}"' in files["implementations/alpha/1.0.html"].decode()
    rows = {row["implementation"]: row for row in json.loads(files["data.json"])["reports"]}
    assert rows["alpha"]["notes"] == [kind]


def test_a_build_without_a_date_says_so(tmp_path: Path) -> None:
    """A report that does not say when its run began has the note `undated`."""
    add(tmp_path, "alpha", "1.0", change=lambda report: report["timing"].pop("began"))
    add(tmp_path, "beta", "1.0")

    assert [note.kind for note in read_record(tmp_path).of("alpha")[0].notes] == ["undated"]


def test_a_build_of_another_suite_says_so(tmp_path: Path) -> None:
    """A report by another version of the suite has the note `other_suite` with that version."""
    add(tmp_path, "alpha", "1.0", change=lambda report: report["suite"].update(version="0.9.0"))

    (note,) = read_record(tmp_path).builds[0].notes

    assert note.kind == "other_suite"
    assert note.text.startswith("Version 0.9.0 of the suite made it")


def test_a_part_of_a_profile_is_neither_the_newest_nor_green(tmp_path: Path) -> None:
    """A partial build does not take the place of a whole one, and its badge is yellow."""
    add(tmp_path, "alpha", "1.0", {ROB_FLAG: "fail"})
    add(tmp_path, "alpha", "1.1", narrowed=True)

    record = read_record(tmp_path)
    files = pages(record)

    assert [build.version for build in record.newest] == ["1.0"]
    assert json.loads(files["badges/alpha/newest.json"])["message"] == "violated"
    assert json.loads(files["badges/alpha/1.1.json"])["color"] == "yellow"
    assert '<span class="headline inconclusive">partial' in (
        files["implementations/alpha/1.1.html"].decode()
    )


def test_what_a_run_left_out_is_counted_as_not_asked(tmp_path: Path) -> None:
    """A clause that a part of a profile leaves out is not counted among those not applicable."""

    def leave_out(report: dict[str, Any]) -> None:
        """Take the result of ROB_QUERY away, as if it had been left out, in place."""
        clause = next(row for row in report["clauses"] if row["id"] == ROB_QUERY)
        clause |= {"verdict": "not_applicable", "cause": "left_out", "results": 0}
        report["results"] = [row for row in report["results"] if ROB_QUERY not in row["clauses"]]

    add(tmp_path, "alpha", "1.0", narrowed=True, change=leave_out)

    (build,) = read_record(tmp_path).builds

    assert (build.count("not_applicable"), build.unasked) == (0, 1)


def test_a_profile_with_other_clauses_is_never_green(tmp_path: Path) -> None:
    """A pass of a profile that changed since is yellow, says so, and is an older profile's."""
    shutil.copytree(SEEDS / "reference-relay", tmp_path / "reference-relay")
    path = tmp_path / "reference-relay" / "1.0.0" / "report.json"
    report = json.loads(path.read_bytes())
    gone = "RLY.tools.collide.unique"
    report["clauses"] = [clause for clause in report["clauses"] if clause["id"] != gone]
    path.write_text(json.dumps(report), encoding="utf-8")

    record = read_record(tmp_path)
    said = json.loads(pages(record)["badges/reference-relay/newest.json"])

    assert (said["color"], said["message"]) == ("yellow", "conformant, of another profile")
    assert "no pass is green" in record.builds[0].notes[0].text


def test_a_report_of_another_suite_does_not_change_levels(tmp_path: Path) -> None:
    """A clause has the level of its page, not of another suite's report, which is not green."""

    def relabel(report: dict[str, Any]) -> None:
        """Make the report one of a later profile and suite, with ROB_FLAG as advisory, in place."""
        report["suite"]["version"] = "9.0.0"
        report["profile"] |= {"version": 99, "name": "robustness@99"}
        next(row for row in report["clauses"] if row["id"] == ROB_FLAG)["level"] = "advisory"

    add(tmp_path, "alpha", "1.0", change=relabel)
    add(tmp_path, "beta", "1.0")

    record = read_record(tmp_path)

    assert {each.level for each in positions(record) if each.clause == ROB_FLAG} == {"required"}
    assert record.of("alpha")[0].colour == "inconclusive"
    assert record.of("beta")[0].colour == "pass"


def test_one_implementation_does_not_disagree_with_itself(tmp_path: Path) -> None:
    """Two implementations make a split; a record of one says that nothing was compared."""
    add(tmp_path, "alpha", "1.0", {ROB_FLAG: "fail"})
    build = read_record(tmp_path).builds[0]
    other = replace(build, implementation="beta")

    def on(*passes: Build) -> Positions:
        """Return the positions on ROB_FLAG: these pass, and `build` fails."""
        sides: dict[str, Any] = {"passes": passes, "fails": (build,)}
        return Positions(ROB_FLAG, "required", **sides, undeclared=(), unsettled=(), elsewhere=())

    assert not on(build).is_split
    assert on(other).is_split
    text = pages(read_record(tmp_path))["disagreements.html"].decode()
    assert "No clause was observed of two implementations." in text


def test_the_reason_of_a_build_is_that_of_its_clauses(tmp_path: Path) -> None:
    """A page has the reason that the clauses come to, whatever the report says."""
    add(
        tmp_path,
        "alpha",
        "1.0",
        {ROB_FLAG: "fail"},
        change=lambda report: report.update(why="fine"),
    )

    assert read_record(tmp_path).builds[0].report.why == f"broken: {ROB_FLAG}"


def test_script_in_every_text_is_inert(tmp_path: Path) -> None:
    """Script in any text of a report, target file or reply stays text on all pages.

    It adds no link, script or handler.
    """

    def hostile(report: dict[str, Any]) -> None:
        """Put SCRIPT into each text of the report, in place."""
        report["why"] = report["target"]["wire"] = SCRIPT
        report["timing"]["command"] = [SCRIPT, ""]
        for result in report["results"]:
            result |= {"reason": SCRIPT, "hint": SCRIPT, "evidence": [SCRIPT], "check": SCRIPT}
            for finding in result["findings"]:
                finding |= {"path": SCRIPT, "observed": [SCRIPT], "allowed": {SCRIPT: SCRIPT}}
        for clause in report["clauses"]:
            clause["reason"] = SCRIPT
        for message in report["messages"].values():
            message |= {"peer": SCRIPT, "note": SCRIPT, "body": SCRIPT, "headers": {SCRIPT: SCRIPT}}

    text = f'kind = "command"\nname = "alpha"\nversion = "1.0"\nnote = {json.dumps(SCRIPT)}\n'
    files = {"reply.txt": SCRIPT, "target.toml": text}
    add(tmp_path, "alpha", "1.0", {ROB_FLAG: "fail", ROB_CALL: "fail"}, change=hostile, files=files)
    add(tmp_path, "beta", "1.0")

    made = pages(read_record(tmp_path))

    assert broken_links(made) == []
    for path, content in made.items():
        page = Page(content.decode()) if path.endswith((".html", ".svg")) else Page("")
        assert not [name for _, tag in page.tags for name in tag if name.startswith("on")], path
        assert all("alert(1)" not in script for script in page.scripts), path
        assert len(page.scripts) <= 1, path


def test_no_page_loads_anything_from_elsewhere(folder: Path) -> None:
    """No page of a site links to another host or loads from it; no stylesheet loads anything."""
    for path, content in pages(read_record(folder)).items():
        if path.endswith(".html"):
            assert not [a for a in Page(content.decode()).addresses if "://" in a], path
        if path.endswith(".css"):
            assert not re.search(rb"url\(|@import", content), path


def test_a_site_replaces_an_earlier_one_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    """`write` removes files of an earlier site that are not of this one.

    It raises BadRecord for a folder that holds anything else than a site.
    """
    out = tmp_path / "site"
    write(pages(read_record(folder)), out)
    (out / "clauses" / "old.html").write_text("old", encoding="utf-8")
    (out / ".git" / "refs").mkdir(parents=True)
    (out / "gone" / "empty").mkdir(parents=True)
    files = pages(read_record(folder))

    assert difference(files, out) == "clauses/old.html is not of this record"
    write(files, out)
    assert difference(files, out) == ""
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == [
        ".git", "badges", "clauses", "implementations",
    ]  # fmt: skip
    assert (out / ".git" / "refs").exists()
    with pytest.raises(BadRecord, match="something else than a site"):
        write(files, folder)


def test_a_link_in_a_site_is_replaced_and_not_followed(folder: Path, tmp_path: Path) -> None:
    """A page that is a link to another file becomes a page; the other file stays."""
    out, other = tmp_path / "site", tmp_path / "other"
    write(pages(read_record(folder)), out)
    other.write_text("mine", encoding="utf-8")
    (out / "index.html").unlink()
    (out / "index.html").symlink_to(other)

    write(pages(read_record(folder)), out)

    assert other.read_text(encoding="utf-8") == "mine"
    assert not (out / "index.html").is_symlink()


@pytest.mark.parametrize("path", ["notes.txt", ".env", "clauses/.x", "record/alpha/report.json"])
def test_a_file_that_no_site_has_is_never_removed(path: str, folder: Path, tmp_path: Path) -> None:
    """`write` raises BadRecord, with its path, for a file that no site has; --check names it."""
    out, files = tmp_path / "site", pages(read_record(folder))
    write(files, out)
    (out / path).parent.mkdir(parents=True, exist_ok=True)
    (out / path).write_text("mine", encoding="utf-8")

    with pytest.raises(BadRecord, match=f"it has {path}, which no site has; move it"):
        write(files, out)

    assert difference(files, out) == f"{path} is not of this record"
    assert (out / path).read_text(encoding="utf-8") == "mine"


def test_a_file_that_only_mentions_the_format_does_not_make_a_site(tmp_path: Path) -> None:
    """`write` raises BadRecord for a folder whose data.json has the format in another place."""
    (tmp_path / "data.json").write_text(json.dumps({"seen": [FORMAT]}), encoding="utf-8")

    with pytest.raises(BadRecord, match="something else than a site"):
        write({}, tmp_path)


def test_a_pipe_hard_link_or_folder_in_place_of_a_page_is_replaced(
    folder: Path, tmp_path: Path
) -> None:
    """A pipe, hard link or folder counts as a difference; `write` puts a new file there.

    The other file of the hard link stays.
    """
    out, other, files = tmp_path / "site", tmp_path / "other", pages(read_record(folder))
    write(files, out)
    for path in ("rules.html", "index.html", "style.css"):
        (out / path).unlink()
    os.mkfifo(out / "rules.html")
    other.write_text("mine", encoding="utf-8")
    (out / "style.css").hardlink_to(other)
    (out / "index.html").mkdir()

    before = difference({"rules.html": files["rules.html"]}, out)
    write(files, out)

    assert before
    assert difference(files, out) == ""
    assert other.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    "timing",
    [
        {"command": 5},
        {"command": ["a"]},
        {"command": [1, {}]},
        {"stages": 5, "results": 5, "seconds": "x"},
    ],
)
def test_odd_timing_gives_the_same_pages(timing: dict[str, Any], tmp_path: Path) -> None:
    """A report with something else in its `timing` than a run writes still has its page."""
    verdicts: dict[str, Any] = {ROB_FLAG: "fail"}
    add(tmp_path, "alpha", "1.0", verdicts, change=lambda report: report["timing"].update(timing))

    assert "implementations/alpha/1.0.html" in pages(read_record(tmp_path))


def test_data_has_every_verdict(folder: Path) -> None:
    """data.json has each build, newest first by implementation, with its verdict on each clause."""
    data = json.loads(pages(read_record(folder))["data.json"])

    assert [row["version"] for row in data["reports"]] == [
        "1.10.0", "1.10.0-rc.1", "1.9.0", "1.2.0", "2.0", "3.0",
    ]  # fmt: skip
    assert list(data["reports"][0]["clauses"]) == list(CLAUSES)
