"""The exchange that a finding was read from: as its place, its value or the latest one names it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.comparison import (
    Comparison,
    merged,
    note_exchange,
    of_sides,
    plain,
    read_in,
    watched,
)
from mcp_proxy_conformance.verdict.exchanges import Exactly, Exchange, View, members_of

CAP = ("FR-006.cap",)
DROP = ToolKey("forge", "drop")


def exchange(number: int, **members: Any) -> Exchange:
    """Return an exchange of two messages, whose ids are twice the number less one, and twice."""
    return Exchange((str(2 * number - 1), str(2 * number)), members_of(members.items()))


EXCHANGES = (
    exchange(1, query="mobel", limit=-1, endpoint=""),
    exchange(2, query="mobel", limit=5, endpoint=""),
    exchange(3, query="mobel", limit=5, endpoint="/two"),
    exchange(4, tool="forge:drop"),
    exchange(5, query="tarnix"),
)
LIMIT_5, TWO = in_words({"query": "mobel", "limit": 5}), View("at /two", [("endpoint", "/two")])
USUAL = View("", [("endpoint", "")])


@pytest.mark.parametrize(
    ("observed", "number"),
    [
        ({in_words({"query": "mobel", "limit": -1}): 1}, 1),
        ({LIMIT_5: 1}, 3),  # the latest of two
        ({(LIMIT_5, USUAL): 1}, 2),
        ({(USUAL, (LIMIT_5, "locked entries")): 1}, 2),
        ({("mobel", TWO): 1}, 3),
        ({DROP: 1}, 4),
        ({"in no request": 1}, 5),
        ({Exactly("mobel", "2"): 1}, 1),
        ({"mobel": Exactly("callable", "4")}, 2),
        ([str(DROP)], 4),
        ({Exactly("callable", "2")}, 1),
        (7, 5),
    ],
)
def test_a_plain_assertion_is_read_from_the_exchange_that_it_names(
    observed: Any, number: int
) -> None:
    """Members, a view, a value, or a message of an exchange name it; else it is the latest."""
    allowed: Any = type(observed)()

    finding = of_sides(("==", observed, allowed), CAP, EXCHANGES)[0]

    assert finding.messages == EXCHANGES[number - 1].messages


def test_a_comparison_is_read_from_the_answer_compared_or_the_latest() -> None:
    """Its own messages come first, unless the value names its exchange; else it is the latest.

    A place that was named before keeps its exchange whatever comes later.
    """
    with watched():
        note_exchange(("1", "2"), [("query", "mobel")])
        named = read_in("the first", "mobel")
        note_exchange(("3", "4"), [("query", "tarnix")])
        compared = Comparison()
        for observed in (1, Exactly("absent", "2")):
            compared.one_of("x", observed, (2,), breaks=CAP)
        compared.messages = ("9", "10")
        compared.one_of("x", 1, (2,), breaks=CAP)

    assert [finding.messages for finding in compared.findings] == [
        ("3", "4"), ("1", "2"), ("9", "10"),
    ]  # fmt: skip
    assert (named, named.message) == ("the first", "2")


def test_equal_findings_of_several_views_are_one() -> None:
    """It has every view and all messages, the first ones first; one that differs stands apart."""
    eleven = {("mobel", USUAL): 11, ("mobel", TWO): 11, ("mobel", "note", TWO): 11}

    found = merged(of_sides(("==", eleven, {}), CAP, EXCHANGES))

    assert [(each.path, each.views, each.messages) for each in found] == [
        ("mobel", ("", "at /two"), ("3", "4", "5", "6")),
        ("mobel, note", ("at /two",), ("5", "6")),
    ]


def test_a_view_of_a_comparison_is_that_of_what_is_added() -> None:
    """The findings of a comparison that is added have the view, and equal ones become one."""
    first, second = Comparison(messages=("1", "2")), Comparison(messages=("3", "4"))
    for compared in (first, second):
        compared.one_of("locked entries", 11, (10,), breaks=CAP)

    first.add(second, view=TWO)

    (found,) = merged(first.findings)
    assert (found.views, found.messages) == (("", "at /two"), ("1", "2", "3", "4"))
    assert type(plain(found).views[1]) is str


def test_words_that_name_an_exchange_go_to_other_processes() -> None:
    """They keep what they name when they are pickled."""
    words = pickle.loads(pickle.dumps([Exactly("absent", "2"), LIMIT_5]))  # noqa: S301 - our own

    assert (words[0].message, words[1].members) == ("2", LIMIT_5.members)
