"""Progress: a terminal's line and a log's lines, sentences of waits, and the time that is left."""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import needs
import pytest

from mcp_proxy_conformance.run import progress as module
from mcp_proxy_conformance.run.progress import Progress
from mcp_proxy_conformance.run.status_line import Status, cut, line, log_line, sentence, width
from mcp_proxy_conformance.run.time_left import TimeLeft
from mcp_proxy_conformance.targets.waits import (
    Arrival,
    End,
    LoadEnd,
    Lock,
    News,
    Probe,
    Repetition,
    Reply,
    Settling,
    Setup,
    Tools,
    Wait,
    Waiting,
    during,
    waiting_in,
)
from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, REDACTED, Redactor

COLOUR = re.compile("\x1b\\[[0-9;]*m")
CLEARS = re.compile("\r|\x1b\\[K|\x1b\\[J|\x1b\\[[0-9]+A")


class Stream(io.StringIO):
    """A text stream that is a terminal, or not, as `terminal` says."""

    def __init__(self, *, terminal: bool) -> None:
        """Make an empty stream that is a terminal, or is not."""
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self.terminal


def checks_run(to: Stream, log: Path, detail: Any = "usual", *, seconds: float = 0.0) -> str:
    """Run three checks, a pass, a failure and an error, under a Progress; return what it wrote.

    Each takes `seconds`; `detail` is usual, quiet or verbose.
    """
    with Progress(log, to, NOTHING_SECRET, detail) as progress:
        progress.pytest_xdist_node_collection_finished(["a", "b", "c"])
        for verdict in ("pass", "fail", "error"):
            progress.pytest_runtest_logstart(f"a.py::test_{verdict}")
            report = SimpleNamespace(
                failed=verdict != "pass", when="call", user_properties=[("verdict", verdict)]
            )
            progress.pytest_runtest_logreport(report)  # type: ignore[arg-type]
            time.sleep(seconds)
            progress.pytest_runtest_logfinish(f"a.py::test_{verdict}")
        progress.pytest_sessionfinish()
    return to.getvalue()


def test_a_terminal_gets_one_line_and_is_left_clear(tmp_path: Path) -> None:
    """On a terminal each text overwrites the one before, without a line break.

    The last clears the line.
    """
    text = checks_run(Stream(terminal=True), tmp_path / "log", seconds=0.5)

    assert "\n" not in text
    assert "\r.........  0/3  0:00  pass\x1b[K" in text
    assert text.endswith("\r\x1b[K")


def test_a_terminal_is_never_silent(tmp_path: Path) -> None:
    """While nothing ends, a terminal's line counts the seconds of the wait at hand."""
    to = Stream(terminal=True)

    with Progress(tmp_path / "log", to, NOTHING_SECRET), during(Lock(tool="forge:add", within_s=9)):
        time.sleep(2.6)

    drawn = to.getvalue()
    assert "0:00  waiting 0 of 9 s for the lock of forge:add\x1b[K" in drawn
    assert "0:01  waiting 1 of 9 s for the lock of forge:add\x1b[K" in drawn
    assert "0:02  waiting 2 of 9 s for the lock of forge:add\x1b[K" in drawn


def test_a_log_gets_a_line_at_the_end(tmp_path: Path) -> None:
    """A stream that is not a terminal gets one line at the end: checks, time, failed and open."""
    text = checks_run(Stream(terminal=False), tmp_path / "log")

    assert text.splitlines() == ["3 of 3 checks, 0:00, 1 failed, 1 open"]


def test_a_log_gets_a_line_while_something_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream that is not a terminal gets lines on the wait at hand while no check ends."""
    monkeypatch.setattr(module, "EVERY_S", 0.3)
    to = Stream(terminal=False)

    with Progress(tmp_path / "log", to, NOTHING_SECRET), during(Tools(server="mill", within_s=15)):
        time.sleep(1.0)

    assert "0:00, waiting 0 of 15 s for the tools of upstream mill" in to.getvalue().splitlines()


def test_a_dumb_terminal_gets_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With TERM=dumb a terminal gets the one line at the end, as a log does."""
    monkeypatch.setenv("TERM", "dumb")

    text = checks_run(Stream(terminal=True), tmp_path / "log", seconds=0.2)

    assert text == "3 of 3 checks, 0:00, 1 failed, 1 open\n"


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_is_silent(terminal: bool, tmp_path: Path) -> None:
    """With the detail `quiet` nothing is written, on a terminal or not."""
    assert checks_run(Stream(terminal=terminal), tmp_path / "log", "quiet", seconds=0.2) == ""


