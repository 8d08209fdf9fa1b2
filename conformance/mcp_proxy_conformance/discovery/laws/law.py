"""Table of the laws of discovery (rules for any world after any steps): judges and clauses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcp_proxy_conformance.discovery.laws import (
    answers,
    calls,
    counts,
    entries,
    scopes,
    silence,
    statuses,
)
from mcp_proxy_conformance.discovery.laws.look import Findings, Look

Judge = Callable[[Look, Findings], None]


@dataclass(frozen=True, slots=True)
class Law:
    """One law: the functions that judge it at a target, and the clauses that it can find broken."""

    judges: tuple[Judge, ...]
    clauses: tuple[str, ...]


LAWS: dict[str, Law] = {
    "accepts": Law((answers.accepts,), ("FR-001.accepts",)),
    "statuses": Law(
        (statuses.revealed, statuses.by_group, statuses.listed, statuses.follows),
        ("FR-001.reveals-config", "FR-001.reveals-user", "FR-001.reveals-pending",
         "FR-001.reveals-changed", "FR-001.reveals-quarantined", "FR-001.by-description",
         "FR-001.server-off", "FR-001.default-off", "FR-004.enum", "FR-004.precedence",
         "FR-004.config-skips-quarantine", "FR-004.follows-state", "SC-003.discovery"),
    ),
    "steady": Law((statuses.steady,), ("FR-004.deterministic",)),
    "once": Law((answers.once,), ("FR-004.once",)),
    "cap": Law((answers.capped,), ("FR-006.cap", "FR-006.odd-limits")),
    "keys": Law((answers.keys,), ("FR-005.keys", "FR-007.hidden")),
    "callables": Law((answers.callables,), ("FR-006.callables", "FR-002.no-locks-no-change")),
    "unasked": Law((answers.unasked,), ("FR-002.no-locks-no-change",)),
    "absent is false": Law((answers.absent_is_false,), ("FR-002.absent-is-false",)),
    "silence": Law(
        (silence.silent,),
        ("FR-001.default-off", "FR-002.no-section", "FR-002.no-locked-names", "FR-009.no-entries"),
    ),
    "entries": Law(
        (entries.members, entries.names, entries.descriptions, entries.canaries),
        ("FR-003.members", "FR-003.name", "FR-003.server", "FR-003.description",
         "FR-003.withheld", "FR-003.canary"),
    ),
    "remedies": Law(
        (entries.texts_of_map,),
        ("FR-005.text", "FR-005.once", "FR-005.class", "SC-003.discovery", "FR-003.members"),
    ),
    "notes": Law(
        (silence.noted,),
        ("FR-009.note", "FR-009.count", "FR-009.silent", "FR-009.one-line", "FR-009.tight-limit",
         "SC-002.two-steps", "SC-006.every-kind", "FR-007.note"),
    ),
    "counts": Law(
        (counts.counts,),
        ("FR-010.block", "FR-010.sum", "FR-010.zero-omitted", "FR-010.no-names",
         "FR-010.quarantined", "FR-010.server-off", "FR-010.inspect", "SC-005.absent",
         "SC-003.listing", "FR-004.once"),
    ),
    "counter": Law((counts.counter,), ("FR-013.counts",)),
    "scope": Law(
        (scopes.hidden, scopes.listings, scopes.inspections, scopes.unmoved),
        ("FR-007.hidden", "FR-007.note", "FR-007.listing", "FR-007.before-cap"),
    ),
    "interference": Law((scopes.bytes_kept,), ("FR-007.non-interference",)),
    "refusals": Law(
        (calls.policy, calls.unlike_users, calls.distinct, calls.pointing),
        ("FR-008.config", "FR-008.distinct", "FR-008.pointer", "SC-003.rejection"),
    ),
    "calls": Law(
        (calls.unreached, calls.unlifted, calls.kept),
        ("FR-011.never-reaches", "FR-011.not-unlocked"),
    ),
    "schemas": Law(
        (answers.schemas,),
        (*answers.SHAPES, "FR-002.no-section", "FR-003.description", "FR-003.withheld",
         "FR-004.once", "FR-005.once", "FR-005.text", "FR-006.cap", "FR-009.one-line",
         "FR-009.silent"),
    ),
    "unknown": Law((statuses.undetermined,), ("FR-004.unknown",)),
}  # fmt: skip
"""The laws by the names that checks use, in the order in which a look tries them."""
