"""Processes that an adapter or a loader leaves behind, ended with the run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import needs
import pytest

pytestmark = needs.discovery
LEAVES = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print("no answer", flush=True)
"""


@needs.resilience
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of orphans")
@pytest.mark.parametrize("kind", ["command", "loader"])
def test_nobody_is_left_who_left_the_group(kind: str, tmp_path: Path) -> None:
    """A process that an adapter or a loader leaves in another session is ended with the run.

    The run exits with 3.
    """
    program = tmp_path / f"leaves-{kind}-{time.monotonic_ns()}.py"
    program.write_text(LEAVES)
    words = [sys.executable, str(program)]
    named = ["--", *words] if kind == "command" else ["--command", " ".join(words)]

    done = subprocess.run(
        [sys.executable, "-m", "mcp_proxy_conformance", "run", kind, *named],
        cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip

    left = subprocess.run(
        ["pgrep", "-f", program.name], capture_output=True, text=True, check=False
    )
    assert (done.returncode, left.stdout) == (3, ""), done.stdout
