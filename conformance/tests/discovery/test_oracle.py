"""The oracle: statuses, counts, withheld texts, cap, notes and map keys that locks allow."""

from __future__ import annotations

from itertools import product
from math import inf, nan
from typing import Literal

import pytest

from mcp_proxy_conformance.catalogue.surface import STATUSES
from mcp_proxy_conformance.catalogue.world import ToolState
from mcp_proxy_conformance.discovery import oracle

APPROVALS: tuple[Literal["pending", "changed"] | None, ...] = (None, "pending", "changed")
EVERY = [
    ToolState(server_off=off, config=config, user=user, approval=approval, quarantined=quarantined)
    for approval in APPROVALS
    for off, config, user, quarantined in product((False, True), repeat=4)
]


@pytest.mark.parametrize(
    ("state", "allowed"),
    [
        (ToolState(), {"callable"}),
        (ToolState(config=True), {"disabled_by_config"}),
        (ToolState(user=True), {"disabled_by_user"}),
        (ToolState(config=True, user=True), {"disabled_by_config"}),
        (ToolState(approval="pending"), {"pending_approval"}),
        (ToolState(approval="changed"), {"pending_approval"}),
        (ToolState(user=True, approval="pending"), {"disabled_by_user", "pending_approval"}),
        (ToolState(config=True, approval="changed"), {"disabled_by_config", "absent"}),
        (ToolState(config=True, user=True, approval="pending"), {"disabled_by_config", "absent"}),
        (ToolState(quarantined=True), {"server_quarantined"}),
        (ToolState(quarantined=True, approval="pending"), {"server_quarantined"}),
        (ToolState(quarantined=True, user=True), {"server_quarantined", "disabled_by_user"}),
        (ToolState(quarantined=True, config=True), {"disabled_by_config", "absent"}),
        (ToolState(server_off=True), {"absent", "server_disabled"}),
        (ToolState(server_off=True, config=True, user=True), {"absent", "server_disabled"}),
        (
            ToolState(server_off=True, approval="changed"),
            {"absent", "server_disabled", "pending_approval"},
        ),
        (
            ToolState(server_off=True, quarantined=True, user=True),
            {"absent", "server_disabled", "server_quarantined"},
        ),
        (
            ToolState(server_off=True, quarantined=True, config=True, approval="pending"),
            {"absent", "server_disabled"},
        ),
    ],
)
def test_the_order_of_reasons_decides(state: ToolState, allowed: set[str]) -> None:
    """`allowed_statuses` follows the order of reasons: server off, config, user, pending.

    Quarantine stands beside it.
    """
    assert oracle.allowed_statuses(state) == allowed


@pytest.mark.parametrize("state", EVERY, ids=str)
def test_every_combination_has_an_answer_and_only_no_lock_is_callable(state: ToolState) -> None:
    """Every combination of locks allows some place, and only no lock at all allows `callable`."""
    allowed = oracle.allowed_statuses(state)

    assert allowed
    assert allowed <= {*STATUSES, "absent", "callable"}
    assert ("callable" in allowed) is state.callable


@pytest.mark.parametrize("state", [state for state in EVERY if state.config], ids=str)
def test_a_tool_that_config_denies_is_never_to_be_approved(state: ToolState) -> None:
    """A config-denied tool is never allowed as pending or disabled by the user, nor counted so.

    Nor may it be listed as quarantined.
    """
    words = oracle.allowed_statuses(state) | oracle.counted_as(state)

    assert "pending_approval" not in words
    assert "disabled_by_user" not in words
    assert "server_quarantined" not in oracle.allowed_statuses(state)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (ToolState(), "callable"),
        (ToolState(config=True, user=True, approval="pending"), "disabled_by_config"),
        (ToolState(user=True), "disabled_by_user"),
        (ToolState(approval="changed"), "pending_approval"),
    ],
)
def test_a_tool_of_an_enabled_server_is_counted_by_its_first_reason(
    state: ToolState, word: str
) -> None:
    """`counted_as` of a tool of a server that is on is the word of its first reason."""
    assert oracle.counted_as(state) == {word}


def test_a_tool_of_a_server_that_is_off_is_counted_by_its_server_or_its_own_reason() -> None:
    """`counted_as` of a tool whose server is off is `server_disabled`, absent or its own reason.

    If config denies it, its own reason is config, never the user.
    """
    off = {"server_disabled", "absent"}

    assert oracle.counted_as(ToolState(server_off=True)) == off
    assert oracle.counted_as(ToolState(server_off=True, user=True)) == off | {"disabled_by_user"}
    denied = ToolState(server_off=True, user=True, config=True)
    assert oracle.counted_as(denied) == off | {"disabled_by_config"}


def test_a_quarantined_tool_is_counted_under_any_reason_but_not_as_callable() -> None:
    """`counted_as` of a quarantined tool is any status or absent, but not callable."""
    assert oracle.counted_as(ToolState(quarantined=True)) == {*STATUSES, "absent"}


@pytest.mark.parametrize(
    ("state", "withheld"),
    [
        (ToolState(), False),
        (ToolState(config=True, user=True), False),
        (ToolState(server_off=True), False),
        (ToolState(quarantined=True), True),
        (ToolState(config=True, approval="pending"), True),
        (ToolState(approval="changed"), True),
    ],
)
def test_what_nobody_approved_is_withheld(state: ToolState, withheld: bool) -> None:
    """`is_withheld` is true of quarantined, pending and changed tools only."""
    assert oracle.is_withheld(state) is withheld


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        (1, 1),
        (9, 9),
        (10, 10),
        (11, 10),
        (500, 10),
        (2.7, 10),
        (None, 10),
        (0, 10),
        (-1, 10),
        (inf, 10),
        (nan, 10),
    ],
)
def test_the_cap_is_the_limit_or_ten(limit: float | None, most: int) -> None:
    """`cap` is the smaller of limit and ten.

    It is ten for None, and for a limit that is not a whole number of at least one.
    """
    assert oracle.cap(limit) == most


@pytest.mark.parametrize(
    ("callables", "revealed", "relevant", "due", "allowed"),
    [
        (0, 3, 3, True, True),
        (0, 3, 0, False, True),
        (0, 0, 0, False, False),
        (1, 3, 3, False, False),
    ],
)
def test_a_note_is_due_when_the_flag_would_show_something_of_the_query(
    callables: int, revealed: int, relevant: int, due: bool, allowed: bool
) -> None:
    """A note is due if no tool is callable and relevant tools are revealed.

    It is allowed if any are revealed; beside callable tools it is neither.
    """
    assert oracle.must_have_note(callables=callables, relevant=relevant) is due
    assert oracle.may_have_note(callables=callables, revealed=revealed) is allowed


def test_the_map_has_a_key_for_each_status_shown() -> None:
    """`remediation_keys` are the distinct statuses of an answer; none for an empty one."""
    shown = ["disabled_by_user", "disabled_by_config", "disabled_by_user"]

    assert oracle.remediation_keys(shown) == {"disabled_by_config", "disabled_by_user"}
    assert oracle.remediation_keys([]) == frozenset()
