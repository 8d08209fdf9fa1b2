"""Leaks of an endpoint's answers about locked tools, as opposed to an echo of the query."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from mcp_proxy_conformance.catalogue.surface import Members
from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.live.leaks import _common, _leaked
from mcp_proxy_conformance.discovery.live.words import NOWHERE

BENCH = cast("Any", SimpleNamespace(surface=SimpleNamespace(members=Members())))
TEXT = "Deletes a repository for good."


def leaks(query: str, name: str, **members: Any) -> list[str]:
    """Return the texts of a locked tool that leak in an answer without the flag.

    The tool has that name and the description TEXT; the answer has the query and these members.
    """
    entry = Entry(key=ToolKey("", name), name=name, members={"description": TEXT})
    answer = Answer(reply=cast("Any", None), query=query, body={"query": query} | members)
    return list(_leaked(BENCH, entry, answer))


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("repository/..", "repository"),
        ("delete repository", "repository"),
        ("repository", "repository"),
        (f"which tool {TEXT}", "delete_repository"),
    ],
)
def test_what_a_query_holds_is_no_leak(query: str, name: str) -> None:
    """A locked tool's name or description that is in the query itself is not a leak."""
    assert leaks(query, name) == []


def test_what_the_query_does_not_hold_is_one() -> None:
    """A locked tool's name as a whole word, or its description, in an answer is a leak.

    A name inside a longer one is none.
    """
    assert leaks("rename", "delete_repository", notice="try delete_repository") == [
        "delete_repository"
    ]
    assert leaks("rename", "delete_repository", notice=f"see: {TEXT}") == [TEXT]
    assert leaks("rename", "delete", notice="delete_repository") == []


@pytest.mark.parametrize("text", ["Deletes a repository.", 'Deletes a "repo".', "Two\nlines."])
def test_what_every_answer_holds_is_common(text: str) -> None:
    """A locked tool's text that the answer to a word of no tool has, too, is `_common`."""
    entry = Entry(key=ToolKey("", "delete"), name="delete", members={"description": text})
    answer = Answer(reply=cast("Any", None), query=NOWHERE, body={"usage": f"Try it: {text}"})
    look = SimpleNamespace(answer=answer, flagged=False)
    survey = SimpleNamespace(rounds={NOWHERE: [look]})
    bench = cast("Any", SimpleNamespace(survey=survey, entries=lambda: [("", entry)]))

    assert _common(bench) == {text}
