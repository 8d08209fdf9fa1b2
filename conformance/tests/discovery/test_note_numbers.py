"""Numbers read from notes, in digits, words or as an article; none read into other words."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.discovery.numbers import numbers_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3 matching tools exist but cannot be called", (3,)),
        ("(15 locked)", (15,)),
        ("10+ tools are locked", (10,)),
        ("Locked matches: 3.", (3,)),
        ("1,200 tools are locked", (1200,)),
        ("\uff11\uff15 tools", (15,)),
        ("Three tools match, all locked.", (3,)),
        ("fifteen locked tools", (15,)),
        ("twenty-one tools", (21,)),
        ("twenty one tools", (21,)),
        ("two hundred and five tools", (205,)),
        ("a hundred locked matches", (100,)),
        ("one thousand two hundred tools", (1200,)),
        ("15 tools match; ask for one of them", (15, 1)),
        ("one, two or three", (1, 2, 3)),
        ("a locked tool matches", (1,)),
        ("A matching tool exists", (1,)),
        ("a single match", (1, 1)),
        ("a dozen matches", (12,)),
        ("1 tool", (1,)),
        ("有3个工具", (3,)),
        ("locked tools...3", (3,)),
        ("9" * 6000, (10**18 - 1,)),
    ],
)
def test_a_number_is_read(text: str, numbers: tuple[int, ...]) -> None:
    """`numbers_in` reads numbers in digits, in words, or as an article, in order.

    A number of thousands of digits is read as 10**18 - 1.
    """
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Some tools are locked; set include_disabled to true.",
        "tool2 of alpha7 is locked",
        "see version 1.5 of the manual",
        "someone has locked often-used tools",
        "use a flag to see more",
    ],
)
def test_no_number_is_read_into_other_words(text: str) -> None:
    """`numbers_in` reads no number in names, versions or other words."""
    assert numbers_in(text) == ()
