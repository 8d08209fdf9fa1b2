"""Reading a file of known failures: lines, complaints, reasons, ids, expiry; any bytes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import needs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from known_failures import command

from mcp_proxy_conformance.verdict.deviations import deviation, reader
from mcp_proxy_conformance.verdict.deviations.deviation import BadDeviations, Deviation, Fault
from mcp_proxy_conformance.verdict.deviations.reader import read

pytestmark = needs.discovery
DAY = date(2026, 11, 22)
KNOWN = Path("known.toml")
CAP = """\
[[deviation]]
id = "FR-006.cap"
reason = "One too many since the rewrite."
issue = "https://example.com/issues/1"
expires = 2026-11-22
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty temporary folder for each test."""
    monkeypatch.chdir(tmp_path)


def complaints(text: str | bytes) -> list[str]:
    """Write this content to known.toml.

    Return the lines of the BadDeviations that reading raises.
    """
    KNOWN.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadDeviations) as refused:
        read(KNOWN, DAY)
    return str(refused.value).splitlines()


def test_an_entry_is_read_with_the_line_of_its_header() -> None:
    """Two entries are read in order, each with the line of its header.

    Similar headers in a comment or inside a text of several lines are not entries.
    """
    odd = (
        '# [[deviation]]\n[["deviation"]] # "\nid = "ROB.query" # [[deviation]]\n'
        "reason = '''\n[[deviation]]\nid = 1\n''''\nissue = \"https://example.com/#\\\"\"\n"
        "expires = 2027-01-01\n\r\n"
    )
    KNOWN.write_text(odd + CAP, encoding="utf-8", newline="")

    deviations = read(KNOWN, DAY)

    assert [(entry.id, entry.line, entry.file) for entry in deviations] == [
        ("ROB.query", 2, "known.toml"),
        ("FR-006.cap", 11, "known.toml"),
    ]
    assert deviations[1] == Deviation(
        id="FR-006.cap",
        reason="One too many since the rewrite.",
        issue="https://example.com/issues/1",
        expires=DAY,
        file="known.toml",
        line=11,
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "deviation = []\n"])
def test_a_file_may_name_no_failure(text: str) -> None:
    """A file without entries is read as ()."""
    KNOWN.write_text(text, encoding="utf-8")

    assert read(KNOWN, DAY) == ()


def swapped(old: str, new: str) -> str:
    """Return the example entry CAP with `old`, which must occur once in it, replaced by `new`."""
    assert CAP.count(old) == 1
    return CAP.replace(old, new)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[[deviations]]\n", 1, "unknown member 'deviations'; did you mean 'deviation'?"),
        ("\nversion = 1\n" + CAP, 2, "unknown member 'version'; known: deviation"),
        ("deviation = 1\n", 1, "deviation is not a list; begin each with [[deviation]]"),
        ("\n[deviation]\nid = 1\n", 2, "deviation is not a list; begin each with [[deviation]]"),
        ("deviation = [1]\n", 1, "deviation is not a list; begin each with [[deviation]]"),
        (CAP + "why = 1\n", 6, "unknown member 'why'; known: id, reason, issue, expires"),
        (CAP + "issues = 1\n", 6, "unknown member 'issues'; did you mean 'issue'?"),
        (swapped('id = "FR-006.cap"\n', ""), 1, "id is missing; an entry has id, reason, issue"),
        (swapped('"FR-006.cap"', "7"), 2, "id is not a text; put it in quotes"),
        (swapped("FR-006.cap", " "), 2, "id is empty; name a clause, a check or a case"),
        (swapped("2026-11-22", '"2026-11-22"'), 5, "expires is not a date; write it as 2027-01-31"),
        (swapped("2026-11-22", "2026-11-22T10:00:00Z"), 5, "expires is not a date; write it as"),
        (swapped("expires = 2026-11-22\n", ""), 1, "expires is missing; an entry has"),
        (swapped("https://example.com/issues/1", ""), 4, "issue is not a link; give the http(s)"),
        (swapped("https://example.com/issues/1", "#17"), 4, "issue is not a link"),
        (swapped("https://example.com/issues/1", "ftp://a/b"), 4, "issue is not a link"),
        (swapped("https://example.com/issues/1", "https://[a"), 4, "issue is not a link"),
        (swapped("https://example.com/issues/1", "https:// a"), 4, "issue is not a link"),
        (swapped("https", "\\u001b[2Jhttps"), 4, "issue is not a link"),
        (CAP + CAP, 7, "'FR-006.cap' is also on line 1; keep only one of them"),
        (swapped("reason =", "reason"), 3, "is not TOML: "),
        (CAP + "[", 6, "is not TOML: "),
        (swapped("2026-11-22", "2026-02-30"), 5, "is not TOML: Invalid date or datetime"),
        (b"\n\nid = '\xff'", 3, "is not UTF-8; save the file in that encoding"),
        ("x = " + "[" * 5000, 1, "nests too deeply"),
        ("#" * (reader.MOST + 1), 1, "has more than 1048576 bytes"),
    ],
)
def test_what_does_not_keep_to_the_form_is_reported_with_its_line(
    text: str | bytes, line: int, words: str
) -> None:
    """A malformed file raises BadDeviations with one sentence: its line, and what is wrong.

    `deviations check` on it exits with 2.
    """
    (sentence,) = complaints(text)

    assert sentence.startswith(f"known.toml:{line}: {words}")
    assert command("deviations", "check", str(KNOWN)).exit_code == 2


@pytest.mark.parametrize(
    "reason",
    ["", " ", "...", "TODO", "tbd", "TODO: say why", "FIXME later", "reason", "?!", "None."],
)
def test_a_reason_that_says_nothing_is_none(reason: str) -> None:
    """An empty reason, or a placeholder such as TODO, raises BadDeviations at its line."""
    sentences = complaints(swapped("One too many since the rewrite.", reason))

    assert sentences == [
        "known.toml:3: reason gives no reason; say why this failure is not fixed yet"
    ]


def test_a_reason_may_speak_of_what_is_to_be_done() -> None:
    """A reason with `todo` inside is accepted: only one that begins so is a placeholder."""
    KNOWN.write_text(swapped("One too many", "Ordered todo lists break"), encoding="utf-8")

    assert len(read(KNOWN, DAY)) == 1


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("FR-06.cap", "there is no clause, check or case 'FR-06.cap'; the nearest is 'FR-006.cap'"),
        ("SC-005.cap", "there is no clause, check or case 'SC-005.cap'; the nearest is 'SC-005."),
        ("test_no_such", "there is no clause, check or case 'test_no_such'; the nearest is 'test_"),
        ("test_no_such[1]", "there is no clause, check or case 'test_no_such[1]'; the nearest is"),
        ("note-plain-nothing", "there is no clause, check or case 'note-plain-nothing'; the near"),
        ("[]", "there is no clause, check or case '[]'; the nearest is"),
        ("FR-006.fills", "FR-006.fills is advisory and never counts; take the entry out"),
        ("SUITE.changed", "SUITE.changed cannot be waived; accept the new answers with `base"),
        ("x" * 900_000, "there is no clause, check or case 'xxx"),
    ],
)
def test_an_id_that_names_nothing_that_counts_is_reported_with_the_nearest(
    wanted: str, words: str
) -> None:
    """An id that is unknown, advisory or never waived raises BadDeviations with the repair.

    An unknown one comes with the nearest known id; `deviations check` exits with 5.
    """
    (sentence,) = complaints(swapped("FR-006.cap", wanted))

    assert sentence.startswith(f"known.toml:2: {words}")
    assert command("deviations", "check", str(KNOWN)).exit_code == 5


@needs.resilience
@pytest.mark.parametrize(
    "wanted",
    [
        "ROB.query",
        "T1.timeout",
        "test_a_server_of_a_similar_name_is_beyond_the_scope",
        "test_a_server_of_a_similar_name_is_beyond_the_scope[long]",
        "discovery/test_scope_elsewhere.py::test_a_server_of_a_similar_name_is_beyond_the_scope",
        "remediation-both",
        "again-claims",
        "[remediation-both]",
    ],
)
def test_clauses_checks_and_cases_of_every_profile_can_be_named(wanted: str) -> None:
    """An id may be a clause, a check, a case or a check with its case, of any profile."""
    KNOWN.write_text(swapped("FR-006.cap", wanted), encoding="utf-8")

    assert [entry.id for entry in read(KNOWN, DAY)] == [wanted]


def test_an_entry_holds_to_the_end_of_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the day of `expires` an entry is read.

    The day after, `deviations check` exits with 5, and prints its line and the repair.
    """
    KNOWN.write_text(CAP, encoding="utf-8")
    held = read(KNOWN, date(2026, 11, 22))
    monkeypatch.setattr(reader, "today", lambda: date(2026, 11, 23))
    done = command("deviations", "check", str(KNOWN))

    assert len(held) == 1
    assert (done.exit_code, done.output) == (
        5,
        "known.toml:5: FR-006.cap expired on 2026-11-22; fix the failure or set a new date\n",
    )


