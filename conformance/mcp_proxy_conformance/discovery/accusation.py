"""Which of a case's clauses a differing expectation speaks against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mcp_proxy_conformance.oracle import ABSENT
from mcp_proxy_conformance.state import ToolState

SPEAKS: Mapping[str, tuple[str, ...]] = {
    "missing config:": (
        "FR-001.reveals-config", "FR-001.by-description", "FR-004.precedence", "FR-007.before-cap",
    ),
    "missing user:": (
        "FR-001.reveals-user", "FR-001.by-description", "FR-004.precedence", "FR-007.before-cap",
    ),
    "missing pending:": ("FR-001.reveals-pending", "FR-004.precedence"),
    "missing changed:": ("FR-001.reveals-changed", "FR-004.precedence"),
    "missing quarantined:": ("FR-001.reveals-quarantined", "FR-004.precedence"),
    "missing combined:": ("FR-004.precedence", "FR-001."),
    "revealed:": (
        "FR-001.default-off", "FR-001.server-off", "FR-002.", "FR-004.", "FR-007.hidden",
        "SC-003.discovery",
    ),
    "status of": ("FR-001.server-off", "FR-004.", "SC-003.discovery"),
    "other locked entries": ("FR-001.default-off", "FR-002.", "FR-004.", "FR-007.hidden"),
    "too many locked entries": (
        "FR-006.cap", "FR-006.odd-limits", "FR-001.default-off", "FR-002.", "FR-007.hidden",
    ),
    "too few locked entries": ("FR-001.",),
    "callable:": (
        "FR-001.default-off", "FR-001.server-off", "FR-002.", "FR-004.", "FR-006.callables",
        "FR-007.hidden", "FR-009.silent",
    ),
    "bytes of": ("FR-002.",),
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


def listed(tool: str, state: ToolState, seen: str, allowed: tuple[str, ...]) -> str:
    """The path of where an answer puts a tool: what kind of fault a difference would be."""
    if seen == ABSENT and ABSENT not in allowed:
        return f"missing {_kind(state)}: {tool}"
    if seen != ABSENT and allowed == (ABSENT,):
        return f"revealed: {tool}"
    return f"status of {tool}"


def _kind(state: ToolState) -> str:
    kinds = [word for word in ("config", "user", "quarantined") if getattr(state, word)]
    kinds += [state.approval] if state.approval else []
    return kinds[0] if len(kinds) == 1 and not state.server_off else "combined"


def spoken_against(path: str) -> tuple[str, ...]:
    """The beginnings of the clauses that a difference at that path can break."""
    topics = [topic for topic in SPEAKS if path.startswith(topic)]
    return SPEAKS[max(topics, key=len)] if topics else ()


def accused(
    clauses: Iterable[str],
    observed: Any,
    expected: Any,
    against: Callable[[str], tuple[str, ...]] = spoken_against,
) -> tuple[str, ...]:
    """The cited clauses that the differing paths speak `against`; all of them if none does."""
    cited = tuple(clauses)
    if not isinstance(observed, Mapping) or not isinstance(expected, Mapping):
        return cited
    paths = [path for path in expected if observed.get(path) != expected[path]]
    broken = {prefix for path in paths for prefix in against(path)}
    return tuple(c for c in cited if any(c.startswith(prefix) for prefix in broken)) or cited
