"""Living processes whose command lines name a folder, to see if a test left any."""

from __future__ import annotations

import os
from pathlib import Path


def naming(folder: Path) -> list[str]:
    """Return the command lines that name the folder, of living processes but this one."""
    commands = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if str(folder) in words and entry.parent.name != str(os.getpid()):
            commands.append(words)
    return commands
