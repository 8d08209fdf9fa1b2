"""The folder of a target: whatever it makes in it is looked through, and taken away."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_proxy_conformance.targets.folder import marks, remove, things

DEEP = 3000


def test_a_folder_of_any_depth_is_looked_through_and_removed(tmp_path: Path) -> None:
    """Paths that no call takes whole are left out of the look, and go all the same."""
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
