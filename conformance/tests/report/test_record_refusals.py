"""Refusals of a folder as a record of builds: each names the place and the repair."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from records import add, reproduce

from mcp_proxy_conformance.report.site.folder import BadRecord, read_record
from mcp_proxy_conformance.report.site.secrets import is_pinned, secret_of

Json = dict[str, Any]
SEEDS = Path(__file__).with_name("record")
SECRET = "x1" * 12


def refused(folder: Path) -> str:
    """Return the sentence of the BadRecord that reading this folder as a record must raise."""
    with pytest.raises(BadRecord) as refusal:
        read_record(folder)
    return str(refusal.value)


def _edit_verdict(report: Json) -> None:
    """Give the first clause, which passes, another verdict than its result, in place."""
    report["clauses"][0]["verdict"] = "not_applicable"


def _edit_count(report: Json) -> None:
    """Have the first clause count more results than the report has on it, in place."""
    report["clauses"][0]["results"] = 5


def _edit_headline(report: Json) -> None:
    """Give a report with a failure the headline `conformant`, in place."""
    report["headline"] = "conformant"


def _drop_clause(report: Json) -> None:
    """Take the first clause and its results away, though the profile has it, in place."""
    clause = report["clauses"].pop(0)
    report["results"] = [r for r in report["results"] if clause["id"] not in r["clauses"]]


def _make_advisory(report: Json) -> None:
    """Give the first clause, which the profile requires, the level `advisory`, in place."""
    report["clauses"][0]["level"] = "advisory"


def _repeat(report: Json) -> None:
    """Repeat the first clause at the end of the report, so that it is there twice, in place."""
    report["clauses"].append(report["clauses"][0])


def _name_badly(report: Json) -> None:
    """Give the first clause a path as its id, after which no page may be named, in place."""
    report["clauses"][0]["id"] = "../../etc"


def _say_fault(report: Json) -> None:
    """Give the report the exit code of a fault of the suite, but another headline, in place."""
    report |= {"exit": 70, "headline": "conformant"}


def _certify(report: Json) -> None:
    """Make the report that of an endpoint, with a headline that no run has, in place."""
    report["target"]["kind"] = "endpoint"
    report["headline"] = "certified"


def _rename_profile(report: Json) -> None:
    """Give the profile's name another version than its `version`, in place."""
    report["profile"]["name"] = "robustness@99"


def _lose_profile_name(report: Json) -> None:
    """Take the name of the profile away, in place."""
    report["profile"]["name"] = ""


def _take_other_profile(report: Json) -> None:
    """Change the profile to a version that the suite does not have, in place."""
    report["profile"] |= {"version": 99, "name": "robustness@99"}


def _take_other_suite(report: Json) -> None:
    """Change the name of the suite, in place."""
    report["suite"]["name"] = "another-suite"


def _leave_out(report: Json) -> None:
    """Leave the first clause out, as of a part of a profile, in a run called complete, in place."""
    clause = report["clauses"][0]
    clause |= {"verdict": "not_applicable", "cause": "left_out", "results": 0}
    report["results"] = [r for r in report["results"] if clause["id"] not in r["clauses"]]


def _waive(report: Json) -> None:
    """Make all failures waived ones, though no deviation of the report names them, in place."""
    for row in [*report["clauses"], *report["results"]]:
        row["verdict"] = "waived" if row["verdict"] == "fail" else row["verdict"]
    report |= {"headline": "passes with 0 deviations", "exit": 0}


def _settle(report: Json) -> None:
    """Make the failed clause not applicable, though its result becomes inconclusive, in place."""
    for row in report["results"]:
        if row["verdict"] == "fail":
            row["verdict"] = "inconclusive"
    for row in report["clauses"]:
        if row["verdict"] == "fail":
            row |= {"verdict": "not_applicable", "cause": "not_here"}
    report |= {"headline": "conformant", "exit": 0}


