"""Runs of the command against hostile targets, in processes: `Came` holds output and resources."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

CANARY = "canary-5f3a9c"
MEASURE = """
import json, os, sys
child = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[2:]], os.environ)
_, status, used = os.wait4(child, 0)
told = {"exit": os.waitstatus_to_exitcode(status), "kib": used.ru_maxrss}
open(sys.argv[1], "w").write(json.dumps(told))
"""
"""A small program in between, since a process's memory counts the pages of its parent."""
PRINTABLE = frozenset({0x09, 0x0A, *range(0x20, 0x7F), *range(0xA0, 0x110000)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """The result of a run: exit code, seconds, peak memory in MiB, printed text, files by path.

    The printed text is of both streams; files are those in the folder of the report.
    """

    exit: int
    seconds: float
    mib: int
    printed: str
    files: Mapping[str, bytes]

    @property
    def document(self) -> Any:
        """The report of the run, as JSON."""
        return json.loads(self.files["report.json"])

    @property
    def why(self) -> str:
        """The one sentence in the report that says why the run ended so."""
        return str(self.document["why"])

    @property
    def active(self) -> set[str]:
        """The characters in the printed text that a terminal would obey."""
        return {letter for letter in self.printed if ord(letter) not in PRINTABLE}


def came(folder: Path, *words: str, within_s: float) -> Came:
    """Run a command, as a process in a new folder with `--out` there, and return what came of it.

    `words` begin with the command's two words. After `within_s` seconds it is killed: exit -1.
    """
    folder.mkdir(parents=True)
    measured, out = folder / "measured.json", folder / "out"
    command = ["-m", "mcp_proxy_conformance", *words[:2], "--out", str(out), *words[2:]]
    began = time.monotonic()
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", MEASURE, str(measured), *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        printed, _ = child.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        printed, _ = child.communicate()
    seconds = time.monotonic() - began
    ended = measured.exists()
    measurement: dict[str, int] = (
        json.loads(measured.read_text()) if ended else {"exit": -1, "kib": 0}
    )
    written = [path for path in out.rglob("*") if path.is_file()]
    return Came(
        exit=measurement["exit"],
        seconds=seconds,
        mib=measurement["kib"] >> 10,
        printed=printed.decode("utf-8", "surrogateescape"),
        files={str(path.relative_to(out)): path.read_bytes() for path in written},
    )


def on_kinds(kinds: Collection[str], quick: Container[str]) -> pytest.MarkDecorator:
    """Return a decorator that gives a test each of these kinds as its parameter `kind`.

    All but the quick ones are marked as parts of the proof.
    """
    proof = pytest.mark.proof(parts=16)
    params = [pytest.param(kind, marks=() if kind in quick else proof) for kind in kinds]
    return pytest.mark.parametrize("kind", params)


def runs_asked_for(
    request: pytest.FixtureRequest,
    known: Iterable[str],
    run: Callable[[str, Path], T],
    folder: Path,
    at_once: int,
) -> dict[str, T]:
    """Call `run` for each known kind that a test of the module has as its parameter `kind`.

    It gets the kind and a folder of its own below `folder`; `at_once` calls run at a time. Return
    what it returned, by kind.
    """
    items = [item for item in request.session.items if item.path == request.path]
    kinds = {item.callspec.params.get("kind") for item in items if hasattr(item, "callspec")}
    names = [name for name in known if name in kinds]
    with ThreadPoolExecutor(at_once) as crew:
        results = crew.map(lambda name: run(name, folder / str(names.index(name))), names)
        return dict(zip(names, results, strict=True))
