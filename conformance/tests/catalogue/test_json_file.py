"""Files of cases: written in one move, so that whoever reads one meanwhile reads all of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mcp_proxy_conformance.catalogue.json_file import write


class Value(msgspec.Struct):
    """Something to write."""

    name: str


def test_a_file_that_is_being_read_is_not_cut(tmp_path: Path) -> None:
    """Who has opened the file reads the old text whole; after that only the new one is there."""
    path = tmp_path / "made" / "value.json"
    write(path, Value("old"))

    with path.open(encoding="utf-8") as reader:
        write(path, Value("new"))
        read = reader.read()

    assert (read, path.read_text(encoding="utf-8")) == ('{"name": "old"}\n', '{"name": "new"}\n')
    assert [*path.parent.iterdir()] == [path]
