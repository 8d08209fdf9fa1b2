"""Progress while a run goes on; pytest's own words go to a log file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import pytest


class Progress:
    """A pytest plugin that counts checks on a terminal and keeps pytest's output aside."""

    def __init__(self, log: Path, to: TextIO) -> None:
        """Write pytest's output to `log`, progress to `to` (only when it is a terminal)."""
        self.log = log
        self._to = to
        self._all = self._done = 0

    def __enter__(self) -> Self:
        """Take standard output away from pytest."""
        self._sink = self.log.open("w", encoding="utf-8")
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
        self._tell("")

    def complaint(self) -> str:
        """The sentence that pytest ended with when it could not be used."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        told = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        return told[-1] if told else "\n".join(lines[-5:])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Know how many checks there are."""
        self._all = len(session.items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Name the check that begins."""
        self._done += 1
        self._tell(f"{self._done}/{self._all} {nodeid.rpartition('::')[2]}"[:100])

    def _tell(self, text: str) -> None:
        if self._to.isatty():
            self._to.write(f"\r\x1b[K{text}")
            self._to.flush()
