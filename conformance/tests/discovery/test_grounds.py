"""The clauses that a tool's place in an answer with the flag breaks."""

from __future__ import annotations

import pytest

from mcp_proxy_conformance.catalogue.world import ToolState
from mcp_proxy_conformance.discovery.grounds import broken_by


@pytest.mark.parametrize(
    ("state", "place", "clauses"),
    [
        (ToolState(config=True), "absent", ("FR-001.reveals-config",)),
        (ToolState(config=True, user=True), "absent", ("FR-001.reveals-config",)),
        (ToolState(user=True), "absent", ("FR-001.reveals-user",)),
        (ToolState(user=True, approval="pending"), "absent", ("FR-004.precedence",)),
        (ToolState(config=True, user=True), "disabled_unknown", ("FR-004.precedence",)),
        (ToolState(config=True, user=True), "disabled_by_user",
         ("FR-004.precedence", "SC-003.discovery")),
    ],
)  # fmt: skip
def test_a_tool_that_is_not_revealed_has_no_wrong_status(
    state: ToolState, place: str, clauses: tuple[str, ...]
) -> None:
    """`broken_by` a config-denied tool that is absent is its reveals clause alone, not precedence.

    A wrong status, or an absent tool with a user's lock and a pending approval, breaks precedence.
    """
    assert broken_by(state, place, flag=True) == clauses
