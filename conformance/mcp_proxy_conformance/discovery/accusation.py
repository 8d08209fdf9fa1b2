"""Which of a case's clauses a differing expectation speaks against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

LISTED = ("FR-001.", "FR-002.", "FR-004.", "FR-007.", "SC-003.discovery")
SPEAKS: Mapping[str, tuple[str, ...]] = {
    "status of": LISTED,
    "other locked entries": LISTED,
    "too many locked entries": (
        "FR-006.cap", "FR-006.odd-limits", "FR-001.default-off", "FR-002.", "FR-007.hidden",
    ),
    "too few locked entries": ("FR-001.",),
    "callable:": ("FR-006.callables", "FR-009.silent", *LISTED),
    "description of": ("FR-003.",),
    "remediation keys": ("FR-005.keys", "FR-002.", "FR-001.default-off", "FR-007.hidden"),
    "remediation of": ("FR-005.class", "SC-003.discovery"),
    "note": ("FR-009.", "SC-002", "SC-006", "FR-007.note"),
    "count in the note": ("FR-009.count", "FR-007.note"),
    "counts:": ("FR-010.", "SC-005.", "SC-003.listing"),
    "the call reached": ("FR-011.",),
    "rejection": ("FR-008.config", "FR-008.distinct", "SC-003.rejection", "FR-007.rejection"),
    "rejection points on": ("FR-008.pointer", "FR-007.rejection"),
}  # fmt: skip
"""The beginning of an expectation's path, and of the clauses that it can break."""


def accused(clauses: Iterable[str], observed: Any, expected: Any) -> tuple[str, ...]:
    """The cited clauses that the differing paths speak against; all of them if none does."""
    cited = tuple(clauses)
    if not isinstance(observed, Mapping) or not isinstance(expected, Mapping):
        return cited
    paths = [path for path in expected if observed.get(path) != expected[path]]
    broken = {prefix for path in paths for prefix in _spoken_against(path)}
    return tuple(c for c in cited if any(c.startswith(prefix) for prefix in broken)) or cited


def _spoken_against(path: str) -> tuple[str, ...]:
    topics = [topic for topic in SPEAKS if path.startswith(topic)]
    return SPEAKS[max(topics, key=len)] if topics else ()
