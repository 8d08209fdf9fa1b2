"""A target's state folder: searched and removed at any depth; no link in its place is followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_proxy_conformance.catalogue.world import server, tool, world
from mcp_proxy_conformance.discovery.targets.adapter import ProxyTarget
from mcp_proxy_conformance.discovery.targets.command import CommandAdapter
from mcp_proxy_conformance.discovery.targets.started import Started
from mcp_proxy_conformance.targets import state_folder
from mcp_proxy_conformance.targets.state_folder import in_memory, keep_logs, marks, remove, things
from mcp_proxy_conformance.targets.target import AdapterError
from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET

DEEP = 3000


def test_a_folder_of_any_depth_is_looked_through_and_removed(tmp_path: Path) -> None:
    """Of a folder nested 3000 deep, `things` and `marks` return the one file within reach.

    `remove` removes the folder whole.
    """
    folder, here = tmp_path / "state", os.open(".", os.O_RDONLY)
    folder.mkdir()
    (folder / "a.db").write_text("x")
    try:
        os.chdir(folder)
        for _ in range(DEEP):
            os.mkdir("d")  # noqa: PTH102 - from where it stands
            os.chdir("d")
    finally:
        os.fchdir(here)
        os.close(here)

    assert things(folder) == {"a.db"}
    assert len(marks(folder)) == 1
    remove(folder)
    assert not folder.exists()


def test_a_folder_in_memory_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`in_memory` makes a private folder, the same each time; it returns none that is not private.

    Nor does it without room.
    """
    monkeypatch.setattr(state_folder, "MEMORY", tmp_path)
    monkeypatch.setattr(state_folder, "ROOM", 0)
    folder = in_memory()
    assert folder is not None
    assert folder == in_memory()
    assert [*tmp_path.iterdir()] == [folder]

    folder.chmod(0o777)
    assert in_memory() is None
    folder.rmdir()
    folder.symlink_to("/")
    assert in_memory() is None

    folder.unlink()
    monkeypatch.setattr(state_folder, "ROOM", 1 << 62)
    assert in_memory() is None
    assert [*tmp_path.iterdir()] == []


def test_logs_are_not_looked_for_where_a_link_leads(tmp_path: Path) -> None:
    """`keep_logs` copies nothing if the target's folder is a symbolic link."""
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "scratch" / "a1"
    elsewhere.mkdir()
    folder.mkdir(parents=True)
    (elsewhere / "own.log").write_text("nobody's business")
    (folder / "target").symlink_to(elsewhere)

    keep_logs(folder, tmp_path, NOTHING_SECRET)

    assert not (tmp_path / "logs").exists()


def test_nothing_is_started_where_a_link_leads(tmp_path: Path) -> None:
    """If the scratch folder is a symbolic link, Started raises AdapterError and creates nothing."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "scratch").symlink_to(tmp_path / "elsewhere")
    target = ProxyTarget(kind="command", make=lambda: CommandAdapter(["true"]))

    with pytest.raises(AdapterError, match="has become a symbolic link; remove it"):
        Started(target, world(server("forge", tool("add"))), tmp_path / "scratch")

    assert list((tmp_path / "elsewhere").iterdir()) == []
