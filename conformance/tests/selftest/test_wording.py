"""Wording of findings' sentences: begun by their clause, plain, and Python in them is found."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.catalogue.requirement import catalogue
from mcp_proxy_conformance.report.difference import sentences
from mcp_proxy_conformance.selftest.wording import is_plain
from mcp_proxy_conformance.verdict.comparison import of_sides

PLAIN = [
    "an answer has more locked entries than its cap allows: nokidavu: 11",
    'status of forge:mobel_drop (at /mcp/call): absent; allowed: absent or "server disabled"',
    'note: "{\\"a\\": [None, True]} (\'x\')"; allowed: no note',
    'query "issue", text.tools[forge:drop].score near byte 9: "{"; allowed: "["',
    'note: "{None... (730 characters)',
    'member not_shown: {"upland": 8, "north": [1, {"a": true}]}; allowed: {"upland": 0}',
    'rejection of forge:drop: "It\'s locked."; allowed: a text that says operator policy',
]
PYTHON = [
    "note: None",
    "mobel: [[], []]",
    "('at /mcp', 'mobel'): 11",
    "query {'query': 'issue'}: other bytes",
    'member a: {"upland": 8}; allowed: {8}',
    "set()",
    "description is None; allowed: True",
    "TextJudgement(outcome=x)",
    "here b'abc'",
]


@pytest.mark.parametrize("sentence", PLAIN)
def test_words_of_the_target_may_hold_anything(sentence: str) -> None:
    """`is_plain` accepts a sentence with Python only in quotation marks, as a target's words."""
    assert is_plain(sentence)


@pytest.mark.parametrize("sentence", PYTHON)
def test_python_in_a_sentence_is_found(sentence: str) -> None:
    """`is_plain` refuses a Python literal, call or repr outside of quotation marks."""
    assert not is_plain(sentence)


VALUES: list[object] = [None, True, [], {}, ["a b", ("c", None)], {"a": [1, {"b": True}]}, b"x", ""]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_required_clause_begins_its_sentence(value: object) -> None:
    """Whatever value a finding holds, its sentence is plain and begins with its clause's words.

    These are the clause's `broken`.
    """
    required = [clause for clause in catalogue().clauses.values() if clause.level == "required"]
    for clause in required:
        sides = ("==", {"forge:drop": value}, {"forge:drop": "something else"})

        lines = sentences(of_sides(sides, (clause.id,)))

        assert lines[0].startswith(f"{clause.broken}: forge:drop")
        assert [line for line in lines if not is_plain(line)] == []