def test_the_log_holds_no_secret_whatever_pieces_it_is_written_in(tmp_path: Path) -> None:
    """A secret that is printed in pieces is redacted in the log and in `complaint`.

    The complaint is the log's last line.
    """
    redactor = Redactor(["open-sesame-now"])
    with Progress(tmp_path / "log", Stream(terminal=False), redactor) as progress:
        for piece in ("ERROR: open-", "sesame", "-now\n", "last open-sesame-now"):
            sys.stdout.write(piece)

    assert (tmp_path / "log").read_text() == f"ERROR: {REDACTED}\nlast {REDACTED}"
    assert progress.complaint() == REDACTED


LONG = Status(
    done=142, of=1311, part=0.25, elapsed_s=3700, left_s=131, ended={"fail": 12, "error": 3},
    doing="the_locked_part_of_an_answer_keeps_to_its_cap[漢字-limits-11-at-100]",
)  # fmt: skip


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("columns", [5, 20, 40, 59, 79, 119, 200])
def test_a_line_is_never_wider_than_asked(columns: int, ascii_only: bool) -> None:
    """`line` fits its columns; wide characters count twice, colours not at all.

    With `ascii_only` nothing but a name is outside of ASCII.
    """
    text = line(LONG, columns, colour=True, ascii_only=ascii_only)

    assert width(COLOUR.sub("", text)) <= columns
    assert not ascii_only or COLOUR.sub("", text).replace("漢字", "").isascii()


def test_a_line_shows_everything_that_fits() -> None:
    """A line of 120 columns has bar, counts, times, failed and open ones, and what is done, cut."""
    text = line(LONG, 120, colour=False, ascii_only=True)

    assert text == (
        "###............  142/1311  1:01:40 ~2:10 left  12 failed  3 open  "
        "the_locked_part_of_an_answer_keeps_to_its_cap[漢字-..."
    )


def test_a_line_of_80_columns_has_room_for_what_is_waited_for() -> None:
    """In 79 columns the bar is short, and a wait has its brief sentence."""
    waiting = Waiting(wait=Tools(server="mill", within_s=15), since=time.monotonic() - 7)
    whole, brief = sentence(waiting), sentence(waiting, is_brief=True)
    status = replace(
        LONG, of=606, elapsed_s=71, left_s=480, ended={"fail": 2}, doing=whole, brief=brief
    )

    text = line(status, 79, colour=False, ascii_only=True)

    assert text == ("#....  142/606  1:11 ~8:00 left  2 failed  waiting 7/15 s: tools of mill")


def test_a_log_line_is_not_cut() -> None:
    """`log_line` has counts, times, failed and open ones, and what is done, uncut."""
    assert log_line(LONG) == (
        "142 of 1311 checks, 1:01:40 ~2:10 left, 12 failed, 3 open, "
        "the_locked_part_of_an_answer_keeps_to_its_cap[漢字-limits-11-at-100]"
    )


