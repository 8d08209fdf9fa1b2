"""Progress while a run goes on; pytest's own words go to a log file."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

import pytest

if TYPE_CHECKING:
    from mcp_proxy_conformance.report.terminal import Detail
    from mcp_proxy_conformance.run.collection import Place
    from mcp_proxy_conformance.verdict.redaction import Redactor

EVERY_S = 10.0
"""How often a stream that is no terminal is told how far the run has come."""
WIDTH, REMEMBERED = 100, 400


class Log(io.TextIOWrapper):
    """What pytest prints, without what is secret: in a file, and the last of it in memory.

    A full disk ends nothing.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        super().__init__(path.open("wb"), encoding="utf-8", errors="backslashreplace")
        self.said = deque[str](maxlen=REMEMBERED)
        self._redactor, self._begun = redactor, ""

    def write(self, text: str) -> int:
        """Keep the lines that are whole now, and write them if that can be done."""
        lines, line_end, self._begun = (self._begun + text).rpartition("\n")
        self._say(lines + line_end)
        return len(text)

    def _say(self, text: str) -> None:
        told = self._redactor.text(text)
        self.said.append(told)
        with contextlib.suppress(OSError):
            super().write(told)

    def flush(self) -> None:
        """As far as that can be done."""
        with contextlib.suppress(OSError):
            super().flush()

    def close(self) -> None:
        """As far as that can be done, a line that was begun included."""
        begun, self._begun = self._begun, ""
        with contextlib.suppress(OSError, ValueError):
            self._say(begun)
            super().close()


class Progress:
    """A pytest plugin that tells how far a run has come, and keeps pytest's output aside.

    On a terminal that is one line, written over again; elsewhere a few plain lines: the stages,
    and now and then the number of checks.
    """

    def __init__(self, log: Path, to: TextIO, redactor: Redactor, detail: Detail = "usual") -> None:
        """Write pytest's output to `log`, and progress to `to`; none of it when `quiet`."""
        self.log = log
        self._redactor = redactor
        self._to = to
        self._detail = detail
        self._live = to.isatty() and detail != "quiet"
        self._all = self._done = self._open = 0
        self._told_at = time.monotonic()
        self._places: set[str] = set()

    def __enter__(self) -> Self:
        """Take standard output away from pytest."""
        self._sink = Log(self.log, self._redactor)
        self._streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._sink
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Give the streams back."""
        sys.stdout, sys.stderr = self._streams
        self._sink.close()
        self._over("")

    def complaint(self) -> str:
        """The sentence that pytest ended with when it could not be used."""
        said = "".join(self._sink.said)
        _, error, told = said.rpartition("ERROR: ")
        return told.split("\n")[0] if error else "\n".join(said.splitlines()[-5:])

    @contextlib.contextmanager
    def setting_up(self, place: Place) -> Iterator[None]:
        """Tell of a world that is started and armed in this block, once for each."""
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

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know how many checks there are."""
        self._all = len(session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Know how many there are where they are collected in other processes."""
        self._all = len(ids)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Name the check that begins."""
        self._over(f"{self._done}/{self._all} {nodeid.rpartition('::')[2]}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what did not pass."""
        self._open += report.failed and report.when != "teardown"

    def pytest_runtest_logfinish(self) -> None:
        """Count a check that is done; now and then tell how many those are."""
        self._done += 1
        if time.monotonic() - self._told_at > EVERY_S:
            self._plain(self._count())

    def pytest_sessionfinish(self) -> None:
        """Tell how many were done in the end."""
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
        self._told_at = time.monotonic()
        if not self._live and self._detail != "quiet":
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        """That nobody can be told how far it has come must not end the run."""
        with contextlib.suppress(OSError, ValueError):
            self._to.write(text)
            self._to.flush()


@contextlib.contextmanager
def heard(config: pytest.Config, place: Place) -> Iterator[None]:
    """Set up a world in this block, heard of by the progress of the run if there is one."""
    plugins = config.pluginmanager.get_plugins()
    progress = next((one for one in plugins if isinstance(one, Progress)), None)
    if progress is None:
        yield
        return
    with progress.setting_up(place):
        yield
