"""Which clauses are broken, and which are shown, by where an answer puts a tool."""

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
    """The clauses that are broken where the flag does not list a tool with these locks.

    The order of reasons says for each combination whether the tool may be missing; config comes
    first in it, so a tool that config denies is to be revealed whatever other lock it has.
    """
    if state in REVEALS:
        return (REVEALS[state],)
    denied = state.config and not state.server_off
    return (*(("FR-001.reveals-config",) if denied else ()), "FR-004.precedence")


def broken_by(state: ToolState, seen: str, *, flag: bool, by_description: bool = False) -> Clauses:
    """What a place that the locks do not allow breaks, in an answer with or without the flag.

    `seen`: a status, `callable` or `absent`; `by_description`: the query matches nothing else.
    """
    if not flag:
        return _in_default(seen) if not state.callable else ("FR-002.no-section",)
    if state.callable:
        return () if seen in (ABSENT, CALLABLE) else ("FR-004.follows-state",)
    if seen == CALLABLE:
        alone = (REVEALS[state],) if state in REVEALS else ()
        return (*as_callable(state, flag=True), *alone)
    if seen == ABSENT:
        return ("FR-001.by-description",) if by_description else reveals(state)
    if seen not in STATUSES:
        return ("FR-004.enum",)
    found = ["FR-004.precedence"]
    also_withheld = state.quarantined or state.approval is not None
    skips = state.config and also_withheld and seen in BY_APPROVAL
    found += ["FR-004.config-skips-quarantine"] if skips else []
    found += ["FR-001.server-off"] if state.server_off else []
    of_user = state.config and seen in OF_USERS and not state.server_off
    found += ["SC-003.discovery"] if of_user else []
    return tuple(found)


def compare_places(
    compared: Comparison, key: ToolKey, state: ToolState, seen: Iterable[str]
) -> None:
    """Each place in which flagged answers put a tool, beside those that its locks allow."""
    for place in sorted(seen):
        compared.one_of(f"place of {key}", place, sorted(allowed_statuses(state)),
                        breaks=broken_by(state, place, flag=True),
                        shows=shown_by(state, place, flag=True))  # fmt: skip


def as_callable(state: ToolState, *, flag: bool) -> Clauses:
    """What is broken when a locked tool is listed as callable, whatever else is told of it."""
    if not flag:
        return _in_default(CALLABLE)
    return ("FR-004.follows-state", *(("FR-001.server-off",) if state.server_off else ()))


def _in_default(seen: str) -> Clauses:
    if seen == CALLABLE:
        return ("FR-001.default-off", "FR-002.no-locked-names", "FR-004.follows-state")
    return ("FR-001.default-off", "FR-002.no-section", "FR-002.no-locked-names")


def shown_by(state: ToolState, seen: str, *, flag: bool, by_description: bool = False) -> Clauses:
    """The clauses of which an allowed place shows that they hold."""
    if not flag:
        return () if state.callable else ("FR-001.default-off",)
    if state.callable:
        return ("FR-004.follows-state",)
    found = ["FR-004.follows-state"]
    found += ["FR-001.server-off"] if state.server_off else []
    skips = state.config and (state.quarantined or state.approval is not None)
    found += ["FR-004.config-skips-quarantine"] if skips else []
    listed = seen in STATUSES
    found += ["FR-004.enum"] if listed else []
    found += [REVEALS[state]] if listed and state in REVEALS else []
    found += ["FR-004.precedence"] if state not in REVEALS and (listed or state.server_off) else []
    found += ["FR-001.by-description"] if listed and by_description else []
    found += ["SC-003.discovery"] if listed and seen == "disabled_by_config" else []
    return tuple(found)