@pytest.mark.parametrize(
    ("columns", "shown"), [(4, "abcd"), (3, "ab…"), (2, "a…"), (1, "…"), (0, "")]
)
def test_what_does_not_fit_is_cut_with_a_mark(columns: int, shown: str) -> None:
    """`cut` ends a text that is wider than the columns with the mark.

    One that fits is unchanged.
    """
    assert cut("abcd", columns, "…") == shown


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (Probe(), "looking at the target first"),
        (Setup(place="plain"), "starting the target of plain"),
        (Arrival(place="plain#second"), "waiting to start a second target of plain"),
        (Arrival(place="a.py::test_x[y]"), "waiting to start the target of test_x[y]"),
        (Tools(server="mill", within_s=15), "waiting 3 of 15 s for the tools of upstream mill"),
        (Lock(tool="forge:add", within_s=2), "waiting 2 of 2 s for the lock of forge:add"),
        (News(server="mill", within_s=15), "waiting 3 of 15 s for new tools of upstream mill"),
        (Settling(), "waiting 3 s for answers to follow the operator"),
        (LoadEnd(case="slow", others=7), "waiting for the load slow and 7 others"),
        (Reply(number=3, most=40), "waiting for the answer to request 3 of at most 40"),
        (Repetition(law="cap"), "repeating a breach of the law cap, on smaller examples too"),
        (End(), "ending the targets"),
    ],
)
def test_every_wait_has_its_sentence(wait: Wait, words: str) -> None:
    """`sentence` of each kind of wait is this, with its seconds so far and their limit, if any.

    The seconds never exceed the limit.
    """
    assert sentence(Waiting(wait=wait, since=time.monotonic() - 3)) == words


def test_a_wait_for_another_thread_is_shown_as_what_that_thread_waits_for() -> None:
    """A wait for a place is shown as the wait of the thread that sets it up.

    Another such thread is counted in `beside`. Without a wait `waiting_in` is None.
    """
    armed, over = threading.Barrier(3), threading.Event()

    def set_up(place: str) -> None:
        """Wait, as a thread that sets up that place, for tools of its mill until the test ends."""
        with during(Setup(place=place)), during(Tools(server=f"mill-{place}")):
            armed.wait()
            over.wait()

    threads = [threading.Thread(target=set_up, args=(place,)) for place in ("plain", "mixed")]
    for thread in threads:
        thread.start()
    armed.wait()
    with during(Arrival(place="mixed")):
        waiting = waiting_in(threading.get_ident())
    over.set()
    for thread in threads:
        thread.join()

    assert waiting is not None
    assert (waiting.wait, waiting.beside) == (Tools(server="mill-mixed"), 1)
    assert waiting_in(threading.get_ident()) is None


def test_the_time_left_rests_on_what_each_kind_of_check_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After ten checks of 4 s on fresh targets, ten cheaper ones are expected to take 5 s.

    `seconds` is None before a check has ended, and while one takes far too long.
    """
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    left = TimeLeft([*["fresh"] * 10, *["later"] * 10])  # type: ignore[list-item]
    assert left.seconds is None

    for _ in range(10):
        now += 4.0
        left.ended()

    assert left.seconds == pytest.approx(5.0)
    assert left.part == pytest.approx(80 / 90)

    now += 4.0
    assert left.seconds is None


RUN = "from mcp_proxy_conformance.__main__ import main; main()"


@needs.discovery
@pytest.mark.parametrize(
    "columns", [80, *(pytest.param(width, marks=pytest.mark.proof(parts=4)) for width in (60, 120))]
)
def test_a_real_terminal_sees_no_line_that_is_wrapped_or_stale(
    columns: int, tmp_path: Path
) -> None:
    """On a real terminal each drawing of a run is narrower than it, and the last is cleared.

    Above 70 columns it has a bar; the report follows.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    words = ["run", "--check", "limits-11-at-100", "--out", str(tmp_path)]
    environment = os.environ | {"TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        [sys.executable, "-c", RUN, *words], cwd=tmp_path, env=environment,
        stdin=theirs, stdout=theirs, stderr=theirs,
    ) as child:  # fmt: skip
        os.close(theirs)
        raw = b""
        while piece := _read(ours):
            raw += piece
    os.close(ours)
    text = raw.decode()
    drawn, clear, rest = text.rpartition("\x1b[K")

    assert child.returncode == 0
    assert clear
    assert not [part for part in CLEARS.split(COLOUR.sub("", drawn)) if width(part) >= columns]
    assert ("░" in drawn) is (columns > 70)
    assert "░" not in rest
    assert "partial" in rest


def _read(terminal: int) -> bytes:
    """Return the next bytes of a terminal; b"" once its other end is closed."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # its other end is closed
        return b""