def _nest(report: Json) -> None:
    """Put an object nested 60 deep, more than a reader takes, into the timing, in place."""
    value: Json = {}
    for _ in range(60):
        value = {"a": value}
    report["timing"]["deep"] = value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_edit_verdict, "ROB.query is not_applicable, and its results say pass"),
        (_edit_count, "ROB.query counts 5 results, and 1 mention it"),
        (_edit_headline, "the headline is 'conformant', and its clauses come to 'violated'"),
        (_drop_clause, "the clause ROB.query of robustness@1 is missing"),
        (_make_advisory, "ROB.query is advisory, and robustness@1 has it as required"),
        (_repeat, "the clause ROB.query is in it twice"),
        (_name_badly, "no page can be named after '../../etc'"),
        (_nest, "it nests deeper than 40 levels"),
        (_say_fault, "the headline is 'conformant', and that of exit 70 'fault of the suite'"),
        (_rename_profile, "its profile is robustness, version 1, and its name robustness@99"),
        (_lose_profile_name, "its profile robustness has no name with versions"),
        (_take_other_profile, "this version of the suite made it, and has no profile robustness@9"),
        (_take_other_suite, "its suite is 'another-suite', and not mcp-proxy-conformance"),
        (_leave_out, "ROB.query is left_out, and the run is called complete"),
        (_waive, "test_ROB.flag is waived, and its waivers do not name it"),
        (_settle, "ROB.flag is not_applicable, and its results say inconclusive"),
    ],
)
def test_a_report_that_does_not_recompute_is_refused(
    change: Callable[[Json], None], words: str, tmp_path: Path
) -> None:
    """`read_record` refuses a report whose verdict, count, headline, level or clauses were edited.

    The sentence names the report, what differs, and to create it again.
    """
    add(tmp_path, "alpha", "1.0", {"ROB.flag": "fail"}, change=change)

    sentence = refused(tmp_path)

    assert sentence.startswith("alpha/1.0/report.json: ")
    assert words in sentence
    assert sentence.endswith("; create it again with `run`")


def test_a_report_of_a_profile_that_may_change_has_the_levels_of_the_suite(tmp_path: Path) -> None:
    """`read_record` refuses another level or floor, if the running suite made the report."""
    for number, change in enumerate((_make_first_advisory, _clear_floor)):
        folder = tmp_path / str(number)
        path = shutil.copytree(SEEDS / "loose-relay" / "0.4.0", folder / "loose-relay" / "0.4.0")
        report = json.loads((path / "report.json").read_bytes())
        change(report)
        (path / "report.json").write_text(json.dumps(report), encoding="utf-8")

        assert "fidelity@1+integrity@1" in refused(folder)


def _make_first_advisory(report: Json) -> None:
    """Give the first passing clause that is required the level `advisory`, in place."""
    passing = (row for row in report["clauses"] if row["verdict"] == "pass")
    next(row for row in passing if row["level"] == "required")["level"] = "advisory"


def _clear_floor(report: Json) -> None:
    """Remove all passes that the profile's floor requires, in place."""
    report["profile"]["floor"]["passes"] = []


def test_an_endpoint_has_the_headline_of_its_profile(tmp_path: Path) -> None:
    """`read_record` refuses a headline of one's own for an endpoint without failures."""
    add(tmp_path, "alpha", "1.0", change=_certify)

    assert "its clauses come to 'consistent with robustness@1'" in refused(tmp_path)


@pytest.mark.parametrize(
    ("date", "words"),
    [
        ("2026-99-99T99:99:99Z", "is not the date of a run"),
        ("0000-01-01T00:00:00Z", "is not the date of a run"),
        ("\u0662\u0660\u0662\u0666-01-01T00:00:00Z", "is not the date of a run"),
        (5, "is not the date of a run"),
        ("9998-01-01T00:00:00Z", "its run began on 9998-01-01, which is still to come"),
    ],
)
def test_a_run_of_no_day_or_of_a_day_to_come_is_refused(
    date: object, words: str, tmp_path: Path
) -> None:
    """`read_record` refuses a report whose run began on an invalid or future date."""
    add(tmp_path, "alpha", "1.0", change=lambda report: report["timing"].update(began=date))

    sentence = refused(tmp_path)

    assert words in sentence
    assert sentence.endswith("; create it again with `run`")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Authorization: Bearer abcdefgh12345678", "a value of the header authorization"),
        ('{\\"x-api-key\\": \\"abcdefgh12345678\\"}', "a value of the header x-api-key"),
        ("Cookie=abcdefgh12345678", "a value of the header cookie"),
        (f"ghp_{SECRET}", "an access token or a private key"),
        ("-----BEGIN RSA PRIVATE KEY-----", "an access token or a private key"),
        (f"bearer {SECRET}", "a bearer token"),
        ("http://me:secret@example.com/", "a user and a password in a URL"),
        ("canary/of+the-client-c1a55e=", "a credential that the suite planted"),
    ],
)
def test_a_secret_in_any_file_is_refused(text: str, words: str, tmp_path: Path) -> None:
    """`read_record` refuses a credential in a reply or a report, named by its kind.

    The sentence does not repeat it, and says to take it out.
    """
    add(tmp_path / "one", "alpha", "1.0", files={"reply.txt": text})
    add(tmp_path / "two", "alpha", "1.0", {"ROB.flag": "fail"}, change=_with_body(text))

    for folder in (tmp_path / "one", tmp_path / "two"):
        sentence = refused(folder)
        assert words in sentence
        assert "take it out" in sentence
        assert text not in sentence


