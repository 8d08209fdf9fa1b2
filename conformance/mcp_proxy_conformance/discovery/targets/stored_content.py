"""Stored content of a state folder: digests of files and database columns; texts found there."""

from __future__ import annotations

import base64
import bz2
import contextlib
import hashlib
import lzma
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_proxy_conformance.targets.state_folder import BESIDE, SQLITE, files, is_printed, masked

MOST_FILE, MOST_ALL, MOST_ROWS = 32 * 1024 * 1024, 128 * 1024 * 1024, 50_000
"""Bytes that are read of one file and of a folder, and rows of one table; the rest is not read."""
HEADERS = ("user_version", "application_id")
PACKED: Mapping[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(31),
    b"\x78\x01": zlib.decompressobj,
    b"\x78\x5e": zlib.decompressobj,
    b"\x78\x9c": zlib.decompressobj,
    b"\x78\xda": zlib.decompressobj,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\x00": lzma.LZMADecompressor,
}
"""First bytes of a compressed file or cell, and what reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Patterns of which one occurs where a text is stored; each begins with letters, to be fast.

    `folded` are searched for in content in lower case, `exact` in content as it is.
    """

    folded: tuple[re.Pattern[bytes], ...] = ()
    exact: tuple[re.Pattern[bytes], ...] = ()

    def occurs_in(self, content: bytes, lowered: bytes) -> bool:
        """Whether a pattern occurs in content; `lowered` is the same in lower case."""
        return any(pattern.search(lowered) for pattern in self.folded) or any(
            pattern.search(content) for pattern in self.exact
        )


Traces = Mapping[str, Trace]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Content of one place (file or column): its digest, and the names of the traces in it.

    A database's own bytes have no digest: they change with every transaction, even an empty one.
    """

    digest: bytes
    traces: frozenset[str]


Places = dict[str, Stored]
"""By place: `file`, or `file#table.column` of an SQLite database, numbers in file names masked."""


def stored(folder: Path, traces: Traces) -> Places:
    """Map each place in a target's state folder to its digest and the names of `traces` in it.

    A place is a file or a database column; places of the same masked name are one. The suite's own
    files of the target's output, and bytes beyond the limits, are left out.
    """
    places: dict[str, list[Stored]] = {}
    left = MOST_ALL
    for path in sorted(files(folder)):
        if is_printed(path, folder):
            continue
        with contextlib.suppress(OSError), path.open("rb") as file:
            raw = file.read(min(MOST_FILE, left))
            left -= len(raw)
            name = masked(path, folder)
            for place, content, counts in _contents(path, raw):
                digest = hashlib.sha256(content).digest() if counts else b""
                held = _traces_in(content, traces)
                places.setdefault(f"{name}{place}", []).append(Stored(digest=digest, traces=held))
    return {place: _joined(parts) for place, parts in places.items()}


def changed(before: Places, after: Places) -> set[str]:
    """Return the places that exist before and after, and whose digest differs."""
    return {p for p in before.keys() & after.keys() if before[p].digest != after[p].digest}


def traced(before: Places, after: Places) -> set[tuple[str, str]]:
    """Return (place, name of the trace) for each trace that a place holds only afterwards."""
    none = Stored(digest=b"", traces=frozenset())
    return {
        (place, trace)
        for place, content in after.items()
        for trace in content.traces - before.get(place, none).traces
    }


def spelled(*texts: str) -> Trace:
    """Return the trace of any of these texts, of letters and spaces, as files may spell them.

    In any case: plain or in JSON, with its spaces escaped for a URL, in UTF-16, in hexadecimal
    digits. In its own case only: within base64, where it can begin at any of three places.
    """
    folded: list[bytes] = []
    exact: list[bytes] = []
    for text in texts:
        raw, lower = text.encode(), text.lower()
        wide = [lower.encode("utf-16-le"), lower.encode("utf-16-be")]
        folded += map(re.escape, [*wide, raw.hex().encode()])
        folded.append(rb"(?: |\+|%20|\\u0020)".join(map(re.escape, lower.encode().split(b" "))))
        inner = [base64.b64encode(b"\0" * at + raw)[-(-at * 4 // 3) :] for at in range(3)]
        exact += [re.escape(part.rstrip(b"=")[:-1]) for part in inner]
    return Trace(folded=tuple(map(re.compile, folded)), exact=tuple(map(re.compile, exact)))


def _joined(parts: list[Stored]) -> Stored:
    """Return several contents as one: a digest of their sorted digests, and all their traces."""
    digest = hashlib.sha256(b"".join(sorted(part.digest for part in parts))).digest()
    return Stored(digest=digest, traces=frozenset[str]().union(*(p.traces for p in parts)))


def _contents(path: Path, raw: bytes) -> Iterator[tuple[str, bytes, bool]]:
    """Yield ("", a file's bytes, whether their digest counts), then any database columns.

    The digest of a database's own bytes, and of SQLite's temporary files, does not count; a
    column's does. What cannot be read of a database is left out.
    """
    is_database = raw.startswith(SQLITE)
    yield "", raw, not (is_database or path.name.endswith(BESIDE))
    if is_database:
        with contextlib.suppress(OSError, sqlite3.Error):
            yield from ((f"#{place}", content, True) for place, content in _columns(path))


def _columns(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (place, content) of a database: its header, its schema, then each column of each table.

    A table that cannot be read is left out; sqlite3.Error for a database that cannot.
    """
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as rows:
        rows.text_factory = bytes
        header = [rows.execute(f"pragma {name}").fetchone() for name in HEADERS]
        yield "header", repr(header).encode()
        tables = rows.execute(
            "select name, sql from sqlite_master where type = 'table' order by name"
        ).fetchall()
        yield "schema", b"\n".join(sql or b"" for _, sql in tables)
        for name, _ in tables:
            with contextlib.suppress(sqlite3.Error):
                yield from _of_table(rows, name.decode())


def _of_table(rows: sqlite3.Connection, table: str) -> Iterator[tuple[str, bytes]]:
    """Yield (`table.column`, its sorted cells joined by NUL) for each column of a table.

    At most 50,000 rows are read.
    """
    quoted = '"' + table.replace('"', '""') + '"'
    cursor = rows.execute(f"select * from {quoted} limit {MOST_ROWS}")  # noqa: S608 - its own name
    names = [column[0] for column in cursor.description]
    columns: list[list[bytes]] = [[] for _ in names]
    for row in cursor:
        for cells, value in zip(columns, row, strict=True):
            cells.append(value if isinstance(value, bytes) else str(value).encode())
    for name, cells in zip(names, columns, strict=True):
        yield f"{table}.{name}", b"\0".join(sorted(cells))


def _traces_in(content: bytes, traces: Traces) -> frozenset[str]:
    """Return the names of the traces that occur in the content, plain or decompressed."""
    names: set[str] = set()
    for part in (content, *_unpacked(content)):
        lowered = part.lower()
        names |= {name for name, trace in traces.items() if trace.occurs_in(part, lowered)}
    return frozenset(names)


def _unpacked(content: bytes) -> Iterator[bytes]:
    """Yield the content with one layer of compression removed, up to 32 MiB.

    Nothing is yielded if it is not compressed or cannot be decompressed.
    """
    for magic, reader in PACKED.items():
        if content.startswith(magic):
            with contextlib.suppress(zlib.error, OSError, EOFError, lzma.LZMAError):
                yield reader().decompress(content, MOST_FILE)
