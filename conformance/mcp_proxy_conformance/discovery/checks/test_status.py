"""Statuses of locked tools: six words, precedence of locks, one entry, repeatable: FR-004."""

from __future__ import annotations

from functools import partial

from mcp_proxy_conformance.catalogue.requirement import requirement
from mcp_proxy_conformance.catalogue.stage import on, stage
from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.discovery.bench import ABSENT, Bench
from mcp_proxy_conformance.discovery.locked_entries import (
    own_query,
)
from mcp_proxy_conformance.discovery.oracle import CALLABLE

SCOPE = stage("scope")
BY_APPROVAL = {"pending_approval", "server_quarantined"}
TIMES, THREADS = 20, 8
WORDS = frozenset({*STATUSES, CALLABLE})
"""Places that a tool can have; any other word is for FR-004.enum."""


@requirement("FR-004.deterministic")
@on(SCOPE)
def test_concurrent_calls_tell_equal_statuses(bench: Bench) -> None:
    """Eight threads with mixed flags and agents get the same status for each tool.

    Up to six locked tools are asked for; inconclusive if no answer lists a locked tool.
    """
    eyes = [bench]
    if "agents" in bench.started.target.capabilities:
        eyes += [bench.as_agent(name) for name in bench.world.agents]
    queries = [own_query(bench, key) for key in (*bench.armed.samples(), *bench.armed.samples())]
    calls = [(eye, query, flag) for query in queries for eye in eyes for flag in (True, ABSENT)]

    answers = bench.together([partial(_statuses, *call) for call in calls], THREADS)

    pairs = {place for answer in answers for place in answer}
    bench.require_revealed(pairs)
    several = _several(pairs)
    assert several == {}


def _statuses(eye: Bench, query: str, flag: object) -> list[tuple[str, str]]:
    """Return (tool, status) for each locked entry of the answer to the query with that flag."""
    answer = eye.discover(query, include_disabled=flag)
    return [(str(key), status) for key, status in answer.statuses().items()]


def _several(pairs: set[tuple[str, str]]) -> dict[str, list[str]]:
    """Map each tool with several statuses in these (tool, status) pairs to its sorted statuses."""
    by_key = {key: sorted(status for name, status in pairs if name == key) for key, _ in pairs}
    return {key: statuses for key, statuses in by_key.items() if len(statuses) > 1}
