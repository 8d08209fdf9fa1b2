"""Stored content of a target: texts traced however spelled, changed places of databases."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_proxy_conformance.discovery.targets.stored_content import changed, spelled, stored, traced

TEXT = "lurid amber"
TRACES = {"query": spelled(TEXT)}


def _database(path: Path, *statements: str) -> None:
    """Execute these statements on the SQLite database of that file, in one transaction."""
    with closing(sqlite3.connect(path)) as rows, rows:
        for statement in statements:
            rows.execute(statement)


@pytest.mark.parametrize(
    "raw",
    [
        TEXT.encode(),
        b"LURID AMBER",
        b"q=lurid+amber&",
        b"q=lurid%20amber",
        json.dumps({"a": json.dumps({"query": TEXT})}).encode(),
        TEXT.encode("utf-16"),
        TEXT.encode().hex().encode(),
        *(base64.b64encode(b"x" * at + TEXT.encode() + b"yz") for at in range(3)),
        gzip.compress(b"... " + TEXT.encode()),
    ],
    ids=(
        "plain",
        "capitals",
        "form",
        "url",
        "json",
        "wide",
        "digits",
        *map("base64-{}".format, range(3)),
        "gzip",
    ),
)
def test_a_text_is_found_as_files_may_spell_it(tmp_path: Path, raw: bytes) -> None:
    """A text is traced in a file in any case, form- or percent-encoded, in nested JSON or UTF-16.

    So it is in hex digits, in base64 at any offset, and compressed by gzip.
    """
    (tmp_path / "kept").write_bytes(raw)

    places = stored(tmp_path, TRACES)

    assert places["kept"].traces == {"query"}


def test_another_text_is_not_found(tmp_path: Path) -> None:
    """The same words in another order, plain or in base64, are not a trace of the text."""
    (tmp_path / "kept").write_bytes(b"amber lurid, " + base64.b64encode(b"amber lurid"))

    places = stored(tmp_path, TRACES)

    assert places["kept"].traces == frozenset()


def test_a_change_of_a_database_is_named_by_its_column(tmp_path: Path) -> None:
    """`changed` names a changed cell by file, table and column, and a changed header.

    `traced` names a text that is new there, for the column and for the file.
    """
    path = tmp_path / "proxy.db"
    _database(path, "create table t (a, b)", "insert into t values (1, 'x')")
    before = stored(tmp_path, TRACES)
    _database(path, "update t set b = 'lurid amber'", "pragma user_version = 7")
    after = stored(tmp_path, TRACES)

    assert changed(before, after) == {"proxy.db#t.b", "proxy.db#header"}
    assert traced(before, after) == {("proxy.db", "query"), ("proxy.db#t.b", "query")}


def test_a_transaction_that_changes_nothing_is_no_change(tmp_path: Path) -> None:
    """After an update that leaves each value as it was, `changed` is empty."""
    path = tmp_path / "proxy.db"
    _database(path, "create table t (a)", "insert into t values (1)")
    before = stored(tmp_path, TRACES)
    _database(path, "update t set a = 1")

    assert changed(before, stored(tmp_path, TRACES)) == set()


def test_what_the_suite_printed_is_no_content_of_the_target(tmp_path: Path) -> None:
    """`stored` leaves out the logs in which the suite keeps output: target-N.log, adapter.log.

    The target's own log is read.
    """
    (tmp_path / "target-12.log").write_text(TEXT)
    (tmp_path / "adapter.log").write_text(TEXT)
    (tmp_path / "own.log").write_text("x")

    assert set(stored(tmp_path, TRACES)) == {"own.log"}
