"""What lies in a target's state folder: its files, and the tables of its SQLite databases."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, Redactor
from mcp_proxy_conformance.wire.printed import ends_of, without_secrets

SQLITE = b"SQLite format 3\x00"
BESIDE = ("-journal", "-wal", "-shm")
"""Endings of the files that SQLite lays beside a database for a while."""

Marks = dict[str, tuple[int, int]]


def things(folder: Path) -> set[str]:
    """Every file and `file#table` of a folder, numbers in file names masked.

    Programs rotate logs and renew index segments under ever new numbers, so a file counts as new
    only by the rest of its name.
    """
    found: set[str] = set()
    for path in _files(folder):
        if path.name.endswith(BESIDE):
            continue
        name = re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "0", str(path.relative_to(folder)))
        found |= {name, *(f"{name}#{table}" for table in _tables(path))}
    return found


def marks(folder: Path) -> Marks:
    """Size and time of last change, in nanoseconds, of every file: these show a write."""
    found: Marks = {}
    for path in _files(folder):
        with contextlib.suppress(OSError):
            told = path.stat()
            found[str(path)] = (told.st_size, told.st_mtime_ns)
    return found


def keep_logs(folder: Path, redactor: Redactor) -> None:
    """Copy what a target printed out of its scratch folder, `OUT/scratch/NAME`, to `OUT/logs/NAME`.

    Of a long file the beginning and the end are kept. What cannot be copied is left: losing a log
    must not lose the run. So are symbolic links, which may lead out of the folder.
    """
    printed = folder / "target"
    for path in sorted(printed.glob("*")) if not printed.is_symlink() else ():
        if path.suffix in (".log", ".out"):
            keep_log(path, folder.parents[1] / LOGS / folder.name, redactor)


def keep_log(path: Path, place: Path, redactor: Redactor = NOTHING_SECRET) -> None:
    """Copy what was printed to a folder, if anything was; a link is left, and so is what fails."""
    with contextlib.suppress(OSError):
        if not path.is_symlink() and path.stat().st_size:
            place.mkdir(parents=True, exist_ok=True)
            (place / path.name).write_bytes(without_secrets(ends_of(path), redactor))


def remove(folder: Path) -> None:
    """Remove a folder, however deep a target has made it."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and (command := shutil.which("rm")):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(  # noqa: S603 - the system's own, on a folder of ours
                [command, "-rf", "--", str(folder)], capture_output=True, timeout=60, check=False
            )


def _files(folder: Path) -> Iterator[Path]:
    """Every file beneath it, without recursion: a target decides how deep it is."""
    left = [folder]
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False):
                    left.append(Path(one.path))
                elif one.is_file():
                    yield Path(one.path)


def _tables(path: Path) -> list[str]:
    with contextlib.suppress(OSError, sqlite3.Error):
        with path.open("rb") as file:
            if file.read(len(SQLITE)) != SQLITE:
                return []
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as rows:
            return [name for (name,) in rows.execute("select name from sqlite_master")]
    return []
