"""Recordings of default output: files written, read or refused; the `baseline` commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from mcp_proxy_conformance.catalogue.resources import schemas_dir
from mcp_proxy_conformance.discovery.baseline.body import (
    BadBody,
    Body,
    changed,
    parsed,
    written,
)
from mcp_proxy_conformance.discovery.baseline.manifest import BadBaseline, Recording, read, write
from mcp_proxy_conformance.discovery.baseline.recorder import STAGE
from mcp_proxy_conformance.discovery.calibration import Exact
from mcp_proxy_conformance.discovery.commands.baseline import baseline


def test_a_recording_is_read_as_it_was_written(tmp_path: Path, before: Recording) -> None:
    """A recording that is written and read has the same answers, and a valid manifest.

    Its files have no address and no folder of the run.
    """
    write(before, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    schema = json.loads((schemas_dir() / "baseline.schema.json").read_text(encoding="utf-8"))

    jsonschema.validate(manifest, schema)
    again = read(tmp_path, stage=STAGE)
    assert list(again.bodies) == list(before.bodies)
    files = b"".join(file.read_bytes() for file in tmp_path.rglob("*.*"))
    assert re.search(rb"127\.0\.0\.1|/tmp/", files) is None


def spoil_file(folder: Path) -> None:
    """Replace `tools` by `toolz` in one recorded answer, so that its digest no longer fits."""
    file = next((folder / "open").iterdir())
    file.write_bytes(file.read_bytes().replace(b"tools", b"toolz", 1))


def lose_file(folder: Path) -> None:
    """Remove the file of one recorded answer that the manifest names."""
    next((folder / "locked").iterdir()).unlink()


def edit(name: str, value: Any) -> Callable[[Path], None]:
    """Return a function that sets the member `name` in the manifest of a recording's folder."""

    def spoil(folder: Path) -> None:
        """Set the member in the manifest of that folder to the value."""
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text(encoding="utf-8")) | {name: value}
        path.write_text(json.dumps(manifest), encoding="utf-8")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (spoil_file, "was changed after it was recorded; record it again"),
        (lose_file, "No such file or directory; record it again"),
        (edit("stage", "plain/0"), "was recorded on plain/0, not on plain/1; record it again"),
        (edit("format", "other/9"), "has the format 'other/9'"),
        (edit("kind", "next"), "Invalid enum value 'next' - at `$.kind`"),
        (edit("surplus", 1), "contains unknown field `surplus`"),
        (lambda folder: (folder / "manifest.json").unlink(), "contains no recording"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "see schemas/baseline"),
    ],
)
def test_a_recording_that_was_tampered_with_is_refused(
    tmp_path: Path, spoil: Callable[[Path], object], sentence: str, before: Recording
) -> None:
    """Reading a recording with a changed or missing file raises BadBaseline, with one line.

    `baseline diff` then exits with 2 and one line.
    """
    write(before, tmp_path)
    spoil(tmp_path)

    with pytest.raises(BadBaseline, match=re.escape(sentence)) as caught:
        read(tmp_path, stage=STAGE)

    assert "\n" not in str(caught.value)
    result = CliRunner().invoke(baseline, ["diff", str(tmp_path), str(tmp_path)])
    assert (result.exit_code, result.output.count("\n")) == (2, 1)


def test_recordings_are_compared_and_accepted(tmp_path: Path, before: Recording) -> None:
    """`baseline diff` of two recordings names the place that differs, exit 1.

    `baseline accept` needs a reason, which it records, and takes the new answers; then `diff` exits
    with 0.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    write(before, old)
    first, *rest = before.bodies
    other = Exact(result=first.exact.result, text=first.exact.text.replace(b'"total"', b'"sum"'))
    write(replace(before, bodies=[replace(first, exact=other), *rest]), new)
    tool = CliRunner()

    shown = tool.invoke(baseline, ["diff", str(old), str(new)])
    refused = tool.invoke(baseline, ["accept", str(old), str(new), "--reason", " "])
    taken = tool.invoke(baseline, ["accept", str(old), str(new), "--reason", "renamed"])
    equal = tool.invoke(baseline, ["diff", str(old), str(new)])

    assert (shown.exit_code, 'open: query "issue"\n  in text.' in shown.output) == (1, True)
    assert (refused.exit_code, "blank" in refused.output) == (2, True)
    assert (taken.exit_code, equal.exit_code, equal.output) == (0, 0, "no answer differs\n")
    manifest = json.loads((old / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["accepted"] == [{"reason": "renamed", "changed": 1}]
    assert manifest["kind"] == "previous"


def test_nothing_is_written_into_a_folder_of_something_else(
    tmp_path: Path, before: Recording
) -> None:
    """Writing a recording into a folder with other files raises BadBaseline; they are unchanged."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

    with pytest.raises(BadBaseline, match="is not empty and contains no recording"):
        write(before, tmp_path)

    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


ANSWER = Body(
    request={"query": "müde", "limit": 5},
    exact=Exact(
        result=b'{"content":[{"type":"text","text":""}],\n}\n"at":1}',
        text=b'{"tools":[{"name":"dig","server":"quarry","score":0.5}],"at":1}\n\n',
    ),
    moving=frozenset({("text", "tools", ("quarry", "dig"), "score"), ("text", "at")}),
)


def test_an_answer_is_read_as_it_was_written_without_what_moves() -> None:
    """An answer that is written and parsed has the same bytes, but for members that move.

    Their values are placeholders; `changed` finds no difference from the first.
    """
    again = parsed(written(ANSWER))

    cut = ANSWER.exact.text.replace(b"0.5", b'"{volatile}"').replace(b"1}", b'"{volatile}"}')
    assert (again.request, again.moving) == (ANSWER.request, ANSWER.moving)
    assert (again.exact.result, again.exact.text) == (ANSWER.exact.result, cut)
    assert written(again) == written(ANSWER)
    assert changed(again, ANSWER) is None


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff", b"{}", written(ANSWER)[:-3], written(ANSWER).replace(b"answer/1", b"answer/2"),
     written(ANSWER).replace(b'"result": 49', b'"result": 50'),
     written(ANSWER).replace(b'"result": 49', b'"result": 5000')],
)  # fmt: skip
def test_a_file_that_is_not_an_answer_is_refused(raw: bytes) -> None:
    """A file of another format, cut short, or with a wrong length in its head raises BadBody."""
    with pytest.raises(BadBody, match=r"cannot be read|is not a file of the format"):
        parsed(raw)
