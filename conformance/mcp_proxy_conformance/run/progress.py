"""Progress of a run on the terminal; pytest's own output goes to a log file."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

import pytest

from mcp_proxy_conformance.report.colour import has_colour
from mcp_proxy_conformance.run.collection import place_of
from mcp_proxy_conformance.run.pytest_log import PytestLog
from mcp_proxy_conformance.run.status_line import Status, line, log_line, sentence, width
from mcp_proxy_conformance.run.time_left import TimeLeft, kinds
from mcp_proxy_conformance.targets.waits import waiting_in
from mcp_proxy_conformance.verdict.redaction import inert

if TYPE_CHECKING:
    from mcp_proxy_conformance.report.terminal import Detail
    from mcp_proxy_conformance.verdict.redaction import Redactor

EVERY_S, DRAWN_S = 15.0, 0.2
"""Seconds between lines on a stream that is not a terminal, and between two looks at the status."""
COLUMNS = 80
"""The width of a terminal that does not tell it."""


class Progress:
    """A pytest plugin that shows the progress of a run, and diverts pytest's output.

    On a terminal that is one line, overwritten each time and as wide as the terminal; elsewhere it
    is a plain line every fifteen seconds.
    """

    def __init__(self, log: Path, to: TextIO, redactor: Redactor, detail: Detail = "usual") -> None:
        """Write pytest's output to `log`, and progress to `to`, none if `detail` is quiet."""
        self.log = log
        self._redactor, self._to = redactor, to
        self._shows = detail != "quiet"
        self._live = self._shows and to.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = has_colour(to)
        self._ascii_only = not _can_encode(to, "█░…")
        self._began = self._printed_at = time.monotonic()
        self._thread = threading.get_ident()
        self._all = self._done = self._drawn = 0
        self._ended = Counter[str]()
        self._running: dict[str, None] = {}
        self._time_left: TimeLeft | None = None
        self._writing, self._over = threading.RLock(), threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)

    def __enter__(self) -> Self:
        """Redirect standard output and error to the log.

        Start the thread that shows progress, if any.
        """
        self._sink = PytestLog(self.log, self._redactor)
        self._streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._sink
        if self._shows:
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Stop the thread, restore both streams, close the log and clear the line of progress."""
        self._over.set()
        if self._shows:
            self._ticker.join(EVERY_S)
        sys.stdout, sys.stderr = self._streams
        self._sink.close()
        self._clear()

    def complaint(self) -> str:
        """Return pytest's last error message in the log; if none, the log's last five lines."""
        return self._sink.complaint()

    def remark(self, text: str) -> None:
        """Print a line that stays, redacted, above the line of progress; do nothing if quiet."""
        if self._shows:
            with self._writing:
                self._clear()
                self._write(f"{self._broken(self._shown(text))}\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the number of checks and their kinds, and begin to estimate the time left."""
        self._all = len(session.items)
        self._time_left = TimeLeft(kinds([place_of(item) for item in session.items]))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note how many checks the workers have collected; how long they take is not estimated."""
        self._all, self._time_left = len(ids), None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that the check with this id has begun."""
        self._running[nodeid] = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a failure of a check's set-up or call under its verdict, "error" if it has none."""
        if report.failed and report.when != "teardown":
            self._ended[str(dict(report.user_properties).get("verdict", "error"))] += 1

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Count a finished check; it is no longer among those that run."""
        self._running.pop(nodeid, None)
        self._done += 1
        if self._time_left is not None:
            self._time_left.ended()

    def pytest_sessionfinish(self) -> None:
        """Print the final status as a line; not on a terminal, nor without checks."""
        if self._all and not self._live:
            self._print(log_line(self.status()))

    def status(self) -> Status:
        """Return how far the run is; `left_s` is None where it cannot be estimated.

        Without an estimate, `part` is the ratio of checks that are done.
        """
        left = self._time_left
        return Status(
            done=self._done,
            of=self._all,
            part=left.part if left is not None else self._done / max(1, self._all),
            elapsed_s=time.monotonic() - self._began,
            left_s=left.seconds if left is not None else None,
            ended=dict(self._ended),
            doing=self._shown(self._doing()),
            brief=self._shown(self._doing(is_brief=True)),
        )

    def _doing(self, *, is_brief: bool = False) -> str:
        """Return what the run waits for, else the check or the number of checks that run, else "".

        Before checks are collected it is a sentence on that. A timed wait has fewer words
        if `is_brief`.
        """
        if (waiting := waiting_in(self._thread)) is not None:
            return sentence(waiting, is_brief=is_brief)
        running = [
            nodeid.rpartition("::")[2].removeprefix("test_") for nodeid in list(self._running)
        ]
        if len(running) > 1:
            return f"{len(running)} checks at once, {running[0]}"
        return running[0] if running else "" if self._all else "collecting the checks"

    def _tick(self) -> None:
        """Until the run is over, redraw the status (0.2 s) or, off a terminal, print it (15 s)."""
        while not self._over.wait(DRAWN_S):
            if self._live:
                self._draw()
            elif time.monotonic() - self._printed_at >= EVERY_S:
                self._print(log_line(self.status()))

    def _draw(self) -> None:
        """Replace the line on the terminal by the status, in colour if wanted; note its width."""
        columns = self._columns() - 1  # in the last one, some terminals wrap
        options = {"colour": self._colour, "ascii_only": self._ascii_only}
        text = line(status := self.status(), columns, **options)
        with self._writing:
            self._write(f"{self._up(columns)}\r{text}\x1b[K")
            self._drawn = width(line(status, columns, **(options | {"colour": False})))

    def _clear(self) -> None:
        """Clear the line of progress on the terminal, if there is one."""
        with self._writing:
            if self._live and self._drawn:
                self._write(f"{self._up(self._columns() - 1)}\r\x1b[K")
                self._drawn = 0

    def _up(self, columns: int) -> str:
        """Return codes to go up to, and clear, the rows over which the line was broken; else "".

        That happens when the terminal is made narrower.
        """
        rows = max(0, self._drawn - 1) // max(1, columns + 1)
        return f"\x1b[{rows}A\r\x1b[J" if rows else ""

    def _columns(self) -> int:
        """Return the width of the terminal; 80 if it is not known."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(self._to.fileno()).columns or COLUMNS
        return COLUMNS

    def _broken(self, text: str) -> str:
        """Return the text wrapped to the width of the terminal; off a terminal, unchanged."""
        return "\n".join(textwrap.wrap(text, self._columns() - 1)) if self._live else text

    def _print(self, text: str) -> None:
        """Write a line, unless quiet, and note the time."""
        self._printed_at = time.monotonic()
        if self._shows:
            self._write(f"{text}\n")

    def _shown(self, text: str) -> str:
        """Return the text in one line, without credentials and control characters."""
        return self._redactor.text(" ".join(inert(text).split()))

    def _write(self, text: str) -> None:
        """Write to the stream and flush; errors are ignored, as a closed one must not end a run."""
        with self._writing, contextlib.suppress(OSError, ValueError):
            self._to.write(text)
            self._to.flush()


def _can_encode(stream: TextIO, text: str) -> bool:
    """Whether the stream's encoding has these characters; False if it is unknown."""
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def remark(config: pytest.Config, remarks: Sequence[str]) -> None:
    """Print these sentences in the Progress registered with pytest; do nothing without one."""
    plugins = config.pluginmanager.get_plugins()
    for progress in [plugin for plugin in plugins if isinstance(plugin, Progress)]:
        for text in remarks:
            progress.remark(text)
