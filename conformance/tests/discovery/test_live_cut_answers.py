"""Live checks on answers of an endpoint that lists few locked tools: what is missing may be cut."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import pytest

from mcp_proxy_conformance.catalogue.world import ToolKey
from mcp_proxy_conformance.discovery.answer import Answer, Entry
from mcp_proxy_conformance.discovery.live.endpoint import Endpoint
from mcp_proxy_conformance.discovery.live.live_bench import LiveBench
from mcp_proxy_conformance.discovery.live.survey import Survey
from mcp_proxy_conformance.discovery.live.talk import LiveAnswer
from mcp_proxy_conformance.verdict.result import Inconclusive

EXPECTED = ToolKey("forge", "zap")
MARKERS = ("requirement(*clauses)", "on(world)")
"""Markers of checks, which are declared where these are run."""


def flagged(query: str, *tools: str, who: str = "") -> LiveAnswer:
    """Return an answer with the flag that lists these locked tools of the server forge."""
    members = {"server": "forge", "status": "disabled_by_user"}
    entries = tuple(
        Entry(key=ToolKey("forge", name), name=name, members=members | {"name": name})
        for name in tools
    )
    answer = Answer(reply=cast("Any", None), query=query, disabled=entries, body={})
    return LiveAnswer(query=query, form="W", limit=None, who=who, arguments={}, messages=("0", "0"),
                      answer=answer)  # fmt: skip


def bench(fullest: tuple[str, ...], narrow: tuple[str, ...]) -> LiveBench:
    """Return the bench of an endpoint that answers a search, and the name of EXPECTED.

    The search gets the tools `fullest`; the name gets ant and bee, or `narrow` for the credential
    north.
    """
    named = flagged(EXPECTED.tool, "ant", "bee")
    triple = [named, flagged(EXPECTED.tool, *narrow, who="north"), named]
    record = Survey(searched=[flagged("all", *fullest), named], shared={"north": [triple]})
    endpoint = Endpoint(url="http://x.test/mcp", expect={EXPECTED: "disabled_by_user"})
    return LiveBench(endpoint, {}, record, {})


@pytest.mark.parametrize(
    ("name", "narrow"),
    [
        ("test_an_expected_user_lock_is_revealed", ()),
        ("test_a_narrower_credential_sees_no_more_locked_tools", ("cow", "dog")),
    ],
)
def test_what_is_missing_in_a_full_answer_accuses_nobody(
    name: str, narrow: tuple[str, ...], pytestconfig: pytest.Config
) -> None:
    """A tool that is missing is a breach if other answers list more, and is open if none does."""
    for marker in MARKERS:
        pytestconfig.addinivalue_line("markers", f"{marker}: of checks")
    check = getattr(
        import_module("mcp_proxy_conformance.discovery.live.checks.test_live_knowledge"), name
    )

    with pytest.raises(Inconclusive):
        check(bench(("ant", "bee"), narrow))
    with pytest.raises(AssertionError):
        check(bench(("ant", "bee", "cow"), narrow))
