"""Output of programs: both ends of it are kept, in a log and in memory, without secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, REDACTED, Redactor
from mcp_proxy_conformance.wire.printed import MOST, Printed, ends_of

FLOOD = "import sys; sys.stdout.write('first;'); sys.stdout.write('x' * {n}); print(';last')"


def printed(program: str, path: Path | None, redactor: Redactor = NOTHING_SECRET) -> Printed:
    """Run a Python program to its end; return its closed output, also written to `path` if given.

    Secrets of the redactor are taken out. The program must end within 30 s.
    """
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert child.stdout is not None
    output = Printed(child.stdout, path, redactor)
    child.wait(30)
    output.close()
    return output


SLOWLY = """
import sys, time
for piece in ("begun: ", "open-", "sesame-", "now\\n", "again: open-sesame-", "now"):
    sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.05)
"""


def test_what_is_secret_never_touches_the_disk_though_it_comes_in_pieces(tmp_path: Path) -> None:
    """A secret that is printed in pieces is redacted in the file and in the tail."""
    path = tmp_path / "a.log"

    output = printed(SLOWLY, path, Redactor(["open-sesame-now"]))

    assert path.read_text() == f"begun: {REDACTED}\nagain: {REDACTED}"
    assert output.tail(100) == path.read_text()


@pytest.mark.parametrize("number", [0, MOST, 2 * MOST, 2 * MOST + 1, 5 * MOST])
def test_of_a_file_both_ends_are_kept(number: int, tmp_path: Path) -> None:
    """`ends_of` keeps at most MOST bytes of each end of a file, with a line on what is left out.

    A file of at most 2 * MOST bytes is returned whole, without that line.
    """
    path = tmp_path / "target.log"
    path.write_bytes(b"x" * number)

    kept = ends_of(path)

    assert kept.count(b"x") == min(number, 2 * MOST)
    assert (b"left out" in kept) == (number > 2 * MOST)


@pytest.mark.parametrize("number", [0, 100, MOST, 3 * MOST, 50_000_000])
def test_the_file_stays_small_and_has_both_ends(number: int, tmp_path: Path) -> None:
    """Of a flood the log keeps MOST bytes of each end, and a line with the number left out.

    A short output is logged whole. The tail in memory ends with the program's last words.
    """
    path = tmp_path / "a.log"

    output = printed(FLOOD.format(n=number), path)
    output.close()

    text = path.read_text()
    left_out = number + len("first;;last\n") - 2 * MOST
    assert (text.startswith("first;"), text.endswith(";last\n")) == (True, True)
    assert path.stat().st_size < 2 * MOST + 100
    assert (f"... {left_out} bytes are left out ..." in text) == (left_out > 0)
    assert output.tail(6) == ";last\n"


def test_a_file_that_cannot_be_written_loses_nothing_else(tmp_path: Path) -> None:
    """If the log and its folder are removed meanwhile, the output's end is still kept in memory."""
    place = tmp_path / "folder"
    place.mkdir()
    (place / "a.log").touch()
    child = subprocess.Popen([sys.executable, "-c", "print('said')"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    output = Printed(child.stdout, place / "a.log")
    (place / "a.log").unlink()
    place.rmdir()
    child.wait(30)
    output.close()

    assert output.tail(100).endswith("said\n")


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    """A program that replaces its log by a symbolic link gets nothing written to the link's target.

    If the log's path is a link from the start, Printed raises OSError.
    """
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    path = tmp_path / "a.log"
    swap = f"import os; os.unlink({str(path)!r}); os.symlink({str(elsewhere)!r}, {str(path)!r})"

    printed(f"{swap}; print('said')", path)

    assert elsewhere.read_text() == "precious"
    with Path(os.devnull).open("rb") as nothing, pytest.raises(OSError, match="symbolic links"):
        Printed(nothing, path)
