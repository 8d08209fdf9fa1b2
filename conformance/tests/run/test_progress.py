"""Progress on a terminal: one line that is overwritten, and cleared at the end."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mcp_proxy_conformance.catalogue.world import World, server, tool, world
from mcp_proxy_conformance.run.collection import Place
from mcp_proxy_conformance.run.progress import Progress
from mcp_proxy_conformance.targets.adapter import AdapterError
from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, REDACTED, Redactor


class Stream(io.StringIO):
    """A stream that is a terminal or is not."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.terminal


def place(name: str, *, fresh: bool = False) -> Place:
    """Return a place with a world of one server."""
    return Place(name=name, world=world(server("forge", tool("add"))), fresh=fresh, needs=())


def set_up(where: Place) -> None:
    """Fail for a fresh world."""
    if where.fresh:
        raise AdapterError("no")


def progress_text(to: Stream, log: Path, detail: Any) -> str:
    """Return the progress of two checks on a stage and one on a world that cannot be set up."""
    progress = Progress(log, to, NOTHING_SECRET, detail)
    with progress:
        progress.pytest_collection_finish(SimpleNamespace(items=[1, 2, 3]))  # type: ignore[arg-type]
        for number, where in enumerate([place("plain"), place("plain"), place("own", fresh=True)]):
            progress.pytest_runtest_logstart(f"a.py::test_{number}")
            try:
                with progress.setting_up(where):
                    set_up(where)
            except AdapterError:
                report = SimpleNamespace(failed=True, when="setup")
                progress.pytest_runtest_logreport(report)  # type: ignore[arg-type]
            progress.pytest_runtest_logfinish()
        progress.pytest_sessionfinish()
    return to.getvalue()


def test_a_terminal_gets_one_line(tmp_path: Path) -> None:
    """Each text clears the previous one, and none stays."""
    texts = progress_text(Stream(terminal=True), tmp_path / "log", "usual").split("\r\x1b[K")

    assert texts == [
        "",
        "0/3 test_0", "0/3 stage plain: starting", "0/3 stage plain: armed",
        "1/3 test_1",
        "2/3 test_2", "2/3 world own: starting", "2/3 world own: not set up",
        "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("detail", "lines"),
    [
        ("usual", ["stage plain: starting", "stage plain: armed"]),
        (
            "verbose",
            ["stage plain: starting", "stage plain: armed", "world own: starting",
             "world own: not set up"],
        ),
        ("quiet", None),
    ],
)  # fmt: skip
def test_other_streams_get_plain_lines(
    detail: str, lines: list[str] | None, tmp_path: Path
) -> None:
    """Stages are listed, with --verbose every world, and the number of checks that did not pass."""
    end = ["3 of 3 checks, 1 of them did not pass"]

    text = progress_text(Stream(terminal=False), tmp_path / "log", detail)

    assert text.splitlines() == ([] if lines is None else lines + end)


def test_a_terminal_is_left_alone_with_quiet(tmp_path: Path) -> None:
    """Not even a line is cleared."""
    assert progress_text(Stream(terminal=True), tmp_path / "log", "quiet") == ""


def test_what_is_no_world_is_not_told_of(tmp_path: Path) -> None:
    """Loads and live endpoints have places without servers."""
    to = Stream(terminal=False)
    nowhere = Place(name="load", world=World(servers=(), id="load"), fresh=False, needs=())

    with Progress(tmp_path / "log", to, NOTHING_SECRET) as progress, progress.setting_up(nowhere):
        pass

    assert to.getvalue() == ""


def test_the_log_holds_no_secret_whatever_pieces_it_is_written_in(tmp_path: Path) -> None:
    """Neither does the sentence that pytest ended with."""
    redactor = Redactor(["open-sesame-now"])
    with Progress(tmp_path / "log", Stream(terminal=False), redactor) as progress:
        for piece in ("ERROR: open-", "sesame", "-now\n", "last open-sesame-now"):
            sys.stdout.write(piece)

    assert (tmp_path / "log").read_text() == f"ERROR: {REDACTED}\nlast {REDACTED}"
    assert progress.complaint() == REDACTED
