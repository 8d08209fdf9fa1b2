"""The state folder of a target: its files and tables by name, marks of writes, logs, removal."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mcp_proxy_conformance.catalogue.resources import LOGS
from mcp_proxy_conformance.verdict.redaction import NOTHING_SECRET, Redactor
from mcp_proxy_conformance.wire.printed import ends_of, without_secrets

SQLITE = b"SQLite format 3\x00"
PRINTED = re.compile(r"(adapter|target-\d+)\.(log|out)")
BESIDE = ("-journal", "-wal", "-shm")
"""Suffixes of the temporary files that SQLite puts beside a database."""

MEMORY, ROOM = Path("/dev/shm"), 1 << 30  # noqa: S108 - the folder in it is the user's own
"""Linux's file system in memory, and the bytes that must be free in it for state folders."""

Marks = dict[str, tuple[int, int]]


def in_memory() -> Path | None:
    """Return the user's folder in memory, where a target need not wait for a disk; make it first.

    None if this system has no such place or no user ids, less than 1 GiB is free in it, or the
    folder cannot be made or is another's.
    """
    if not hasattr(os, "getuid"):
        return None
    with contextlib.suppress(OSError):
        if shutil.disk_usage(MEMORY).free >= ROOM:
            folder = MEMORY / f"mcp-proxy-conformance-{os.getuid()}"
            folder.mkdir(mode=0o700, exist_ok=True)
            status = folder.lstat()
            if (status.st_mode, status.st_uid) == (stat.S_IFDIR | 0o700, os.getuid()):
                return folder
    return None


def things(folder: Path) -> set[str]:
    """Return the names of a state folder's files, and `file#name` for tables and indexes.

    Numbers in file names are masked by 0, since programs rotate logs; SQLite's temporary files are
    left out.
    """
    names: set[str] = set()
    for path in files(folder):
        if path.name.endswith(BESIDE):
            continue
        name = masked(path, folder)
        names |= {name, *(f"{name}#{table}" for table in _tables(path))}
    return names


def masked(path: Path, folder: Path) -> str:
    """Return a file's path within the folder, with 0 for each number in it, also hexadecimal."""
    return re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "0", str(path.relative_to(folder)))


def is_printed(path: Path, folder: Path) -> bool:
    """Whether a file directly in `folder` is one the suite wrote of a target's or adapter's output.

    Its name shows that.
    """
    return path.parent == folder and PRINTED.fullmatch(path.name) is not None


def marks(folder: Path) -> Marks:
    """Map each file's path to (size, modification time in ns), by which a write is noticed.

    Files that cannot be read are left out.
    """
    by_path: Marks = {}
    for path in files(folder):
        with contextlib.suppress(OSError):
            status = path.stat()
            by_path[str(path)] = (status.st_size, status.st_mtime_ns)
    return by_path


def keep_logs(folder: Path, out: Path, redactor: Redactor) -> None:
    """Copy `FOLDER/target/*.log` and `*.out`, a target's output, redacted, to `OUT/logs/NAME`.

    NAME is that of the folder. Of a long file the beginning and the end are kept. Empty files,
    those that cannot be copied, and symbolic links, which may lead out of the folder, are skipped.
    """
    printed = folder / "target"
    for path in sorted(printed.glob("*")) if not printed.is_symlink() else ():
        if path.suffix in (".log", ".out"):
            keep_log(path, out / LOGS / folder.name, redactor)


def keep_log(path: Path, place: Path, redactor: Redactor = NOTHING_SECRET) -> None:
    """Copy the log `path` into the folder `place`, redacted, a long one shortened to its two ends.

    Empty logs, links and errors are skipped.
    """
    with contextlib.suppress(OSError):
        if not path.is_symlink() and path.stat().st_size:
            place.mkdir(parents=True, exist_ok=True)
            (place / path.name).write_bytes(without_secrets(ends_of(path), redactor))


def remove(folder: Path) -> None:
    """Remove a folder, however deep a target has nested it, with `rm` if need be.

    Errors are ignored.
    """
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists() and (command := shutil.which("rm")):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(  # noqa: S603 - the system's own, on a folder of ours
                [command, "-rf", "--", str(folder)], capture_output=True, timeout=60, check=False
            )


def files(folder: Path) -> Iterator[Path]:
    """Yield every file in a folder and below, without recursion: a target decides how deep it is.

    Links to files are yielded, links to folders not followed, unreadable folders skipped.
    """
    left = [folder]
    while left:
        with contextlib.suppress(OSError), os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                elif entry.is_file():
                    yield Path(entry.path)


def _tables(path: Path) -> list[str]:
    """Return the names of a database's tables and indexes; [] for another or unreadable file."""
    with contextlib.suppress(OSError, sqlite3.Error):
        with path.open("rb") as file:
            if file.read(len(SQLITE)) != SQLITE:
                return []
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as rows:
            return [name for (name,) in rows.execute("select name from sqlite_master")]
    return []
