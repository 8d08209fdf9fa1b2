"""A run as Markdown: hostile words in code only, even tables, both sides, a limit of failures."""

from __future__ import annotations

import re

import needs
from hand_written_reports import BAD, MANY, ONE, TOO_MANY, outside_code, typed

from mcp_proxy_conformance.report import markdown


def test_markdown_holds_what_a_target_said_in_code_alone() -> None:
    """The Markdown of a hostile report has none of the hostile words outside of code."""
    left = outside_code(markdown.render(typed(BAD)))

    assert re.findall(r"tick|fence|script|evil|javascript|@nobody|heading|~~~|127\.0", left) == []


def test_markdown_tables_keep_their_columns() -> None:
    """In the Markdown of a hostile report, all five rows of the table have the same columns."""
    text = markdown.render(typed(BAD)).partition("| verdict |")
    rows = [line for line in "".join(text[1:]).split("\n") if line.startswith("|")]

    assert len(rows) == 5
    assert {len(re.sub(r"\\.", "", row).split("|")) for row in rows} == {5}


@needs.discovery
def test_markdown_shows_a_failure_with_both_sides_and_how_to_see_it_again() -> None:
    """In Markdown a failure has clause, sentence, both sides, and the command to reproduce it."""
    text = markdown.render(typed(ONE))

    assert "## fail: `test_cap[11]`" in text
    assert "- `FR-006.cap` (discovery\\-spec FR\\-006): An answer has at most" in text
    assert f'{TOO_MANY}: "assert 11 <= 10"; allowed: 10\n```' in text
    assert "Reproduce with: `the same command and --check 'test_cap[11]'`" in text


def test_markdown_of_many_failures_ends() -> None:
    """In Markdown fifty of ninety-one failures and open results are shown, the others counted."""
    text = markdown.render(typed(MANY))

    assert text.replace("## Causes", "").count("\n## ") == 50
    assert text.endswith("\n41 more are in the JSON report.\n")
