"""What programs print: all of a little, the first and the last of a flood."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_proxy_conformance.wire.printed import MOST, Printed

FLOOD = "import sys; sys.stdout.write('first;'); sys.stdout.write('x' * {n}); print(';last')"


def printed(program: str, path: Path | None) -> Printed:
    """What a program has printed that has ended."""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    found = Printed(child.stdout, path)
    child.wait(30)
    found.close()
    return found


@pytest.mark.parametrize("number", [0, 100, MOST, 3 * MOST, 50_000_000])
def test_the_file_stays_small_and_has_both_ends(number: int, tmp_path: Path) -> None:
    """What lies between is counted."""
    path = tmp_path / "a.log"

    found = printed(FLOOD.format(n=number), path)
    found.close()

    told = path.read_text()
    left_out = number + len("first;;last\n") - 2 * MOST
    assert (told.startswith("first;"), told.endswith(";last\n")) == (True, True)
    assert path.stat().st_size < 2 * MOST + 100
    assert (f"... {left_out} bytes are left out ..." in told) == (left_out > 0)
    assert found.end(6) == ";last\n"


def test_a_file_that_cannot_be_written_loses_nothing_else(tmp_path: Path) -> None:
    """The end is told from memory."""
    place = tmp_path / "folder"
    place.mkdir()
    (place / "a.log").touch()
    child = subprocess.Popen([sys.executable, "-c", "print('said')"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    found = Printed(child.stdout, place / "a.log")
    (place / "a.log").unlink()
    place.rmdir()
    child.wait(30)
    found.close()

    assert found.end(100).endswith("said\n")
