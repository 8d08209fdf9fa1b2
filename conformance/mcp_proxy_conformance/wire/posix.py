"""What needs the processes of a POSIX system, refused elsewhere in one sentence."""

from __future__ import annotations

import os

INSTEAD = "use Linux, macOS or WSL, or judge a running endpoint: `run endpoint --url URL`"


def lacking(what: str) -> str:
    """Why something cannot be done on this system; empty where it can."""
    if hasattr(os, "killpg") and hasattr(os, "fork"):
        return ""
    return f"{what} needs process groups, which this system does not have; {INSTEAD}"
