"""`report --compare`: the matrix of several reports, as Markdown or HTML, and refused input."""

from __future__ import annotations

import json
from pathlib import Path

import needs
import pytest
from click.testing import CliRunner, Result
from hand_written_reports import (
    BAD,
    CLEAN,
    HOSTILE,
    MANY,
    ONE,
    Json,
    clause,
    outside_code,
    result,
    several,
)
from page_runs import LONG, WAIVED

from mcp_proxy_conformance.cli import main
from mcp_proxy_conformance.report import side_by_side
from mcp_proxy_conformance.report.matrix import matrix

OTHER = CLEAN | {
    "profile": CLEAN["profile"] | {"id": "robustness", "name": "robustness@1"},
    "clauses": [
        clause("FR-000.gone", "required", "pass"),
        clause("FR-006.cap", "required", "not_applicable", "left out"),
    ],
}
REPORTS = [("a.json", CLEAN), ("b.json", ONE), ("c.json", OTHER)]


def compare(tmp_path: Path, *reports: Json | bytes, more: tuple[str, ...] = ()) -> Result:
    """Write these reports to files, bytes as they are, and run `report --compare` on them.

    `more` are further words of the command. Return its result.
    """
    files = []
    for number, document in enumerate(reports):
        file = tmp_path / f"{number}.json"
        file.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
        files.append(str(file))
    return CliRunner().invoke(main, ["report", "--compare", *files, *more])


def test_rows_are_the_clauses_of_all_profiles() -> None:
    """The matrix has a row for each clause of any report, known ones in the catalogue's order.

    The cell of a clause that was not asked for says why; all five rows differ.
    """
    table = matrix(several(REPORTS))

    words = {row.clause: [cell.word for cell in row.cells] for row in table.rows}
    assert list(words.items()) == [
        ("FR-001.accepts", ["pass", "pass", "not asked"]),
        ("FR-006.cap", ["pass", "fail", "not asked"]),
        ("FR-006.fills", ["fail", "fail", "not asked"]),
        ("FR-010.inspect", ["not_applicable", "not_applicable", "not asked"]),
        ("FR-000.gone", ["not asked", "not asked", "pass"]),
    ]
    assert table.differing == 5
    assert [row.cells[2].reason for row in table.rows][:2] == [
        "It is not in robustness@1.",
        "It was left out of this run.",
    ]


def test_equal_reports_do_not_differ() -> None:
    """The matrix of two equal reports has no differing row."""
    assert matrix(several([("a", MANY), ("b", MANY)])).differing == 0


def test_a_cell_names_the_checks_that_are_not_settled() -> None:
    """A cell of the matrix names six unsettled checks of its clause, and counts the others."""
    (row,) = (
        candidate
        for candidate in matrix(several([("a", MANY), ("b", ONE)])).rows
        if candidate.clause == "FR-006.cap"
    )

    assert row.cells[1].checks == ("test_cap[11]",)
    assert (len(row.cells[0].checks), row.cells[0].more) == (6, 84)


@needs.discovery
def test_markdown_is_a_table_and_its_reasons() -> None:
    """The Markdown of two compared reports is exactly this text.

    It has a list, differing cells, the table of clauses and their reasons.
    """
    text = side_by_side.markdown(several(REPORTS[:2]))

    assert text == (
        "# Implementations and clauses\n"
        "\n"
        "1. `command plain, wire handshake`, `discovery@1`: `conformant`, exit 0 (`a.json`)\n"
        "2. `command plain, wire handshake`, `discovery@1`: `violated`, exit 1 (`b.json`)\n"
        "\n"
        "1 of 4 clauses differ; these are marked ≠.\n"
        "\n"
        "| picture | 1 | 2 |\n"
        "|---|---|---|\n"
        "| cap | holds | fails |\n"
        "\n"
        "| clause | 1 | 2 | |\n"
        "|---|---|---|---|\n"
        "| `FR-006.cap` | pass | fail | ≠ |\n"
        "| `FR-001.accepts` | pass | pass |  |\n"
        "| `FR-006.fills` (advisory) | fail | fail |  |\n"
        "| `FR-010.inspect` | not\\_applicable | not\\_applicable |  |\n"
        "\n"
        "## `FR-006.cap`\n"
        "\n"
        "An answer has at most as many locked entries as the smaller of its limit, or the"
        " default limit, and ten. (discovery\\-spec FR\\-006)\n"
        "\n"
        "- 2, fail: `plain`\n"
        "\n"
        "## `FR-006.fills`\n"
        "\n"
        "As many locked matches as the cap allows are returned. (discovery\\-spec FR\\-006)\n"
        "\n"
        "- 1, fail: `plain`\n"
        "- 2, fail: `plain`\n"
    )


