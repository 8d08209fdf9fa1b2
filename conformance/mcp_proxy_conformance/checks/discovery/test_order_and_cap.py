"""Order, cap and window of a discovery answer: FR-006, SC-004."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.bench import ABSENT, Bench
from mcp_proxy_conformance.requirement import requirement
from mcp_proxy_conformance.stage import on, stage

CROWD = stage("crowd")
BULK = max(CROWD.queries(), key=lambda word: sum(word in t.groups for t in CROWD.tools().values()))


@requirement("FR-006.cap")
@on(CROWD)
@pytest.mark.parametrize("limit", [1, 2, 5, 9, 10, 11, 50, 100, ABSENT])
def test_no_more_locked_tools_come_back_than_the_limit_or_ten(bench: Bench, limit: object) -> None:
    """Of hundreds of locked matches at most min(limit, 10) are listed."""
    shown = bench.armed.shown[BULK]
    bench.require(len(shown) >= 11, "fewer than 11 tools matched while callable")

    bench.require(bench.flag_alive, "the feature was not seen")

    answer = bench.discover(BULK, include_disabled=True, limit=limit)

    most = 10 if limit is ABSENT else min(int(str(limit)), 10)
    assert len(answer.disabled) <= most
