"""Unread remediation texts as lines of `[pins]` for a target file, and texts read by pins."""

from __future__ import annotations

import tomllib

import msgspec
import pytest
from hand_written_endings import OPEN, result_of

from mcp_proxy_conformance.report.document import Report
from mcp_proxy_conformance.report.pins import accepted_texts, pins, quoted

CONFIG, USER = "disabled_by_config", "disabled_by_user"
ODD = 'Ask "them"\n\x7f\u202e\U000e0041 \U0001f512 C:\\new'


def _report(*texts: tuple[str, str], level: str = "required", **members: object) -> Report:
    """Return a report of one inconclusive result with these unread texts.

    Each text is (its status, the text); `members` replace members of the result.
    """
    unread = [{"status": status, "text": text} for status, text in texts]
    result = result_of("test_words", ["FR-005.class"], verdict="inconclusive", blame="",
                       level=level, unread=unread, **members)  # fmt: skip
    return msgspec.convert(OPEN | {"results": [result]}, Report)


def test_each_text_is_listed_once_under_the_first_status_it_was_given_for() -> None:
    """`pins` lists each unread text once, under the first status that it was given for.

    A comment names its other status.
    """
    lines = pins(_report((USER, "b"), (CONFIG, "a"), (CONFIG, "b"), (USER, "b"), (USER, ODD)))

    assert tomllib.loads("\n".join(lines)) == {"pins": {CONFIG: ["a"], USER: ["b", ODD]}}
    assert [line for line in lines if "#" in line] == [
        '  "b",  # also given for disabled_by_config'
    ]


@pytest.mark.parametrize("text", [ODD, "", "'''", "\t\x00"])
def test_a_text_is_quoted_so_that_it_comes_back_and_nothing_of_it_acts(text: str) -> None:
    """`quoted` makes any text one printable line, from which TOML reads the same text."""
    assert tomllib.loads(f"a = {quoted(text)}") == {"a": text}
    assert quoted(text).isprintable()


def test_where_every_text_that_counts_was_read_there_is_nothing_to_pin() -> None:
    """`pins` is empty without unread texts, and if only advisory results have some."""
    assert pins(_report()) == []
    assert pins(_report((USER, "b"), level="advisory")) == []


def test_what_was_read_by_its_pin_is_listed_with_its_statuses() -> None:
    """`pinned` lists a text that was read by its pins once, quoted, with all of its statuses."""
    texts = [{"status": USER, "text": "b"}, {"status": CONFIG, "text": "b"}]

    assert accepted_texts(_report(pinned=[*texts, *texts])) == [f'"b" for {CONFIG} and {USER}']
