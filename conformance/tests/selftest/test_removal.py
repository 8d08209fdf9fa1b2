"""No clause passes without an observation: the selftest removes its subject."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.selftest.matrix import Trial, rows
from mcp_proxy_conformance.selftest.removal import REMOVALS, target

BY_ID = {control.id: control for control in REMOVALS}


def tried(name: str, folder: Path, **change: object) -> tuple[str, str]:
    """Return the result of the control of that name, and its reason."""
    control = replace(BY_ID[name], **change)  # type: ignore[arg-type]
    (row,) = rows([Trial(kind="control", changed=control)], folder, full=False)
    return row.cell, row.reason


def test_nothing_is_said_to_hold_of_what_is_not_there(tmp_path: Path) -> None:
    """No clause of the note passes without a note, whichever checks cite it."""
    assert tried("without-the-note", tmp_path) == ("behaved", "")


def test_what_is_not_declared_does_not_apply(tmp_path: Path) -> None:
    """That holds whatever checks cite it."""
    assert tried("without-declaring-agents", tmp_path) == ("behaved", "")


@pytest.mark.parametrize("name", ["without-servers-that-are-off", "without-declaring-restart"])
def test_a_pass_of_what_is_there_is_seen(name: str, tmp_path: Path) -> None:
    """On the unchanged reference these clauses pass, and the control says so."""
    cell, why = tried(name, tmp_path, target=target)

    assert (cell, why.partition(":")[0].startswith("clauses")) == ("misbehaved", True)
