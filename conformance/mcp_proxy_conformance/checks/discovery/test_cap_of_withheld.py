"""The cap on withheld tools: FR-006."""

from __future__ import annotations

import pytest
from msgspec import structs

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on
from mcp_proxy_conformance.catalogue.world import CONFIG, Step, server, tool, world
from mcp_proxy_conformance.discovery.bench import Bench
from mcp_proxy_conformance.discovery.oracle import cap
from mcp_proxy_conformance.discovery.requests import in_words
from mcp_proxy_conformance.verdict.result import NotApplicable

SHARED = "gremtol"
NAMES = (
    "zorvik", "mobela", "tunrag", "felopi", "kadrus", "wibnot",
    "jolmek", "rastip", "cundov", "hepgal", "vimbok", "nastru",
)  # fmt: skip
ATTIC = structs.replace(
    world(
        server("quarry", tool("lidful_open"), tool("bexram_dig", groups=(SHARED,), locked=CONFIG)),
        server("attic", *(tool(f"{SHARED}_{name}") for name in NAMES)),
    ),
    steps=(Step(lock="quarantine", server="attic"),),
)


@requirement("FR-006.cap")
@on(ATTIC, needs=("quarantine",))
@pytest.mark.parametrize("limit", [5, 100])
def test_withheld_tools_come_within_the_cap(bench: Bench, limit: int) -> None:
    """For a name part of twelve quarantined tools, at most min(limit, 10) of them are listed."""
    answer = bench.until(
        lambda: bench.discover(SHARED, include_disabled=True, limit=limit),
        lambda answer: bool(answer.disabled),
    )
    bench.require(bench.revealed(f"{SHARED}_{NAMES[0]}"), "no quarantined tool was revealed")
    if not any(key.server == "attic" for key in answer.statuses()):
        raise NotApplicable("quarantined tools are found only by their full names")

    request = in_words({"query": SHARED, "limit": limit, "include_disabled": True})
    count, most = len(answer.disabled), cap(limit)
    assert {request: count} == {request: min(count, most)}
