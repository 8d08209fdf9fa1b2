"""A run as annotations of a GitHub job: broken clauses, headline, stale deviations, limits."""

from __future__ import annotations

import needs
import pytest
from action_runner import commands
from hand_written_reports import (
    BAD,
    CLEAN,
    HOSTILE,
    MANY,
    ONE,
    TOO_MANY,
    clause,
    report,
    result,
    typed,
)
from hypothesis import given
from hypothesis import strategies as st

from mcp_proxy_conformance.report import github
from mcp_proxy_conformance.verdict.redaction import inert

STALE = {
    "id": "FR-006.cap", "reason": "we know", "issue": "https://example.invalid/7",
    "expires": "2027-01-01", "file": "known, failures.toml", "line": 7, "state": "stale",
    "results": 1,
}  # fmt: skip


@needs.discovery
def test_a_broken_clause_is_an_error_with_its_sentence_and_both_sides() -> None:
    """A broken required clause is an `error` of the GitHub job, titled by the clause's id.

    The text has its sentence, the reason, both sides, and the command to reproduce it.
    """
    [(level, properties, text)] = commands(github.render(typed(ONE)))

    assert (level, properties) == ("error", {"title": "FR-006.cap"})
    assert text.splitlines()[0].startswith("An answer has at most")
    assert text.splitlines()[1:] == [
        "test_cap[11]: assert 11 <= 10",
        f'{TOO_MANY}: "assert 11 <= 10"; allowed: 10',
        "Reproduce with: the same command and --check 'test_cap[11]'",
    ]


def test_a_failure_stands_where_the_target_file_names_the_target() -> None:
    """With a target file, the error is at the line of `command`; the path is the repository's."""
    lines = {"kind": 2, "command": 5, "capabilities": 9}
    target = ONE["target"] | {"file": "mcp-proxy-conformance.toml", "lines": lines}

    [(_, properties, _)] = commands(github.render(typed(ONE | {"target": target}), "proxy"))

    assert properties == {
        "file": "proxy/mcp-proxy-conformance.toml", "line": "5", "title": "FR-006.cap"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("exit_code", "level"), [(0, "notice"), (4, "warning"), (2, "error"), (3, "error")]
)
def test_a_run_without_a_broken_clause_is_annotated_by_its_headline(
    exit_code: int, level: str
) -> None:
    """A run without a broken clause has one annotation: its headline as title, its reason as text.

    The exit code makes it a notice, a warning or an error.
    """
    document = CLEAN | {"exit": exit_code, "headline": "a headline"}

    assert commands(github.render(typed(document))) == [(level, {"title": "a headline"}, "plain")]


def test_one_clause_is_annotated_once_however_many_results_break_it() -> None:
    """A clause that many results break has one annotation."""
    assert len(commands(github.render(typed(MANY)))) == 1


def test_no_more_are_annotated_than_a_job_shows() -> None:
    """Of fourteen broken clauses nine have an annotation, and a tenth counts the others."""
    names = [f"FR-{number:03}.cap" for number in range(14)]
    results = [result("fail") | {"clauses": [name], "case": name, "findings": []} for name in names]
    document = report(*results) | {"clauses": [clause(name, "required", "fail") for name in names]}

    printed = commands(github.render(typed(document)))

    assert [properties["title"] for _, properties, _ in printed] == [*names[:9], "violated"]
    assert printed[9][2] == "5 more are in the report."


@pytest.mark.parametrize(("folder", "file"), [("", ""), (".", ""), ("a b", "a b/")])
def test_a_stale_deviation_is_annotated_at_its_line(folder: str, file: str) -> None:
    """A stale deviation is an `error` at its file and line, below the folder that is given.

    A used one has no annotation.
    """
    waivers = [STALE, STALE | {"state": "used"}]

    [(level, properties, text)] = commands(
        github.render(typed(CLEAN | {"waivers": waivers}), folder)
    )

    assert (level, properties.pop("title"), properties) == (
        "error",
        "stale deviation",
        {"file": f"{file}known, failures.toml", "line": "7"},
    )
    assert text == "FR-006.cap passes now; take the deviation out"


@pytest.mark.parametrize("exit_code", [2, 3, 70, 130])
def test_a_stale_deviation_does_not_hide_how_the_run_ended(exit_code: int) -> None:
    """With exit code 2, 3, 70 or 130, the headline's annotation precedes a stale deviation's."""
    document = CLEAN | {"exit": exit_code, "headline": "a headline", "waivers": [STALE]}

    printed = commands(github.render(typed(document)))

    assert [properties["title"] for _, properties, _ in printed] == [
        "a headline",
        "stale deviation",
    ]


def test_hostile_words_are_one_command() -> None:
    """A report of hostile words is one `error`, on one line, with the words made inert."""
    [(level, _, text)] = commands(github.render(typed(BAD)))

    assert level == "error"
    assert inert(HOSTILE).splitlines()[0] in text
    assert github.render(typed(BAD)).count("\n") == 1


@given(st.text(), st.text())
def test_any_text_is_one_line_that_reads_as_what_it_was(text: str, title: str) -> None:
    """`annotation` of any text and title is one line, which a runner reads as both, made inert."""
    line = github.annotation("error", text, title=title)

    assert commands(f"{line}\n") == [("error", {"title": inert(title)}, inert(text))]
