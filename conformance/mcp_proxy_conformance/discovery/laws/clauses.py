"""The clauses that each law of discovery can find broken."""

from __future__ import annotations

CLAUSES: dict[str, tuple[str, ...]] = {
    "accepts": (
        "FR-001.accepts",
    ),
    "statuses": (
        "FR-001.reveals-config", "FR-001.reveals-user", "FR-001.reveals-pending",
        "FR-001.reveals-changed", "FR-001.reveals-quarantined", "FR-001.by-description",
        "FR-001.server-off", "FR-001.default-off", "FR-004.enum", "FR-004.precedence",
        "FR-004.config-skips-quarantine", "FR-004.follows-state", "SC-003.discovery",
        "FR-004.unknown",
    ),
    "steady": (
        "FR-004.deterministic",
    ),
    "once": (
        "FR-004.once",
    ),
    "cap": (
        "FR-006.cap", "FR-006.odd-limits",
    ),
    "keys": (
        "FR-005.keys", "FR-007.hidden",
    ),
    "callables": (
        "FR-006.callables", "FR-002.no-locks-no-change",
    ),
    "unasked": (
        "FR-002.no-locks-no-change",
    ),
    "absent is false": (
        "FR-002.absent-is-false",
    ),
    "silence": (
        "FR-001.default-off", "FR-002.no-section", "FR-002.no-locked-names", "FR-009.no-entries",
    ),
    "entries": (
        "FR-003.members", "FR-003.name", "FR-003.server", "FR-003.description", "FR-003.withheld",
        "FR-003.canary",
    ),
    "remedies": (
        "FR-005.text", "FR-005.once", "FR-005.class", "SC-003.discovery", "FR-003.members",
        "FR-004.unknown",
    ),
    "notes": (
        "FR-009.note", "FR-009.count", "FR-009.silent", "FR-009.one-line", "FR-009.tight-limit",
        "SC-002.two-steps", "SC-006.every-kind", "FR-007.note",
    ),
    "counts": (
        "FR-010.block", "FR-010.sum", "FR-010.zero-omitted", "FR-010.no-names",
        "FR-010.quarantined", "FR-010.server-off", "FR-010.inspect", "SC-005.absent",
        "SC-003.listing", "FR-004.once",
    ),
    "counter": (
        "FR-013.counts",
    ),
    "scope": (
        "FR-007.hidden", "FR-007.note", "FR-007.listing", "FR-007.before-cap",
    ),
    "interference": (
        "FR-007.non-interference",
    ),
    "refusals": (
        "FR-008.config", "FR-008.distinct", "FR-008.pointer", "SC-003.rejection", "FR-004.unknown",
    ),
    "calls": (
        "FR-011.never-reaches", "FR-011.not-unlocked",
    ),
    "schemas": (
        "FR-003.members", "FR-004.enum", "FR-005.keys", "FR-002.no-section", "FR-003.description",
        "FR-003.withheld", "FR-004.once", "FR-005.once", "FR-005.text", "FR-006.cap",
        "FR-009.one-line", "FR-009.silent",
    ),
}  # fmt: skip
"""By the names of laws, in the order in which a look tries them."""
