"""The places of the source texts: the values that a pointer to a sentence may have."""

from __future__ import annotations

SPECIFIED = frozenset(
    {
        *(f"FR-{n:03}" for n in range(1, 15)),
        *(f"SC-{n:03}" for n in range(1, 7)),
        *(f"EC-{n}" for n in range(1, 6)),
        *("US1-1", "US1-2", "US1-3", "US1-4", "US2-1", "US2-2", "US3-1", "US3-2"),
    }
)
"""Ids of the discovery specification's demands: each has a requirement in the catalogue."""
_STORIES = "US1 US2 US3 AS-1 AS-2 AS-3 AS-4 AS-5 KE.entry KE.status KE.remediation KE.counts"
_SHAPES = "DisabledToolStatus LockedToolEntry RemediationMap ServerToolCounts"

PLACES = {
    "discovery-spec": SPECIFIED | {*_STORIES.split()},
    "discovery-data-model": {*_SHAPES.split(), "Contract type changes", "State transitions"},
    "resilience-data-model": {
        "Phase 1 Data Model",
        "MCPServerLoadOutcome",
        "Status semantics & transitions",
        "Error → status mapping",
        "Conservative bias",
        "Aggregation in agent_runtime",
    },
    "suite": {"robustness"},
}
"""By source text: identifiers of its sentences, or headings of its sections."""
