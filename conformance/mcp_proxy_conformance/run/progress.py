"""Progress of a run on the terminal; pytest's own output goes to a log file."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

import pytest

from mcp_proxy_conformance.verdict.redaction import inert

if TYPE_CHECKING:
    from mcp_proxy_conformance.report.terminal import Detail
    from mcp_proxy_conformance.run.collection import Place
    from mcp_proxy_conformance.verdict.redaction import Redactor

EVERY_S = 10.0
"""Seconds between lines of progress on a stream that is not a terminal."""
WIDTH, REMEMBERED = 100, 400


class PytestLog(io.TextIOWrapper):
    """Stream for pytest's output: redacted, in a file, its last lines in memory too.

    A full disk is ignored.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        super().__init__(path.open("wb"), encoding="utf-8", errors="backslashreplace")
        self.recent = deque[str](maxlen=REMEMBERED)
        self._redactor, self._begun = redactor, ""

    def write(self, text: str) -> int:
        """Write the lines that are complete, redacted; disk errors are ignored."""
        lines, line_end, self._begun = (self._begun + text).rpartition("\n")
        self._say(lines + line_end)
        return len(text)

    def _say(self, text: str) -> None:
        redacted = self._redactor.text(text)
        self.recent.append(redacted)
        with contextlib.suppress(OSError):
            super().write(redacted)

    def flush(self) -> None:
        """Flush the file; disk errors are ignored."""
        with contextlib.suppress(OSError):
            super().flush()

    def close(self) -> None:
        """Write the incomplete last line and close the file; disk errors are ignored."""
        begun, self._begun = self._begun, ""
        with contextlib.suppress(OSError, ValueError):
            self._say(begun)
            super().close()


class Progress:
    """A pytest plugin that shows the progress of a run, and diverts pytest's output.

    On a terminal that is one line, overwritten each time; elsewhere a few plain lines: the stages,
    and every ten seconds the number of checks.
    """

    def __init__(self, log: Path, to: TextIO, redactor: Redactor, detail: Detail = "usual") -> None:
        """Write pytest's output to `log`, and progress to `to`; no progress when `quiet`."""
        self.log = log
        self._redactor = redactor
        self._to = to
        self._detail = detail
        self._live = to.isatty() and detail != "quiet"
        self._all = self._done = self._open = 0
        self._printed_at = time.monotonic()
        self._places: set[str] = set()

    def __enter__(self) -> Self:
        """Redirect standard output and standard error to the log file."""
        self._sink = PytestLog(self.log, self._redactor)
        self._streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._sink
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Restore both streams, close the log and clear the line of progress."""
        sys.stdout, sys.stderr = self._streams
        self._sink.close()
        self._over("")

    def complaint(self) -> str:
        """Return pytest's error message from the log; without one, the log's last lines."""
        recent = "".join(self._sink.recent)
        _, error, message = recent.rpartition("ERROR: ")
        return message.split("\n")[0] if error else "\n".join(recent.splitlines()[-5:])

    @contextlib.contextmanager
    def setting_up(self, place: Place) -> Iterator[None]:
        """Show that this block starts a world and proves its locks; only the first time a place."""
        if not place.world.servers or place.name in self._places:
            yield
            return
        self._places.add(place.name)
        shown = self._detail == "verbose" or not place.fresh
        kind = "world" if place.fresh else "stage"
        self._stage(f"{kind} {place.name}: starting", plain=shown)
        state = "not set up"
        try:
            yield
            state = "armed"
        finally:
            self._stage(f"{kind} {place.name}: {state}", plain=shown)

    def remark(self, text: str) -> None:
        """Print a line that stays; not when `quiet`."""
        if self._detail != "quiet":
            self._over("")
            self._write(f"{self._redactor.text(inert(text))}\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember how many checks there are."""
        self._all = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Remember how many checks the workers have collected."""
        self._all = len(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Show the name of the check that begins."""
        self._over(f"{self._done}/{self._all} {nodeid.rpartition('::')[2]}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a check that failed in its set-up or its call."""
        self._open += report.failed and report.when != "teardown"

    def pytest_runtest_logfinish(self) -> None:
        """Count a finished check; print the count if ten seconds have passed."""
        self._done += 1
        if time.monotonic() - self._printed_at > EVERY_S:
            self._plain(self._count())

    def pytest_sessionfinish(self) -> None:
        """Print how many checks were done in the end."""
        if self._all:
            self._plain(self._count())

    def _count(self) -> str:
        rest = f", {self._open} of them did not pass" if self._open else ""
        return f"{self._done} of {self._all} checks{rest}"

    def _stage(self, text: str, *, plain: bool) -> None:
        self._over(f"{self._done}/{self._all} {text}")
        if plain:
            self._plain(text)

    def _over(self, text: str) -> None:
        if self._live:
            self._write(f"\r\x1b[K{text[:WIDTH]}")

    def _plain(self, text: str) -> None:
        self._printed_at = time.monotonic()
        if not self._live and self._detail != "quiet":
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        """Write to the terminal; errors are ignored, as a closed one must not end the run."""
        with contextlib.suppress(OSError, ValueError):
            self._to.write(text)
            self._to.flush()


@contextlib.contextmanager
def showing_setup(config: pytest.Config, place: Place) -> Iterator[None]:
    """Show in the run's Progress, if there is one, that this block sets up a world."""
    progress = _of(config)
    if progress is None:
        yield
        return
    with progress.setting_up(place):
        yield


def remark(config: pytest.Config, remarks: Sequence[str]) -> None:
    """Print these sentences in the run's Progress, if there is one."""
    if (progress := _of(config)) is not None:
        for text in remarks:
            progress.remark(text)


def _of(config: pytest.Config) -> Progress | None:
    plugins = config.pluginmanager.get_plugins()
    return next((plugin for plugin in plugins if isinstance(plugin, Progress)), None)
