"""Removal controls of proxies: without its subject in the target, no clause may pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_proxy_conformance.discovery.selftest.removal import REMOVALS, target
from mcp_proxy_conformance.selftest.matrix import Trial, rows

BY_ID = {control.id: control for control in REMOVALS}


def tried(name: str, folder: Path, **change: object) -> tuple[str, str]:
    """Try the removal control of that id, with these of its members replaced.

    Return (cell of its row, reason), such as ("behaved", "").
    """
    control = replace(BY_ID[name], **change)  # type: ignore[arg-type]
    trial = Trial(kind="control", changed=control, make=control.target, profile="discovery")
    (row,) = rows([trial], folder, full=False)
    return row.cell, row.reason


@pytest.mark.proof(parts=6)
def test_nothing_is_said_to_hold_of_what_is_not_there(tmp_path: Path) -> None:
    """The removal control behaves: no clause about the note passes where no note is ever given."""
    assert tried("without-the-note", tmp_path) == ("behaved", "")


@pytest.mark.proof(parts=4)
def test_a_pass_of_what_is_there_is_seen(tmp_path: Path) -> None:
    """A removal control run on the unchanged reference, where nothing is removed, misbehaves.

    The reason begins with the clauses that pass.
    """
    cell, why = tried("without-servers-that-are-off", tmp_path, target=target)

    assert (cell, why.partition(":")[0].startswith("clauses")) == ("misbehaved", True)
