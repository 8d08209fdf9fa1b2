"""The store of approvals, user locks and agent tokens: one SQLite file, reread when it changes."""

import contextlib
import hashlib
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from mcp_proxy_reference.facts import Agent, Tool

TABLES = """
create table if not exists contacts (server text primary key);
create table if not exists approvals (
    server text, tool text, digest text, description text, disabled integer not null default 0,
    primary key (server, tool)
);
create table if not exists tokens (hash text primary key, name text unique, expires real, agent);
"""


class StoreError(Exception):
    """The store cannot be read or written right now; a later use may succeed."""


class Record(NamedTuple):
    """Stored decisions on a tool: approved digest and text (or None), and the user's lock."""

    digest: str | None
    description: str | None
    disabled: bool


class Store:
    """The proxy's SQLite file at `path`, opened anew for each use, so it may be replaced."""

    def __init__(self, path: Path) -> None:
        """Create the file and its tables if they are missing; a failure shows at the first use."""
        self.path = path
        self._read: tuple[tuple[int, int, int], dict[tuple[str, str], Record]] | None = None
        with contextlib.suppress(StoreError), self._open("rwc") as rows:
            rows.executescript(TABLES)

    def records(self) -> dict[tuple[str, str], Record]:
        """Return all records by (server, tool); the same dict until the file changes.

        StoreError if it cannot be read.
        """
        try:
            stat = self.path.stat()
        except OSError as error:
            raise StoreError(f"the store cannot be used: {error}") from error
        signature = stat.st_mtime_ns, stat.st_size, stat.st_ino
        if self._read is None or self._read[0] != signature:
            with self._open() as rows:
                approvals = rows.execute(
                    "select server, tool, digest, description, disabled from approvals"
                )
                self._read = signature, {row[:2]: Record(*row[2:]) for row in approvals}
        return self._read[1]

    def contact(self, server: str, tools: Iterable[Tool], *, trusted: bool) -> None:
        """Approve all of a server's tools at its first contact, and always if it is trusted.

        Raises StoreError.
        """
        with self._open() as rows:
            met = rows.execute("insert or ignore into contacts values (?)", (server,)).rowcount
            if met or trusted:
                _approve(rows, tools)

    def approve(self, tools: Iterable[Tool]) -> None:
        """Record the tools as approved with their present digests and descriptions.

        Raises StoreError.
        """
        with self._open() as rows:
            _approve(rows, tools)

    def lock(self, tool: Tool, *, locked: bool) -> None:
        """Set or remove the user's lock on one tool; its approval stays. Raises StoreError."""
        with self._open() as rows:
            rows.execute(
                "insert into approvals (server, tool, disabled) values (?, ?, ?)"
                " on conflict do update set disabled = excluded.disabled",
                (tool.server, tool.name, locked),
            )

    def issue(self, agent: Agent, lifetime: float) -> str | None:
        """Create and return an agent token for `lifetime` seconds; None if the name is taken.

        Only its hash is stored. Raises StoreError.
        """
        token = f"mcp_agt_{secrets.token_hex(32)}"
        row = (_hash(token), agent.name, time.time() + lifetime, msgspec.json.encode(agent))
        with self._open() as rows:
            added = rows.execute("insert or ignore into tokens values (?, ?, ?, ?)", row).rowcount
        return token if added else None

    def agent(self, token: str) -> Agent | None:
        """Return the agent that holds a token; None if the token is unknown or has expired.

        Raises StoreError.
        """
        with self._open() as rows:
            row = rows.execute(
                "select agent from tokens where hash = ? and expires > ?",
                (_hash(token), time.time()),
            ).fetchone()
        return row and msgspec.json.decode(row[0], type=Agent)

    @contextlib.contextmanager
    def _open(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        """Yield a transaction on the file at the path, which must exist unless `mode` is `rwc`.

        It is committed at the end of the block; raises StoreError.
        """
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        try:
            with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=0.05)) as rows, rows:
                # Survives a killed process; surviving a power cut is out of scope.
                rows.execute("pragma synchronous = off")
                before = rows.total_changes
                yield rows
                if rows.total_changes != before:
                    self._read = None  # the clock of the file may be too coarse to tell
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be used: {error}") from error


def _approve(rows: sqlite3.Connection, tools: Iterable[Tool]) -> None:
    """Record tools as approved, with their present digests and descriptions."""
    rows.executemany(
        "insert into approvals (server, tool, digest, description) values (?, ?, ?, ?)"
        " on conflict do update set digest = excluded.digest, description = excluded.description",
        [(tool.server, tool.name, tool.digest, tool.description) for tool in tools],
    )


def _hash(token: str) -> str:
    """Return the SHA-256 hex digits of a token, which are stored instead of it."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
