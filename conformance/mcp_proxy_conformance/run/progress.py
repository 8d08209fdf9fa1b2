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

EVERY_S = 10.0
"""How often a stream that is no terminal is told how far the run has come."""
WIDTH, REMEMBERED = 100, 400


class Log(io.TextIOWrapper):
    """What pytest prints: in a file, and the last of it in memory; a full disk ends nothing."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.open("wb"), encoding="utf-8", errors="backslashreplace")
        self.said = deque[str](maxlen=REMEMBERED)

    def write(self, text: str) -> int:
        """Keep it, and write it if that can be done."""
        self.said.append(text)
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        """As far as that can be done."""
        with contextlib.suppress(OSError):
            super().flush()

    def close(self) -> None:
        """As far as that can be done."""
        with contextlib.suppress(OSError):
            super().close()


class Progress:
    """A pytest plugin that tells how far a run has come, and keeps pytest's output aside.

    On a terminal that is one line, written over again; elsewhere a few plain lines: the stages,
    and now and then the number of checks.
    """

    def __init__(self, log: Path, to: TextIO, detail: Detail = "usual") -> None:
        """Write pytest's output to `log`, and progress to `to`; none of it when `quiet`."""
        self.log = log
        self._to = to
        self._detail = detail
        self._live = to.isatty() and detail != "quiet"
        self._all = self._done = self._open = 0
        self._told_at = time.monotonic()
        self._places: set[str] = set()

    def __enter__(self) -> Self:
        """Take standard output away from pytest."""
        self._sink = Log(self.log)
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