def test_the_day_is_that_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """`deviation.today` asks the clock for the time in UTC, and returns its date."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Clock:
            """Return 2026-11-22 23:59; the zone must be UTC."""
            assert tz is UTC
            return cls(2026, 11, 22, 23, 59, tzinfo=tz)

    monkeypatch.setattr(deviation, "datetime", Clock)

    assert deviation.today() == DAY


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    """An expired entry and another's malformed link are reported together; exit 2, not 5.

    The unknown id of the second entry is left out.
    """
    sentences = complaints(
        swapped("2026-11-22", "2020-01-01") + CAP.replace("cap", "caps").replace("https", "http s"),
    )

    assert [sentence.partition(": ")[0] for sentence in sentences] == [
        "known.toml:5",
        "known.toml:9",
    ]
    assert command("deviations", "check", str(KNOWN)).exit_code == 2


def test_of_a_file_that_is_something_else_not_everything_is_reported() -> None:
    """Of a file with 50,000 unknown members the first 20 are reported."""
    sentences = complaints("".join(f"x{number} = 1\n" for number in range(50_000)))

    assert (sentences[0], len(sentences)) == (
        "known.toml:1: unknown member 'x0'; known: deviation",
        20,
    )


def test_a_file_that_is_not_there_or_no_file_is_reported() -> None:
    """A missing file, a folder and a name with NUL raise BadDeviations, which names the repair."""
    for name in (str(KNOWN), ".", "a\0b"):
        with pytest.raises(BadDeviations, match=r"cannot be read: .+; name another file, or let"):
            read(Path(name), DAY)


@settings(
    max_examples=300,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | st.lists(
        st.sampled_from(
            [*CAP.splitlines(keepends=True), "'''", '"""', "]]", "#", "id = 1\n", "x = [\n", "\r\n",
             "[[deviation]]", "deviation = [{id = 'a'}]\n", "[deviation.a]\n", "\\", '"', "= nan\n"]
        ),
        max_size=12,
    ).map(lambda parts: "".join(parts).encode())
)  # fmt: skip
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    """Any bytes are read, or refused with faults whose lines are lines of the file."""
    KNOWN.write_bytes(raw)

    wrong: tuple[Fault, ...] = ()
    try:
        read(KNOWN, DAY)
    except BadDeviations as error:
        wrong = error.faults or (Fault(file="", line=0, text="none is told"),)

    assert [str(fault) for fault in wrong if not 1 <= fault.line <= raw.count(b"\n") + 1] == []
