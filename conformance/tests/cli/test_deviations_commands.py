"""`deviations init` and `check`: a file of known failures begun from a report, and validated."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import needs
import pytest
from hand_written_reports import BAD, CLEAN, HOSTILE, ONE, report, result, typed
from known_failures import command, write

from mcp_proxy_conformance.verdict.causes import causes
from mcp_proxy_conformance.verdict.deviations.deviation import FILE
from mcp_proxy_conformance.verdict.deviations.draft import begun, broken

KNOWN = Path("known.toml")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty temporary folder for each test."""
    monkeypatch.chdir(tmp_path)


def written(document: dict[str, Any]) -> str:
    """Write the document as JSON to report.json in the working folder; return that file name."""
    Path("report.json").write_text(json.dumps(document), encoding="utf-8")
    return "report.json"


@needs.discovery
def test_a_file_is_begun_from_a_report_and_refused_until_it_is_filled_in() -> None:
    """`deviations init` writes an entry for each failed clause, with the failure as a comment.

    Reason and issue are empty, so `deviations check` exits with 2 and a line for each.
    """
    begun_at = command("deviations", "init", written(ONE), "--out", str(KNOWN),
                       "--expires", "2999-12-31")  # fmt: skip
    text = KNOWN.read_text(encoding="utf-8")
    checked = command("deviations", "check", str(KNOWN))

    assert begun_at.exit_code == 0
    assert tomllib.loads(text) == {
        "deviation": [
            {"id": "FR-006.cap", "reason": "", "issue": "", "expires": date(2999, 12, 31)}
        ]
    }
    assert "\n# assert 11 <= 10\n" in text
    assert (checked.exit_code, checked.output.splitlines()) == (
        2,
        [
            "known.toml:8: reason gives no reason; say why this failure is not fixed yet",
            "known.toml:9: issue is not a link; give the http(s) address of the issue",
        ],
    )


def test_a_file_that_is_there_is_not_written_over() -> None:
    """`deviations init --out` with an existing file exits with 2; the file is unchanged."""
    write("FR-006.cap", name=str(KNOWN))
    before = KNOWN.read_bytes()

    done = command("deviations", "init", written(ONE), "--out", str(KNOWN))

    assert (done.exit_code, done.output) == (
        2,
        "known.toml exists; name another --out, or move it away\n",
    )
    assert KNOWN.read_bytes() == before


@pytest.mark.parametrize(
    ("document", "more", "words"),
    [
        (CLEAN, [], "has no failure that can be waived; no file is needed"),
        (report(result("fail") | {"check": "presence"}), [], "has no failure that can be waived"),
        ({}, [], "does not have the format"),
        (ONE, ["--expires", "2020-01-01"], "--expires 2020-01-01 is in the past; give today or"),
        (ONE, ["--expires", "soon"], "'soon'"),
        (ONE, ["--out", "/dev/null/x"], "/dev/null/x cannot be written"),
    ],
)
def test_nothing_is_begun_where_nothing_can_be(
    document: dict[str, Any], more: list[str], words: str
) -> None:
    """`deviations init` without a failure to waive, or on a bad report or option, exits with 2.

    The output says why, and no file is written.
    """
    out = [] if "--out" in more else ["--out", str(KNOWN)]
    done = command("deviations", "init", written(document), *out, *more)

    assert (done.exit_code, words in done.output, KNOWN.exists()) == (2, True, False)


@pytest.mark.parametrize(
    ("name", "line"), [(FILE, "run"), ("my known.toml", "run --deviations 'my known.toml'")]
)
def test_what_begins_a_file_says_how_a_run_reads_it(name: str, line: str) -> None:
    """`deviations init` prints the command of the next run, with --deviations if the file needs it.

    The usual file name needs none.
    """
    done = command("deviations", "init", written(report(result("fail"))), "--out", name)

    output = f"{name}: fill in each reason and issue, then run: mcp-proxy-conformance {line}\n"
    assert (done.exit_code, done.output) == (0, output)


def test_what_a_target_said_stays_a_comment() -> None:
    """Hostile words of a report add no entry and no member to the file that is begun from it."""
    bad = typed(BAD)
    text = begun(
        broken(bad.clauses, bad.results) | {HOSTILE: HOSTILE},
        causes(bad.clauses, bad.results),
        date(2026, 11, 22),
    )

    assert [set(entry) for entry in tomllib.loads(text)["deviation"]] == [
        {"id", "reason", "issue", "expires"}
    ] * 2


@needs.discovery
def test_a_sound_file_is_counted() -> None:
    """`deviations check` of a valid file exits with 0.

    It prints the number of entries and the first expiry.
    """
    write("FR-006.cap", name=str(KNOWN), expires="2999-01-02")

    done = command("deviations", "check", str(KNOWN))

    assert (done.exit_code, done.output) == (
        0,
        "known.toml: deviations: 1, the first expires on 2999-01-02\n",
    )