def _with_body(text: str) -> Callable[[Json], None]:
    """Return a change of a report, by which the body of its first message is this text."""

    def change(report: Json) -> None:
        """Set the body of the report's first message to the text, in place."""
        next(iter(report["messages"].values()))["body"] = text

    return change


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer (redacted)",
        "--upstream-header 'Authorization: Bearer {upstream_token}'",
        "the header Authorization is not forwarded",
        "https://example.com/a:b@c",
        '{"progressToken": "abcdefgh12345678"}',
        "--token {upstream_token} --api-key=$API_KEY",
    ],
)
def test_what_only_looks_like_a_secret_is_not_one(text: str) -> None:
    """`secret_of` is "" for redacted values, placeholders and prose about headers."""
    assert secret_of(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: required by our docs",
        "Our cookie: everything a session needs",
        "It answers Bearer authentication-challenge then",
        "The token: 2025-11-25 is the revision. Our password: something",
        "Start it with --token whatever",
    ],
)
def test_words_of_a_reply_are_not_secrets(text: str, tmp_path: Path) -> None:
    """`read_record` takes a reply whose sentences name headers, tokens and options."""
    add(tmp_path, "alpha", "1.0", files={"reply.txt": text})

    assert read_record(tmp_path).builds[0].reply == text


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("target.toml", 'url = "https://h.example/?api_key=abcdefgh"'),
        ("target.toml", 'url = "https://abcdefghijkl@h.example/"'),
        ("target.toml", 'headers = ["X-Auth-Token: abcdefghijkl"]'),
        ("target.toml", 'options = ["-H", "X-Token: abcdefghijkl"]'),
        ("target.toml", 'token = ["abcdefghijkl"]'),
        ("target.toml", 'deep = [[{token = "abcdefghijkl"}]]'),
        ("target.toml", 'args = "run --token abcdefghijkl"'),
        ("target.toml", '[env]\nTHE_DSN = "abcdefghijkl"'),
        ("target.toml", f'note = "hf_{SECRET}abcdefgh"'),
        ("target.toml", "# token = abcdefghijkl"),
        ("target.toml", 'header = "Authorization: Digest abcdefghijkl"'),
        ("target.toml", 'note = "token=abc{defghijkl"'),
        ("target.toml", f'note = "gh\\u0070_{SECRET}"'),
        ("REPRODUCE.md", "run --token abcdefghijkl"),
        ("REPRODUCE.md", "`GITHUB_TOKEN=abcdefghijkl run`"),
        ("REPRODUCE.md", "password: abcdefghijkl"),
        ("REPRODUCE.md", "https://h.example/?access_token=abcdefghijkl"),
        ("reply.txt", "We use token=abcdefghijkl here"),
    ],
)
def test_a_secret_where_a_value_stands_is_refused(file: str, text: str, tmp_path: Path) -> None:
    """`read_record` refuses a credential in an assignment, a header, a query or an option.

    The sentence names the file.
    """
    more = reproduce("1.0", version("mcp-proxy-conformance")) if file == "REPRODUCE.md" else ""
    named = 'kind = "command"\nname = "alpha"\nversion = "1.0"\n' if file == "target.toml" else ""
    add(tmp_path, "alpha", "1.0", files={file: f"{more}{named}{text}\n"})

    sentence = refused(tmp_path)

    assert sentence.startswith(f"alpha/1.0/{file}: it")
    assert sentence.endswith("; take it out, and see that it is no longer valid")


