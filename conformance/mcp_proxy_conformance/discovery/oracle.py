"""Oracle: the answers that the specification allows, by a tool's locks and a request's facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolState

__all__ = [
    "ABSENT",
    "CALLABLE",
    "LOCKED_CAP",
    "UNKNOWN",
    "UNLOCKED",
    "allowed_statuses",
    "cap",
    "counted_as",
    "is_hidden",
    "is_withheld",
    "may_have_note",
    "must_have_note",
    "remediation_keys",
]

ABSENT, CALLABLE = "absent", "callable"
"""Places of a tool without a status: nowhere in the answer, or among the callable entries."""

UNKNOWN = "disabled_unknown"
"""The status of a lock whose reason cannot be determined."""

UNLOCKED = frozenset({ABSENT, CALLABLE})
"""The places of a tool that nothing locks."""

LOCKED_CAP = 10
"""SC-004: maximum of locked entries in one answer."""

BY_APPROVAL = frozenset({"pending_approval", "server_quarantined"})
"""The words of the pass over quarantined tools, which skips what config denies (FR-004)."""


def allowed_statuses(state: ToolState) -> frozenset[str]:
    """Return the tool's allowed places in a flagged answer to its own query (FR-004.precedence).

    Places are the six status words, `absent` and `callable`. More than one word where two passes
    of a target may list the tool, or where the specification lets it go unlisted. Where a reason
    is lost, that of a user is unknown, and others may be known from elsewhere.
    """
    if state.lost and not state.callable:
        known = allowed_statuses(replace(state, lost=False))
        is_users = state == ToolState(user=True, lost=True)
        return frozenset({UNKNOWN} if is_users else {UNKNOWN, ABSENT, *known})
    pending = state.approval is not None
    if state.server_off:
        allowed = {ABSENT, "server_disabled"}
        allowed |= {"server_quarantined"} if state.quarantined else set()
        allowed |= {"pending_approval"} if pending else set()
        return frozenset(allowed - BY_APPROVAL if state.config else allowed)
    if state.config:
        unindexed = pending or state.quarantined
        return frozenset({"disabled_by_config", ABSENT} if unindexed else {"disabled_by_config"})
    if state.quarantined:
        return frozenset({"server_quarantined"} | ({"disabled_by_user"} if state.user else set()))
    if state.user:
        return frozenset({"disabled_by_user"} | ({"pending_approval"} if pending else set()))
    return frozenset({"pending_approval" if pending else CALLABLE})


def counted_as(state: ToolState) -> frozenset[str]:
    """Return the words under which the server's counts may hold the tool, once (FR-010.sum).

    `absent` is among them where it need not be counted, on a server that is off or in
    quarantine. In quarantine any word but `callable` may count it, except that under a config
    lock no user's reason does (SC-003.listing).
    """
    if state.quarantined:
        own = {"disabled_by_user", "pending_approval"} if state.config else set()
        return frozenset({*STATUSES, ABSENT} - own)
    if state.server_off:
        of_tool = allowed_statuses(replace(state, server_off=False)) - {CALLABLE}
        return of_tool | {"server_disabled", ABSENT}
    return (allowed_statuses(state) | ({UNKNOWN} if state.lost else set())) - {ABSENT}


def is_withheld(state: ToolState) -> bool:
    """Whether the tool is in quarantine or without approval, whatever else locks it.

    The server's description of it is not vouched for then (FR-003, FR-004).
    """
    return state.quarantined or state.approval is not None


def is_hidden(state: ToolState) -> bool:
    """Whether the server's current description of the tool must not be shown.

    That is so without approval, and in a quarantine without a lock by config or user.
    """
    return state.approval is not None or (state.quarantined and not state.config and not state.user)


def cap(limit: float | None) -> int:
    """Return the most locked entries of an answer with this limit: the limit, at most ten.

    Ten without a limit, or for one that is not a whole number from 1 on.
    """
    usable = limit is not None and limit >= 1 and limit == limit // 1
    return min(int(limit), LOCKED_CAP) if usable and limit is not None else LOCKED_CAP


def must_have_note(*, callables: int, relevant: int) -> bool:
    """Whether an answer without the flag owes the note (FR-009.note).

    `callables`: callable entries returned; `relevant`: tools revealed by the same query with
    the flag that it listed while callable or names exactly.
    """
    return callables == 0 and relevant > 0


def may_have_note(*, callables: int, revealed: int) -> bool:
    """Whether an answer without the flag may have the note at all (FR-009.silent).

    `callables`: callable entries returned; `revealed`: locked entries that the same query gets
    with the flag.
    """
    return callables == 0 and revealed > 0


def remediation_keys(statuses: Iterable[str]) -> frozenset[str]:
    """Return the keys that the remediation map must have for entries of these statuses.

    These are the distinct statuses (FR-005.keys).
    """
    return frozenset(statuses)
