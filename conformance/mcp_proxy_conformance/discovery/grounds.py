"""Clauses that a tool's place in a discovery answer breaks or shows, by its locks and the flag.

A place is a status, `callable` or `absent`; the flag is `include_disabled`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolKey, ToolState
from mcp_proxy_conformance.discovery.oracle import ABSENT, BY_APPROVAL, CALLABLE, allowed_statuses
from mcp_proxy_conformance.verdict.comparison import Comparison

REVEALS: Mapping[ToolState, str] = {
    ToolState(config=True): "FR-001.reveals-config",
    ToolState(user=True): "FR-001.reveals-user",
    ToolState(approval="pending"): "FR-001.reveals-pending",
    ToolState(approval="changed"): "FR-001.reveals-changed",
    ToolState(quarantined=True): "FR-001.reveals-quarantined",
}
"""The clause by which the flag reveals a tool under that lock alone."""
OF_USERS = ("disabled_by_user", "pending_approval")
"""The statuses whose remediation is an act of the user."""
Clauses = tuple[str, ...]


def reveals(state: ToolState) -> Clauses:
    """Return the clauses broken where the flag does not list a tool with these locks.

    That of config for any tool that config denies on a server that is on; else that of its only
    lock or, for other locks, FR-004.precedence.
    """
    if state.config and not state.server_off:
        return ("FR-001.reveals-config",)
    return (REVEALS.get(state, "FR-004.precedence"),)


def broken_by(state: ToolState, place: str, *, flag: bool, by_description: bool = False) -> Clauses:
    """Return the clauses that a tool breaks by being at a place that its locks do not allow.

    `place` is a status, `callable` or `absent`; `by_description`: the query matches only the
    tool's description. Whether the place is allowed is not looked at, except that the result is
    empty for an unlocked tool that a flagged answer has as `callable` or `absent`.
    """
    if not flag:
        return _in_default(place) if not state.callable else ("FR-002.no-section",)
    if state.callable:
        return () if place in (ABSENT, CALLABLE) else ("FR-004.follows-state",)
    if state.lost:
        return ("FR-004.unknown" if place in (*STATUSES, CALLABLE, ABSENT) else "FR-004.enum",)
    if place == CALLABLE:
        alone = (REVEALS[state],) if state in REVEALS else ()
        return (*as_callable(state, flag=True), *alone)
    if place == ABSENT:
        return ("FR-001.by-description",) if by_description else reveals(state)
    if place not in STATUSES:
        return ("FR-004.enum",)
    clauses = ["FR-004.precedence"]
    also_withheld = state.quarantined or state.approval is not None
    skips = state.config and also_withheld and place in BY_APPROVAL
    clauses += ["FR-004.config-skips-quarantine"] if skips else []
    clauses += ["FR-001.server-off"] if state.server_off else []
    of_user = state.config and place in OF_USERS and not state.server_off
    clauses += ["SC-003.discovery"] if of_user else []
    return tuple(clauses)


def compare_places(
    compared: Comparison, key: ToolKey, state: ToolState, places: Iterable[str]
) -> None:
    """Compare the places that flagged answers give a tool with those that its locks allow.

    `places` are statuses, `callable` or `absent`; each comparison is added to `compared`, in
    alphabetical order.
    """
    for place in sorted(places):
        compared.one_of(f"place of {key}", place, sorted(allowed_statuses(state)),
                        breaks=broken_by(state, place, flag=True),
                        shows=shown_by(state, place, flag=True))  # fmt: skip


def as_callable(state: ToolState, *, flag: bool) -> Clauses:
    """Return the clauses broken where a locked tool is listed as callable, or as both."""
    if not flag:
        return _in_default(CALLABLE)
    return ("FR-004.follows-state", *(("FR-001.server-off",) if state.server_off else ()))


def _in_default(place: str) -> Clauses:
    """Return the clauses broken by a locked tool at a place in an answer without the flag.

    The place is a status or `callable`.
    """
    if place == CALLABLE:
        return ("FR-001.default-off", "FR-002.no-locked-names", "FR-004.follows-state")
    return ("FR-001.default-off", "FR-002.no-section", "FR-002.no-locked-names")


def shown_by(state: ToolState, place: str, *, flag: bool, by_description: bool = False) -> Clauses:
    """Return the clauses seen to hold where a tool is at a place that its locks allow.

    `place` is a status, `callable` or `absent`; `by_description`: the query matches only the
    tool's description. An unlocked tool in an answer without the flag shows none.
    """
    if not flag:
        return () if state.callable else ("FR-001.default-off",)
    if state.callable:
        return ("FR-004.follows-state",)
    if state.lost:
        return ("FR-004.unknown",)
    clauses = ["FR-004.follows-state"]
    clauses += ["FR-001.server-off"] if state.server_off else []
    skips = state.config and (state.quarantined or state.approval is not None)
    clauses += ["FR-004.config-skips-quarantine"] if skips else []
    listed = place in STATUSES
    clauses += ["FR-004.enum"] if listed else []
    clauses += [REVEALS[state]] if listed and state in REVEALS else []
    clauses += (
        ["FR-004.precedence"] if state not in REVEALS and (listed or state.server_off) else []
    )
    clauses += ["FR-001.by-description"] if listed and by_description else []
    clauses += ["SC-003.discovery"] if listed and place == "disabled_by_config" else []
    return tuple(clauses)