def _query(report: Json) -> None:
    """Put a token into the address of the first message, in place."""
    next(iter(report["messages"].values()))["peer"] = "http://h.example/?token=abcdefghijkl"


def _header(report: Json) -> None:
    """Give the first message a header whose name says that it is secret, in place."""
    next(iter(report["messages"].values()))["headers"] = {"x-auth-token": "abcdefghijkl"}


def _command(report: Json) -> None:
    """Put an option with a token into the stored command line, in place."""
    report["timing"]["command"] = ["run --token abcdefghijkl", ""]


@pytest.mark.parametrize(
    "change",
    [_with_body('{"access_token":"abcdefghijkl"}'), _query, _header, _command],
)
def test_a_secret_in_any_part_of_a_report_is_refused(
    change: Callable[[Json], None], tmp_path: Path
) -> None:
    """`read_record` refuses a credential in a body, an address, a header or the command line."""
    add(tmp_path, "alpha", "1.0", {"ROB.flag": "fail"}, change=change)

    sentence = refused(tmp_path)

    assert sentence.startswith("alpha/1.0/report.json: it has a ")
    assert "value" in sentence


def test_an_escaped_letter_does_not_hide_a_secret(tmp_path: Path) -> None:
    """`read_record` refuses a token of a report one letter of which is escaped."""
    build = add(tmp_path, "alpha", "1.0", {"ROB.flag": "fail"}, change=_with_body(f"ghp_{SECRET}"))
    path = build / "report.json"
    path.write_bytes(path.read_bytes().replace(b"ghp_", b"gh\\u0070_"))

    assert "an access token" in refused(tmp_path)


@pytest.mark.parametrize("part", ["eyJ-", "token= ", "cookie:", "://a", "--a "])
def test_a_long_text_is_searched_in_little_time(part: str) -> None:
    """`secret_of` of half a million characters that begin secrets again and again takes seconds."""
    began = time.monotonic()

    secret_of(part * (500_000 // len(part)))

    assert time.monotonic() - began < 10


def test_a_header_that_was_not_redacted_is_refused(tmp_path: Path) -> None:
    """`read_record` refuses even a short value of a credential header in a report's message."""

    def change(report: Json) -> None:
        """Give the report's first message an Authorization header, in place."""
        next(iter(report["messages"].values()))["headers"] = {"Authorization": "abc"}

    add(tmp_path, "alpha", "1.0", {"ROB.flag": "fail"}, change=change)

    assert "it has a value of the header Authorization" in refused(tmp_path)


def test_a_credential_in_the_target_file_is_refused(tmp_path: Path) -> None:
    """`read_record` refuses a target file with a literal secret in an option or a member."""
    lines = ('command = ["proxy", "--token=abcdefgh"]', 'api_key = "abcdefgh"')
    for number, line in enumerate(lines):
        folder = tmp_path / str(number)
        add(folder, "alpha", "1.0", files={"target.toml": line})

        assert "a secret value named" in refused(folder)


@pytest.mark.parametrize(
    "version", ["latest", "main", "1.0-nightly", "snapshot.2", "abc", "0.1.0-dev", "trunk1"]
)
def test_a_moving_version_is_refused(version: str, tmp_path: Path) -> None:
    """`read_record` refuses a folder of a version that changes its build, such as `latest`."""
    add(tmp_path, "alpha", version)

    assert not is_pinned(version)
    assert "the version is not pinned; name the folder by" in refused(tmp_path)


def test_a_report_of_another_build_is_refused(tmp_path: Path) -> None:
    """`read_record` refuses a report of another version or target than its folders name.

    So it does a REPRODUCE.md of another suite version, or without one.
    """
    (tmp_path / "a").mkdir()
    add(tmp_path / "one", "alpha", "1.0").rename(tmp_path / "a" / "2.0")
    (tmp_path / "one").joinpath("alpha", "2.0").parent.rmdir()
    (tmp_path / "a").rename(tmp_path / "one" / "alpha")
    add(tmp_path / "two", "alpha", "1.0").parent.rename(tmp_path / "two" / "beta")
    add(tmp_path / "three", "alpha", "1.0", files={"REPRODUCE.md": reproduce("1.0", "0.1")})
    add(tmp_path / "four", "alpha", "1.0", files={"REPRODUCE.md": "# Nothing\n"})

    add(tmp_path / "five", "alpha", "1.0", files={"REPRODUCE.md": reproduce("11.0", "1.0.0")})

    assert "its target is not version 1.0" in refused(tmp_path / "five")
    assert "it is about version 1.0" in refused(tmp_path / "one")
    assert "it is about alpha" in refused(tmp_path / "two")
    assert "its suite is not version" in refused(tmp_path / "three")
    assert "it has no line `- Suite: ...`; add it" in refused(tmp_path / "four")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "its name is missing, and that of the report alpha"),
        ('name = "other"\nversion = "1.0"', "its name is other, and that of the report alpha"),
        ('name = "alpha"\nversion = "9.9"', "its version is 9.9, and that of the report 1.0"),
        (
            'name = "alpha"\nversion = "1.0"\ncapabilities = ["approval"]',
            "it declares approval, and the report does not",
        ),
    ],
)
def test_a_target_file_of_another_run_is_refused(text: str, words: str, tmp_path: Path) -> None:
    """`read_record` refuses a target file of another name, version or capability."""
    add(tmp_path, "alpha", "1.0", files={"target.toml": text})

    assert refused(tmp_path) == f"alpha/1.0/target.toml: {words}; take the file of the run"


