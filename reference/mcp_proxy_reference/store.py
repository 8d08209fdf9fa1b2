"""Approvals and agent tokens in one SQLite file; every read goes to the file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mcp_proxy_reference.facts import Agent, Tool

TABLES = """
create table if not exists contacts (server text primary key);
create table if not exists approvals (
    server text, tool text, digest text, description text, disabled integer not null default 0,
    primary key (server, tool)
);
create table if not exists tokens (
    hash text primary key, name text unique, servers text, permissions text, expires real
);
"""
MEET = """
insert into approvals (server, tool, digest, description) values (?, ?, ?, ?) on conflict do nothing
"""
APPROVE = MEET.replace(
    "nothing", "update set digest = excluded.digest, description = excluded.description"
)
PREFIX = "mcp_agt_"


class StoreError(Exception):
    """The store cannot be read or written right now; it may be mended while the proxy runs."""


class Record(NamedTuple):
    """What was decided on a tool: digest and text that were approved (or none), the user's lock."""

    digest: str | None
    description: str | None
    disabled: bool


class Store:
    """The proxy's memory across restarts, at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows: sqlite3.Connection | None = None
        self._inode = 0
        with contextlib.suppress(StoreError), self._open(create=True) as rows:
            rows.executescript(TABLES)

    def records(self) -> dict[tuple[str, str], Record]:
        """Every tool's record, by server and tool."""
        with self._open() as rows:
            found = rows.execute(
                "select server, tool, digest, description, disabled from approvals"
            )
            return {row[:2]: Record(*row[2:]) for row in found}

    def record(self, tool: Tool) -> Record | None:
        """One tool's record."""
        with self._open() as rows:
            row = rows.execute(
                "select digest, description, disabled from approvals where server = ? and tool = ?",
                (tool.server, tool.name),
            ).fetchone()
        return Record(*row) if row else None

    def contact(self, server: str, tools: Sequence[Tool], *, trusted: bool) -> None:
        """Take note of what a server offers: all approved at first contact and when trusted."""
        with self._open() as rows:
            known = rows.execute("select 1 from contacts where server = ?", (server,)).fetchone()
            approve = trusted or known is None
            rows.execute("insert or ignore into contacts values (?)", (server,))
            self._write(rows, tools, approve=approve)

    def approve(self, tools: Sequence[Tool]) -> None:
        """Approve the tools as they are described now."""
        with self._open() as rows:
            self._write(rows, tools, approve=True)

    def lock(self, tool: Tool, *, locked: bool) -> None:
        """Set or lift the user's lock on one tool."""
        with self._open() as rows:
            rows.execute(
                "insert into approvals (server, tool, disabled) values (?, ?, ?)"
                " on conflict do update set disabled = excluded.disabled",
                (tool.server, tool.name, locked),
            )

    def issue(self, agent: Agent, lifetime: float) -> str:
        """A new agent token, valid for `lifetime` seconds; ValueError when the name is taken."""
        token = PREFIX + secrets.token_hex(32)
        servers = json.dumps(None if agent.servers is None else sorted(agent.servers))
        permissions = json.dumps(sorted(agent.permissions))
        row = (_hash(token), agent.name, servers, permissions, time.time() + lifetime)
        with self._open() as rows:
            if rows.execute("select 1 from tokens where name = ?", (agent.name,)).fetchone():
                raise ValueError(agent.name)
            rows.execute("insert into tokens values (?, ?, ?, ?, ?)", row)
        return token

    def agent(self, token: str) -> Agent | None:
        """The agent that holds a token, unless the token is unknown or has expired."""
        with self._open() as rows:
            row = rows.execute(
                "select name, servers, permissions from tokens where hash = ? and expires > ?",
                (_hash(token), time.time()),
            ).fetchone()
        if row is None:
            return None
        servers: list[Any] | None = json.loads(row[1])
        return Agent(
            name=row[0],
            servers=None if servers is None else frozenset(servers),
            permissions=frozenset(json.loads(row[2])),
        )

    def close(self) -> None:
        """Close the file."""
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    @staticmethod
    def _write(rows: sqlite3.Connection, tools: Sequence[Tool], *, approve: bool) -> None:
        rows.executemany(
            APPROVE if approve else MEET,
            [
                (t.server, t.name, *((t.digest, t.description) if approve else (None, None)))
                for t in tools
            ],
        )

    @contextlib.contextmanager
    def _open(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction on the file that is at the path now; it is never created again."""
        try:
            if self._rows is not None and self.path.stat().st_ino != self._inode:
                self.close()
            if self._rows is None:
                mode = "rwc" if create else "rw"
                uri = f"{self.path.absolute().as_uri()}?mode={mode}"
                self._rows = sqlite3.connect(uri, uri=True, timeout=0.05)
                # Outlives a killed process; a power cut is not this program's subject.
                self._rows.execute("pragma synchronous = off")
                self._inode = self.path.stat().st_ino
            with self._rows:
                yield self._rows
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"the store cannot be used: {error}") from error


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
