"""`init --from REPORT`: unread remediation texts as comments of a target file, new or old."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hand_written_endings import OPEN
from hand_written_reports import CLEAN

from mcp_proxy_conformance.cli import main

TEXT = "ask the one who knows"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Write a report with one remediation text that was not understood; return its path."""
    place = tmp_path / "report.json"
    place.write_text(json.dumps(OPEN), encoding="utf-8")
    return place


def _init(*words: str | Path) -> Result:
    """Run `init` with these words in this process; return its result."""
    return CliRunner().invoke(main, ["init", *map(str, words)])


def _chosen(file: Path) -> dict[str, object]:
    """Return a target file's data as if the comments at its end were uncommented.

    The comments must be there, after the heading `# Texts that a run`.
    """
    before, head, added = file.read_text(encoding="utf-8").partition("# Texts that a run")
    assert head
    lines = [line.removeprefix("# ") for line in added.splitlines()[2:]]
    return tomllib.loads(before + "\n".join(lines))


def test_a_new_file_ends_with_the_texts_to_choose_from(tmp_path: Path, report: Path) -> None:
    """`init --from` writes a new target file with the unread text in a comment at its end; exit 0.

    Its `pins` are still empty.
    """
    file = tmp_path / "new.toml"

    done = _init(file, "--from", report)

    assert (done.exit_code, "move each text at the end" in done.output) == (0, True)
    assert tomllib.loads(file.read_text(encoding="utf-8"))["pins"] == {}
    assert _chosen(file)["pins"] == {"disabled_by_config": [TEXT]}


@pytest.mark.parametrize("before", ['kind = "reference"', "kind = 'command'\n[pins]\n", ""])
def test_a_file_keeps_what_it_has_and_each_text_is_added_once(
    before: str, tmp_path: Path, report: Path
) -> None:
    """`init --from` keeps the content of an existing file.

    Run twice, it adds the unread text once.
    """
    file = tmp_path / "own.toml"
    file.write_text(before, encoding="utf-8")

    codes = [_init(file, "--from", report).exit_code for _ in range(2)]

    text = file.read_text(encoding="utf-8")
    assert (codes, text.startswith(before), text.count(TEXT)) == ([0, 0], True, 1)
    assert _chosen(file)["pins"] == {"disabled_by_config": [TEXT]}


def test_where_every_text_was_read_nothing_is_written(tmp_path: Path) -> None:
    """`init --from` a report whose texts were all read exits with 0 and writes no file."""
    report, file = tmp_path / "report.json", tmp_path / "new.toml"
    report.write_text(json.dumps(CLEAN), encoding="utf-8")

    done = _init(file, "--from", report)

    assert (done.exit_code, file.exists()) == (0, False)
    assert "needs no further text" in done.output


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"{}", "not have"),
                                              (b"\xff", "is not JSON")])  # fmt: skip
def test_what_is_no_report_is_refused_and_nothing_is_written(
    content: bytes | None, why: str, tmp_path: Path
) -> None:
    """`init --from` a missing or invalid report exits with 2 and says why; no file is written."""
    report, file = tmp_path / "report.json", tmp_path / "new.toml"
    if content is not None:
        report.write_bytes(content)

    done = _init(file, "--from", report)

    assert (done.exit_code, why in done.output, file.exists()) == (2, True, False)


def test_a_file_that_is_there_is_never_written_over(tmp_path: Path) -> None:
    """`init` on an existing file exits with 2 and leaves it unchanged.

    So does `init --from` if that file is not UTF-8.
    """
    file, odd = tmp_path / "own.toml", tmp_path / "odd.toml"
    file.write_text("x", encoding="utf-8")
    odd.write_bytes(b"\xff")
    report = tmp_path / "report.json"
    report.write_text(json.dumps(OPEN), encoding="utf-8")

    plain, bytes_ = _init(file), _init(odd, "--from", report)

    assert (plain.exit_code, file.read_text(encoding="utf-8")) == (2, "x")
    assert (bytes_.exit_code, odd.read_bytes()) == (2, b"\xff")
    assert "it is not UTF-8" in bytes_.output