def test_a_version_is_there_once(tmp_path: Path) -> None:
    """`read_record` refuses two builds of one version, with and without a `v`."""
    add(tmp_path, "alpha", "1.0")
    add(tmp_path, "alpha", "v1.0")

    assert refused(tmp_path) == "alpha/v1.0: it is the version of 1.0; keep one of them"


@pytest.mark.parametrize("name", ["a b", "<script>", "x\ny", "é", "a" * 81])
def test_a_name_that_no_page_can_have_is_refused(name: str, tmp_path: Path) -> None:
    """`read_record` refuses a folder name that no page can have, in a sentence of one line."""
    add(tmp_path, "alpha", "1.0").parent.rename(tmp_path / name)

    sentence = refused(tmp_path)

    assert "no page can have this name" in sentence
    assert "\n" not in sentence


def test_links_and_other_files_are_refused(tmp_path: Path) -> None:
    """`read_record` refuses links, unknown files, names that differ in case, and a missing file."""
    add(tmp_path / "one", "alpha", "1.0")
    (tmp_path / "one" / "beta").symlink_to(tmp_path / "one" / "alpha")
    build = add(tmp_path / "two", "alpha", "1.0")
    (build / "reply.txt").symlink_to("/etc/hostname")
    build = add(tmp_path / "three", "alpha", "1.0")
    (build / "page.html").write_text("<script>", encoding="utf-8")
    add(tmp_path / "four", "alpha", "1.0")
    add(tmp_path / "four", "Alpha", "1.0")
    (add(tmp_path / "five", "alpha", "1.0") / "target.toml").unlink()

    assert "one/beta: it is a link" in refused(tmp_path / "one")
    assert "alpha/1.0/reply.txt: it is a link" in refused(tmp_path / "two")
    assert "alpha/1.0/page.html: a build has no such file" in refused(tmp_path / "three")
    assert "differs in case alone" in refused(tmp_path / "four")
    assert "target.toml is missing" in refused(tmp_path / "five")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b'"\xff"', "it is not UTF-8"),
        (b"[]", "does not have the format"),
        (b" " * ((4 << 20) + 1), "it has more than 4194304 bytes; shorten it with `report"),
    ],
)
def test_a_file_that_is_no_report_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    """`read_record` refuses a report that is not JSON or UTF-8, of another format or over 4 MiB."""
    (add(tmp_path, "alpha", "1.0") / "report.json").write_bytes(content)

    assert words in refused(tmp_path)


def test_a_folder_without_reports_is_refused(tmp_path: Path) -> None:
    """`read_record` refuses a folder that is missing or empty, and says so."""
    assert "it is not a folder" in refused(tmp_path / "none")
    assert "it has no report" in refused(tmp_path)