def test_markdown_keeps_hostile_words_in_code() -> None:
    """In the Markdown of compared reports, hostile words and file names are in code only.

    The table keeps its columns.
    """
    text = side_by_side.markdown(several([(HOSTILE, BAD), ("b", BAD)]))

    left = outside_code(text)
    assert "script" not in left
    assert "@nobody" not in left
    rows = [line for line in text.split("\n") if line.startswith("|")]
    assert {row.replace("\\_", "_").count("|") for row in rows} == {5}


@pytest.mark.parametrize("wanted", [(), ("--format", "html"), ("--format", "markdown")])
def test_the_same_files_make_the_same_bytes(wanted: tuple[str, ...], tmp_path: Path) -> None:
    """`report --compare` writes the same bytes to standard output and to --out, run twice.

    With --out nothing is printed; the default format is HTML.
    """
    out = tmp_path / "told"

    first = compare(tmp_path, CLEAN, ONE, WAIVED, more=wanted)
    second = compare(tmp_path, CLEAN, ONE, WAIVED, more=(*wanted, "--out", str(out)))

    assert (first.exit_code, second.exit_code, second.stdout) == (0, 0, "")
    assert first.stdout_bytes == out.read_bytes()
    assert first.stdout.startswith("#" if wanted[1:] == ("markdown",) else "<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("reports", "more", "words"),
    [
        ((), (), "name two files or more"),
        ((ONE,), (), "name two files or more"),
        ((ONE, b"{"), (), "1.json is not JSON"),
        ((b"[]", ONE), (), "0.json does not have the format"),
        ((ONE, ONE | {"messages": {}}), (), "cites the message"),
        ((ONE, ONE), ("none.json",), "none.json cannot be read"),
        ((ONE, ONE), ("--format", "sarif"), "--compare cannot write sarif; give --format html or"),
        ((ONE, ONE), ("--out", "/none/x.html"), "name another --out"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_sentence(
    reports: tuple[Json | bytes, ...], more: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    """`report --compare` exits with 2 and one line on standard error for input that it cannot use.

    That is too few, invalid or missing reports, or an unfit format or --out.
    """
    done = compare(tmp_path, *reports, more=more)

    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--format", "html"), "name one, or add --compare"),
        (("a.json", "b.json", "--format", "html"), "name one, or add --compare"),
        (("a.json",), "`report` needs --format; give one of junit, sarif"),
    ],
)
def test_one_run_is_rendered_from_one_file(arguments: tuple[str, ...], words: str) -> None:
    """`report` without a file, with two, or without a format exits with 2.

    One line on standard error says what to give.
    """
    done = CliRunner().invoke(main, ["report", *arguments])

    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert words in done.stderr


def test_a_clause_of_a_stranger_has_a_place() -> None:
    """Odd and repeated clause ids of a report have different anchors, printable, without spaces."""
    odd = CLEAN | {
        "clauses": [clause(name, "required", "pass") for name in ("a b", "<i>", "x", "x")]
    }
    stranger = result("fail") | {"clauses": ["a b"]}

    table = matrix(several([("a", odd | {"results": [stranger]}), ("b", LONG)]))

    anchors = [row.anchor for row in table.rows]
    assert len(set(anchors)) == len(anchors)
    assert all(anchor.isprintable() and " " not in anchor for anchor in anchors)
